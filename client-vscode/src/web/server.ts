/** The language server in a worker, for VS Code in a browser: files come from the editor, which knows where they are. */
import * as vscode from "vscode";
import { BrowserMessageReader, BrowserMessageWriter, LanguageClient, type MessageTransports } from "vscode-languageclient/browser";
import { Server } from "../server";
import { FILES, type Start, type Write } from "./messages";
import { isOfInterest, Workspaces } from "./workspaces";

export class WorkerServer extends Server {
  override readonly platform = "a browser";
  private readonly workspaces = new Workspaces();
  private worker: Worker | undefined;

  override outside(uri: vscode.Uri): string {
    return this.workspaces.outside(uri);
  }

  override inside(uri: string): vscode.Uri {
    return this.workspaces.inside(uri);
  }

  override async stop(): Promise<void> {
    await super.stop().catch((error: unknown) => { this.log.warn(String(error)); }); // A worker that has ended says no more.
    this.worker?.terminate();
    this.worker = undefined;
  }

  protected override async start(): Promise<void> {
    const options = this.options([...new Set(["file", "untitled", "vscode-notebook-cell", ...this.workspaces.schemes])]);
    const client = new LanguageClient("gradpath", "gradpath", () => this.launch(), {
      ...options,
      uriConverters: { code2Protocol: (uri) => this.outside(uri), protocol2Code: (uri) => this.inside(uri) },
      middleware: {
        ...options.middleware,
        workspace: {
          // The server hears of a change when it can read it.
          didChangeWatchedFile: async (event, next) => {
            await this.write([this.inside(event.uri)]);
            await next(event);
          },
        },
      },
    });
    client.onDidChangeState(({ newState }) => { this.status.show(newState); });
    this.client = client;
    try {
      await client.start();
      this.runs(client, "Python in this browser");
      void this.bring(client);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.log.error(`the server did not start: ${reason}`);
      this.complain(`the server did not start in this browser: ${reason}`, "Show Output");
    }
  }

  /** A worker that has got its Python; VS Code lets extensions start workers from memory alone. */
  private async launch(): Promise<MessageTransports> {
    const read = (name: string) => vscode.workspace.fs.readFile(vscode.Uri.joinPath(this.context.extensionUri, "dist", "web", name));
    const [script, ...contents] = await Promise.all(["worker.js", ...FILES].map(read));
    const address = URL.createObjectURL(new Blob([new Uint8Array(script ?? [])], { type: "text/javascript" }));
    const worker = this.worker = new Worker(address);
    const files = Object.fromEntries(FILES.map((name, index) => [name, new Uint8Array(contents[index] ?? [])]));
    worker.addEventListener("error", ({ message }) => {
      this.log.error(message);
      this.complain("Python in this browser has stopped: a program was too much for it. \"Restart Server\" starts it again.", "Show Output");
    });
    worker.postMessage({ files } satisfies Start);
    return { reader: new BrowserMessageReader(worker), writer: new BrowserMessageWriter(worker) };
  }

  /** Brings the files of the workspace to the server, which then checks again what depends on them. */
  private async bring(client: LanguageClient): Promise<void> {
    for await (const files of this.workspaces.files()) await this.write(files);
    const changes = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => ({ uri: this.outside(uri), type: 2 }));
    if (changes.length > 0 && client === this.client) await client.sendNotification("workspace/didChangeWatchedFiles", { changes });
  }

  private async write(files: readonly vscode.Uri[]): Promise<void> {
    const write = await Promise.all(files.filter(isOfInterest).map(async (uri) => {
      const content = await vscode.workspace.fs.readFile(uri).then((bytes) => new Uint8Array(bytes), () => null);
      return [vscode.Uri.parse(this.outside(uri)).path, content] as const;
    }));
    this.worker?.postMessage({ write } satisfies Write);
  }
}
