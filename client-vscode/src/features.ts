/** The thin client, wherever its server runs: it shows what the server finds. There is no analysis here. */
import * as vscode from "vscode";
import type { BaseLanguageClient } from "vscode-languageclient";
import { checkWorkspace, debugInformation, explain, openRule, openSample, why } from "./commands";
import { GraphPanel, GRAPH_VIEW } from "./graph";
import { Pages } from "./pages";
import type { Intercept, Server } from "./server";
import { Status } from "./status";
import { Traces } from "./traces";

/** What tests look at. */
export interface Api {
  client(): BaseLanguageClient | undefined;
}

/** Makes the server; a class of servers is one. */
export type Make = new (context: vscode.ExtensionContext, log: vscode.LogOutputChannel, status: Status, intercept: Intercept) => Server;

let server: Server | undefined;

export async function begin(context: vscode.ExtensionContext, make: Make): Promise<Server> {
  const log = vscode.window.createOutputChannel("gradpath", { log: true });
  const status = new Status();
  const running: Server = new make(context, log, status, (command, args) => {
    if (command === "gradpath.graph") return graph.show(...(args as [string?, number?]));
    if (command === "gradpath.flow") return graph.showFlow(...(args as [string?, number?]));
    if (command === "gradpath.why") return why(running, pages, ...(args as [string?, number?, number?]));
    if (command === "gradpath.rule") return openRule(pages, args[0] as string | undefined);
    return undefined;
  });
  const graph: GraphPanel = new GraphPanel(running);
  const pages: Pages = new Pages(running);
  server = running;
  context.subscriptions.push(
    log, status, running, graph, pages, new Traces(running, pages),
    vscode.window.registerWebviewPanelSerializer(GRAPH_VIEW, graph),
    vscode.commands.registerCommand("gradpath.restart", () => running.restart()),
    vscode.commands.registerCommand("gradpath.showOutput", () => { log.show(); }),
    vscode.commands.registerCommand("gradpath.checkWorkspace", () => checkWorkspace(running)),
    vscode.commands.registerCommand("gradpath.openRule", (rule?: string) => openRule(pages, rule)),
    vscode.commands.registerCommand("gradpath.showGraph", () => graph.show()),
    vscode.commands.registerCommand("gradpath.showFlow", () => graph.showFlow()),
    vscode.commands.registerCommand("gradpath.whoTrains", () => why(running, pages)),
    vscode.commands.registerCommand("gradpath.explain", () => explain(running, pages)),
    vscode.commands.registerCommand("gradpath.openSample", () => openSample(context.extensionUri)),
    vscode.commands.registerCommand("gradpath.debugInformation", () => debugInformation(running)),
  );
  await running.restart();
  return running;
}

export async function end(): Promise<void> {
  await server?.stop();
}
