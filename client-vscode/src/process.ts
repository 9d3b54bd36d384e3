/** The language server as a process: the one that the extension brings along, run by a Python of the user's. */
import * as path from "node:path";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, type ErrorHandler, LanguageClient, TransportKind } from "vscode-languageclient/node";
import { findInterpreter, reasonOf } from "./interpreter";
import { Server } from "./server";

/** A client that says nothing of a server that does not start: that is told once, with the Python and the reason. */
class Client extends LanguageClient {
  runs = false;

  override error(message: string, data?: unknown, showNotification?: boolean | "force"): void {
    super.error(message, data, this.runs && showNotification);
  }
}

export class ProcessServer extends Server {
  override readonly platform = `${process.platform} ${process.arch}`;

  protected override async start(): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const home = path.join(this.context.extensionPath, "bundled");
    const interpreter = await findInterpreter(folder, home, this.log);
    if ("reasons" in interpreter) {
      this.complain(`no Python 3.10 or newer was found: ${interpreter.reasons.join("; ")}.`, "Choose an Interpreter", "gradpath.interpreter");
      return;
    }
    this.log.info(`server: ${interpreter.command.join(" ")} (from ${interpreter.source})`);
    const [program = "", ...args] = interpreter.command;
    args.push(path.join(home, "server.py"));
    const settings = vscode.workspace.getConfiguration("gradpath", folder);
    if (!vscode.workspace.isTrusted) args.push("--untrusted");
    else if (settings.get("importStrategy") === "fromEnvironment") args.push("--from-environment");
    const env = { ...process.env, PYTHONUTF8: "1" };
    const options = { cwd: home, env };
    const client: Client = new Client(
      "gradpath",
      "gradpath",
      { command: program, args, transport: TransportKind.stdio, options },
      {
        ...this.options(["file", "untitled", "vscode-notebook-cell"]),
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: !client.runs }),
          closed: () => client.runs ? restarting.closed() : { action: CloseAction.DoNotRestart, handled: true },
        },
      },
    );
    const restarting: ErrorHandler = client.createDefaultErrorHandler();
    client.onDidChangeState(({ newState }) => { this.status.show(newState); });
    this.client = client;
    try {
      await client.start();
      client.runs = true;
      this.runs(client, `${interpreter.version} at ${interpreter.command.join(" ")} (from ${interpreter.source})`);
    } catch (error) {
      this.log.error(`the server did not start: ${error instanceof Error ? error.message : String(error)}`);
      const reason = await reasonOf([program, ...args], home);
      this.complain(`the server did not start with ${interpreter.command.join(" ")} (from ${interpreter.source}): ${reason || "see the output."}`, "Show Output");
    }
  }
}
