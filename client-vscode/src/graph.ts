/** The panel with the graph of the loss at the cursor, or with what learns from what. The server draws both. */
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
export const GRAPH_VIEW = "gradpath.graph";

/** What a panel knows of its picture, so that it comes back when the window does. */
interface Kept {
  readonly uri: string;
  readonly line: number | null;
  readonly flow: boolean;
}

export class GraphPanel implements vscode.Disposable, vscode.WebviewPanelSerializer<Kept | undefined> {
  private panel: vscode.WebviewPanel | undefined;
  private shown: vscode.TextEditor | undefined;
  private view: View = GRAPH;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.listeners = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => { this.later(textEditor); }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === this.shown?.document) this.later(this.shown);
      }),
    ];
  }

  /** Opens the panel for the active editor, or for a line (0-based) of a document as the server names it. */
  async show(uri?: string, line?: number): Promise<void> {
    await this.present(GRAPH, uri, line);
  }

  /** The same with what learns from what: at a line, or in the whole document. */
  async showFlow(uri?: string, line?: number): Promise<void> {
    await this.present(FLOW, uri, line ?? null);
  }

  private async present(view: View, uri?: string, line?: number | null): Promise<void> {
    let editor = vscode.window.activeTextEditor;
    if (uri !== undefined && (editor === undefined || this.server.outside(editor.document.uri) !== uri)) {
      editor = await vscode.window.showTextDocument(this.server.inside(uri), { preserveFocus: true });
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

  /** A window that was loaded again has its panel again. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, kept: Kept | undefined): Promise<void> {
    this.panel?.dispose();
    this.panel = this.adopt(panel);
    this.view = kept?.flow === true ? FLOW : GRAPH;
    panel.webview.html = page(this.view.missing);
    if (kept !== undefined) await this.draw(kept.uri, kept.line);
  }

  private open(): vscode.WebviewPanel {
    return this.adopt(vscode.window.createWebviewPanel(
      GRAPH_VIEW, "Graph", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true },
    ));
  }

  private adopt(panel: vscode.WebviewPanel): vscode.WebviewPanel {
    panel.onDidDispose(() => { this.panel = this.shown = undefined; });
    panel.webview.onDidReceiveMessage((message: { path: string; line: number } | { svg: string }) => {
      if ("svg" in message) {
        void save(panel.title, message.svg);
        return;
      }
      const selection = new vscode.Range(message.line - 1, 0, message.line - 1, 0);
      // Unlike `showTextDocument`, this shows a cell within its notebook.
      void vscode.commands.executeCommand("vscode.open", this.server.inside(message.path), { selection, viewColumn: vscode.ViewColumn.One });
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
    if (await this.draw(this.server.outside(editor.document.uri), line)) this.shown = editor;
  }

  /** Draws what there is at a line of a document; whether there is anything. */
  private async draw(uri: string, line: number | null): Promise<boolean> {
    const view = this.view;
    const picture = await this.server.execute<Picture | null>(view.command, uri, line);
    if (this.panel === undefined || picture === undefined || view !== this.view) return false;
    // Where a line has no graph the last picture stays: a click on it leads to such lines.
    if (picture === null && this.shown !== undefined && view === GRAPH) return false;
    this.panel.title = picture?.title ?? view.title;
    this.panel.webview.html = page(picture?.svg ?? view.missing, { uri, line, flow: view === FLOW });
    return picture !== null;
  }
}

/** Saves the picture as a file; the colours are those that it has without a theme. */
async function save(title: string, svg: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const name = `${title.replace(/\W+/g, "-").toLowerCase()}.svg`;
  const defaultUri = folder === undefined ? undefined : vscode.Uri.joinPath(folder, name);
  const file = await vscode.window.showSaveDialog({ defaultUri, filters: { "Pictures": ["svg"] } });
  if (file !== undefined) await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(svg));
}

const LEGEND = [
  ["root", "loss, or backward"], ["step", "step"], ["parameter", "parameter"], ["leaf", "leaf"], ["module", "module"], ["operation", "operation"],
  ["cut", "cut: no gradient"], ["broken", "freed, overwritten, or no graph"],
] as const;

const LOOK = `
body { padding: 0; margin: 0; overflow: hidden; height: 100vh; display: flex; flex-direction: column; }
#view { position: relative; flex: 1; overflow: hidden; cursor: grab; }
#view.dragged { cursor: grabbing; }
#view > svg { position: absolute; left: 0; top: 0; transform-origin: 0 0; }
[data-line] { cursor: pointer; } [data-line]:hover .box { filter: brightness(1.12); }
#bar { padding: 8px; display: flex; gap: 4px; justify-content: end; }
#bar button { font: inherit; padding: 2px 8px; border: 1px solid transparent; cursor: pointer; color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryBackground); }
#bar button:focus-visible { outline: 1px solid var(--vscode-focusBorder); }
#legend { padding: 8px 16px; display: flex; flex-wrap: wrap; gap: 2px 12px; }
#legend svg { width: 18px; height: 12px; vertical-align: -1px; margin-right: 4px; }
`;

