/** The thin client: it starts the server and shows what the server finds. There is no analysis here. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { checkWorkspace, debugInformation, explain, openRule, why } from "./commands";
import { GraphPanel, GRAPH_VIEW } from "./graph";
import { onInterpreterChanged } from "./interpreter";
import { Pages } from "./pages";
import { Server } from "./server";
import { Status } from "./status";

/** What tests look at. */
export interface Api {
  client(): LanguageClient | undefined;
}

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("gradpath", { log: true });
  const status = new Status();
  const running: Server = new Server(context, log, status, (command, args) => {
    if (command === "gradpath.graph") return graph.show(args[0] as string | undefined, args[1] as number | undefined);
    if (command === "gradpath.flow") return graph.showFlow(args[0] as string | undefined, args[1] as number | undefined);
    if (command === "gradpath.why") return why(running, pages, ...(args as [string?, number?, number?]));
    if (command === "gradpath.rule") return openRule(pages, args[0] as string | undefined);
    return undefined;
  });
  const graph: GraphPanel = new GraphPanel(running);
  const pages: Pages = new Pages(running);
  server = running;
  const restart = () => running.restart();
  context.subscriptions.push(
    log, status, running, graph, pages,
    vscode.window.registerWebviewPanelSerializer(GRAPH_VIEW, graph),
    vscode.commands.registerCommand("gradpath.restart", restart),
    vscode.commands.registerCommand("gradpath.showOutput", () => { log.show(); }),
    vscode.commands.registerCommand("gradpath.checkWorkspace", () => checkWorkspace(running)),
    vscode.commands.registerCommand("gradpath.openRule", (rule?: string) => openRule(pages, rule)),
    vscode.commands.registerCommand("gradpath.showGraph", () => graph.show()),
    vscode.commands.registerCommand("gradpath.showFlow", () => graph.showFlow()),
    vscode.commands.registerCommand("gradpath.whoTrains", () => why(running, pages)),
    vscode.commands.registerCommand("gradpath.explain", () => explain(running, pages)),
    vscode.commands.registerCommand("gradpath.debugInformation", () => debugInformation(running)),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("gradpath.interpreter") || event.affectsConfiguration("gradpath.importStrategy")) void restart();
    }),
  );
  await running.restart();
  const interpreters = await onInterpreterChanged(() => { void restart(); });
  if (interpreters !== undefined) context.subscriptions.push(interpreters);
  return { client: () => running.client };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
