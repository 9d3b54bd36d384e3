/** Starting, stopping and restarting the language server, wherever it runs. */
import * as vscode from "vscode";
import { type BaseLanguageClient, type LanguageClientOptions, State } from "vscode-languageclient";
import { pageOf } from "./pages";
import type { Status } from "./status";

/** The commands that the server offers and the client carries out itself. */
export type Intercept = (command: string, args: unknown[]) => Promise<unknown> | undefined;

export abstract class Server implements vscode.Disposable {
  client: BaseLanguageClient | undefined;
  /** The server that runs, and the Python and gradpath that it is. */
  description = "not running";
  /** What the extension runs on. */
  abstract readonly platform: string;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    protected readonly context: vscode.ExtensionContext,
    protected readonly log: vscode.LogOutputChannel,
    protected readonly status: Status,
    private readonly intercept: Intercept,
  ) {}

  /** Makes a client, starts it and gives it to `runs`; complains where that cannot be done. */
  protected abstract start(): Promise<void>;

  get version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }

  /** The URI that the server has for one of VS Code. */
  outside(uri: vscode.Uri): string {
    return uri.toString();
  }

  /** The URI of VS Code that the server means. */
  inside(uri: string): vscode.Uri {
    return vscode.Uri.parse(uri);
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

  /** What a client is told wherever its server runs, for documents of some schemes. */
  protected options(schemes: readonly string[]): LanguageClientOptions {
    return {
      documentSelector: schemes.map((scheme) => ({ scheme, language: "python" })),
      outputChannel: this.log,
      // VS Code itself shows the diagnostics of a place when the pointer rests there.
      initializationOptions: { diagnosticsInHover: false, documentation: vscode.workspace.getConfiguration("gradpath").get<string>("documentation", "") },
      // A server that does not start is told of once, with the reason.
      initializationFailedHandler: () => false,
      middleware: {
        executeCommand: (command, args, next) => this.intercept(command, args) ?? (next(command, args) as unknown),
        // The page of a rule, unless it is on a site, is read in the preview of Markdown, not as a file of this extension.
        handleDiagnostics: (uri, diagnostics, next) => {
          for (const { code } of diagnostics) {
            if (typeof code === "object" && code.target.scheme === "file") code.target = pageOf(String(code.value));
          }
          next(uri, diagnostics);
        },
      },
    };
  }

  /** A server runs: which one is told in the status and in the log. */
  protected runs(client: BaseLanguageClient, where: string): void {
    const { name, version } = client.initializeResult?.serverInfo ?? { name: "gradpath" };
    this.description = `${name} ${version ?? ""}, ${where}`;
    this.log.info(this.description);
    this.status.describe(this.description);
  }

  protected complain(reason: string, button: string, setting?: string): void {
    this.status.failed(reason);
    void vscode.window.showErrorMessage(`gradpath: ${reason}`, button).then((chosen) => {
      if (chosen === undefined) return;
      if (setting === undefined) this.log.show();
      else void vscode.commands.executeCommand("workbench.action.openSettings", setting);
    });
  }
}