/** Zooms with the wheel, the keys + - 0 1 and the buttons, and pans by dragging or scrolling. */
const SCRIPT = `
const vscode = acquireVsCodeApi();
if (kept) vscode.setState(kept);
const view = document.getElementById("view");
const svg = view.querySelector(":scope > svg");
if (svg) {
  const [width, height] = [svg.width.baseVal.value, svg.height.baseVal.value];
  let [x, y, scale] = [0, 0, 1];
  const show = () => { svg.style.transform = "translate(" + x + "px," + y + "px) scale(" + scale + ")"; svg.dataset.scale = scale; };
  const zoom = (factor, atX = view.clientWidth / 2, atY = view.clientHeight / 2) => {
    const next = Math.min(4, Math.max(0.05, scale * factor));
    x = atX - (atX - x) * next / scale;
    y = atY - (atY - y) * next / scale;
    scale = next;
    show();
  };
  const fit = () => {
    scale = Math.min(1, view.clientWidth / width, view.clientHeight / height);
    [x, y] = [Math.max(0, (view.clientWidth - width * scale) / 2), 0];
    show();
  };
  // A picture that is far too large to be read as a whole begins at its top, in letters that can be read.
  const begin = () => {
    fit();
    if (scale < 0.5) {
      scale = Math.max(0.75, Math.min(1, view.clientWidth / width));
      const root = svg.querySelector("g.root rect");
      const middle = root ? root.x.baseVal.value + root.width.baseVal.value / 2 : width / 2;
      [x, y] = [view.clientWidth / 2 - middle * scale, 0];
      if (width * scale <= view.clientWidth) x = (view.clientWidth - width * scale) / 2;
      show();
    }
  };
  const actual = () => zoom(1 / scale);
  for (const each of document.querySelectorAll("#legend g")) { // What is not in the picture needs no explanation.
    if (!svg.querySelector("g." + each.className.baseVal)) each.closest("span").remove();
  }
  begin();
  let isMoved = false; // By its reader, who wants to see it as it is then.
  window.addEventListener("resize", () => { if (!isMoved) begin(); });
  for (const does of ["wheel", "pointerdown", "keydown"]) window.addEventListener(does, () => { isMoved = true; });
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 300), event.clientX, event.clientY - view.offsetTop);
    else { x -= event.deltaX; y -= event.deltaY; show(); }
  }, { passive: false });
  let from;
  view.addEventListener("pointerdown", (event) => { from = { x: event.clientX - x, y: event.clientY - y, startX: event.clientX, startY: event.clientY, moved: false }; });
  view.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    if (Math.hypot(event.clientX - from.startX, event.clientY - from.startY) > 4) from.moved = true;
    if (!from.moved) return;
    view.classList.add("dragged");
    [x, y] = [event.clientX - from.x, event.clientY - from.y];
    show();
  });
  view.addEventListener("pointerup", () => { view.classList.remove("dragged"); });
  view.addEventListener("click", (event) => {
    const place = event.target.closest("[data-line]");
    if (place && !from?.moved) vscode.postMessage({ path: place.dataset.path ?? "", line: Number(place.dataset.line) });
  });
  const does = { in: () => zoom(1.25), out: () => zoom(0.8), fit, actual, save: () => {
    const copy = svg.cloneNode(true);
    copy.removeAttribute("style"); copy.removeAttribute("data-scale");
    vscode.postMessage({ svg: new XMLSerializer().serializeToString(copy) });
  } };
  document.getElementById("bar").addEventListener("click", (event) => does[event.target.dataset.does]?.());
  document.addEventListener("keydown", (event) => ({ "+": does.in, "=": does.in, "-": does.out, "0": fit, "1": actual })[event.key]?.());
} else {
  document.getElementById("bar").remove();
  document.getElementById("legend").remove();
}
`;

function page(body: string, kept?: Kept): string {
  const nonce = Math.random().toString(36).slice(2);
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'`;
  const legend = LEGEND.map(([kind, words]) => (
    `<span><svg viewBox="0 0 18 12"><g class="${kind}"><rect class="box" x="1.5" y="1.5" width="15" height="9" rx="3"/></g></svg>${words}</span>`
  ));
  const buttons = [["in", "+", "Zoom in (+)"], ["out", "\u2212", "Zoom out (-)"], ["fit", "Fit", "Show everything (0)"], ["actual", "100%", "Actual size (1)"], ["save", "Save", "Save as SVG"]];
  const bar = buttons.map(([does, label, title]) => `<button data-does="${does}" title="${title}" aria-label="${title}">${label}</button>`);
  return `<!DOCTYPE html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<style>${LOOK}</style></head><body><div id="bar">${bar.join("")}</div><div id="view">${body}</div><div id="legend">${legend.join("")}</div>
<script nonce="${nonce}">const kept = ${JSON.stringify(kept ?? null).replaceAll("<", "\\u003c")};${SCRIPT}</script></body></html>`;
}
