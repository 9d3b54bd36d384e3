/** Starting, stopping and restarting the language server. */
import * as path from "node:path";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, type ErrorHandler, LanguageClient, State, TransportKind } from "vscode-languageclient/node";
import { findInterpreter, reasonOf } from "./interpreter";
import { pageOf } from "./pages";
import type { Status } from "./status";

/** The commands that the server offers and the client carries out itself. */
export type Intercept = (command: string, args: unknown[]) => Promise<unknown> | undefined;

export class Server implements vscode.Disposable {
  client: LanguageClient | undefined;
  /** The command of the server that runs, and the Python and gradpath that it is. */
  description = "not running";
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly status: Status,
    private readonly intercept: Intercept,
  ) {}

  get version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }

  /** Starts the server, after stopping the one that runs; calls wait for one another. */
  restart(): Promise<void> {
    this.queue = this.queue.then(async () => {
      await this.stop();
      await this.start();
    });
    return this.queue;
  }

  /** What the server answers to one of its commands; undefined where it does not run. */
  async execute<T>(command: string, ...args: unknown[]): Promise<T | undefined> {
    await this.queue;
    return this.client?.sendRequest("workspace/executeCommand", { command, arguments: args });
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.description = "not running";
    if (client?.state === State.Running) await client.stop();
  }

  dispose(): void {
    void this.stop();
  }

  private async start(): Promise<void> {
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
    let runs = false;
    const client: LanguageClient = new LanguageClient(
      "gradpath",
      "gradpath",
      { command: program, args, transport: TransportKind.stdio, options },
      {
        documentSelector: [
          { scheme: "file", language: "python" },
          { scheme: "untitled", language: "python" },
          { scheme: "vscode-notebook-cell", language: "python" },
        ],
        outputChannel: this.log,
        // VS Code itself shows the diagnostics of a place when the pointer rests there.
        initializationOptions: { diagnosticsInHover: false },
        // A server that does not start is told of once, below, with the reason.
        initializationFailedHandler: () => false,
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: !runs }),
          closed: () => runs ? restarting.closed() : { action: CloseAction.DoNotRestart, handled: true },
        },
        middleware: {
          executeCommand: (command, args, next) => this.intercept(command, args) ?? (next(command, args) as unknown),
          // The page of a rule is read in the preview of Markdown, not as a file of this extension.
          handleDiagnostics: (uri, diagnostics, next) => {
            for (const { code } of diagnostics) {
              if (typeof code === "object") code.target = pageOf(String(code.value));
            }
            next(uri, diagnostics);
          },
        },
      },
    );
    const restarting: ErrorHandler = client.createDefaultErrorHandler();
    client.onDidChangeState(({ newState }) => { this.status.show(newState); });
    this.client = client;
    try {
      await client.start();
      runs = true;
      const { name, version } = client.initializeResult?.serverInfo ?? { name: "gradpath" };
      this.description = `${name} ${version ?? ""}, ${interpreter.version} at ${interpreter.command.join(" ")} (from ${interpreter.source})`;
      this.log.info(this.description);
      this.status.describe(this.description);
    } catch (error) {
      this.log.error(`the server did not start: ${error instanceof Error ? error.message : String(error)}`);
      const reason = await reasonOf([program, ...args], home);
      this.complain(`the server did not start with ${interpreter.command.join(" ")} (from ${interpreter.source}): ${reason || "see the output."}`, "Show Output");
    }
  }

  private complain(reason: string, button: string, setting?: string): void {
    this.status.failed(reason);
    void vscode.window.showErrorMessage(`gradpath: ${reason}`, button).then((chosen) => {
      if (chosen === undefined) return;
      if (setting === undefined) this.log.show();
      else void vscode.commands.executeCommand("workbench.action.openSettings", setting);
    });
  }
}
