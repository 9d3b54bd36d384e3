/** The panel with the graph behind the loss at the cursor, or with who learns from what. The server draws both. */
import * as vscode from "vscode";
import type { Server } from "./server";

interface Picture {
  readonly title: string;
  readonly svg: string;
}

/** What the panel shows of a line, or of a whole document where there is no line. */
interface View {
  readonly command: string;
  readonly title: string;
  readonly missing: string;
}

const GRAPH: View = {
  command: "gradpath.server.graph",
  title: "Graph",
  missing: "<p>No graph is known at this line: put the cursor on a loss or its <code>backward()</code>.</p>",
};

const FLOW: View = {
  command: "gradpath.server.flow",
  title: "Flow",
  missing: "<p>No backward and no step is known here.</p>",
};

const QUIET_MS = 200;

export class GraphPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: vscode.TextEditor | undefined;
  private view: View = GRAPH;
  private timer: NodeJS.Timeout | undefined;
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.listeners = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => { this.later(textEditor); }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === this.shown?.document) this.later(this.shown);
      }),
    ];
  }

  /** Opens the panel for the active editor, or for a line (0-based) of a document. */
  async show(uri?: string, line?: number): Promise<void> {
    await this.present(GRAPH, uri, line);
  }

  /** The same with who learns from what: at a line, or in the whole document. */
  async showFlow(uri?: string, line?: number): Promise<void> {
    await this.present(FLOW, uri, line ?? null);
  }

  private async present(view: View, uri?: string, line?: number | null): Promise<void> {
    let editor = vscode.window.activeTextEditor;
    if (uri !== undefined && editor?.document.uri.toString() !== uri) {
      editor = await vscode.window.showTextDocument(vscode.Uri.parse(uri), { preserveFocus: true });
    }
    if (editor === undefined) return;
    this.view = view;
    this.panel ??= this.open();
    await this.update(editor, line);
    this.panel.reveal(undefined, true);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
    this.panel?.dispose();
  }

  private open(): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel(
      "gradpath.graph", "Graph", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true },
    );
    panel.onDidDispose(() => { this.panel = this.shown = undefined; });
    panel.webview.onDidReceiveMessage(({ path, line }: { path: string; line: number }) => {
      const selection = new vscode.Range(line - 1, 0, line - 1, 0);
      // Unlike `showTextDocument`, this shows a cell within its notebook.
      void vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(path), { selection, viewColumn: vscode.ViewColumn.One });
    });
    return panel;
  }

  /** While the user types the picture follows, but not at every key. */
  private later(editor: vscode.TextEditor): void {
    if (this.view !== GRAPH || this.panel?.visible !== true || editor.document.languageId !== "python") return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { void this.update(editor); }, QUIET_MS);
  }

  private async update(editor: vscode.TextEditor, line: number | null = editor.selection.active.line): Promise<void> {
    const view = this.view;
    const picture = await this.server.execute<Picture | null>(view.command, editor.document.uri.toString(), line);
    if (this.panel === undefined || picture === undefined || view !== this.view) return;
    // Where a line has no graph the last picture stays: a click on it leads to such lines.
    if (picture === null && this.shown !== undefined && view === GRAPH) return;
    if (picture !== null) this.shown = editor;
    this.panel.title = picture?.title ?? view.title;
    this.panel.webview.html = page(picture?.svg ?? view.missing);
  }
}

function page(body: string): string {
  const nonce = Math.random().toString(36).slice(2);
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<style>body { padding: 0.5em; } svg { max-width: 100%; height: auto; } [data-line] { cursor: pointer; } [data-line]:hover { opacity: 0.75; }</style></head><body>${body}
<script nonce="${nonce}">
const vscode = acquireVsCodeApi();
document.addEventListener("click", (event) => {
  const place = event.target.closest("[data-line]");
  if (place) vscode.postMessage({ path: place.dataset.path ?? "", line: Number(place.dataset.line) });
});
</script></body></html>`;
}
