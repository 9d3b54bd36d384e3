/** Tracebacks of autograd errors where they appear, in a terminal or below a cell: a click explains them. */
import * as vscode from "vscode";
import { tellOf } from "./commands";
import type { Pages } from "./pages";
import type { Server } from "./server";

const ERROR = "application/vnd.code.notebook.error";
const TOOLTIP = "Explain this error with gradpath";

class Link extends vscode.TerminalLink {
  constructor(readonly terminal: vscode.Terminal, readonly line: string, start: number) {
    super(start, line.length, TOOLTIP);
  }
}

export class Traces implements vscode.TerminalLinkProvider<Link>, vscode.NotebookCellStatusBarItemProvider, vscode.Disposable {
  private readonly registrations: vscode.Disposable[];

  constructor(private readonly server: Server, private readonly pages: Pages) {
    this.registrations = [
      vscode.window.registerTerminalLinkProvider(this),
      vscode.notebooks.registerNotebookCellStatusBarItemProvider("jupyter-notebook", this),
      vscode.commands.registerCommand("gradpath.explainText", (traceback: string) => tellOf(server, pages, traceback)),
    ];
  }

  async provideTerminalLinks({ line, terminal }: vscode.TerminalLinkContext): Promise<Link[]> {
    const start = line.search(/\S/);
    if (!/\bError\b|Error:/.test(line) || !await this.isOfAutograd(line)) return [];
    return [new Link(terminal, line.trim(), start)];
  }

  /** A terminal gives its text to nobody but the clipboard, whose content comes back afterwards. */
  async handleTerminalLink({ terminal, line }: Link): Promise<void> {
    terminal.show();
    const kept = await vscode.env.clipboard.readText();
    for (const step of ["selectAll", "copySelection", "clearSelection"]) await vscode.commands.executeCommand(`workbench.action.terminal.${step}`);
    const text = await vscode.env.clipboard.readText();
    await vscode.env.clipboard.writeText(kept);
    const end = text.lastIndexOf(line);
    await tellOf(this.server, this.pages, end < 0 ? text : text.slice(0, end + line.length));
  }

  async provideCellStatusBarItems(cell: vscode.NotebookCell): Promise<vscode.NotebookCellStatusBarItem[]> {
    const errors = cell.outputs.flatMap(({ items }) => items).filter(({ mime }) => mime === ERROR);
    for (const { data } of errors) {
      const { name, message, stack = "" } = JSON.parse(new TextDecoder().decode(data)) as { name: string; message: string; stack?: string };
      if (await this.isOfAutograd(`${name}: ${message}`)) {
        const item = new vscode.NotebookCellStatusBarItem("$(lightbulb) Explain with gradpath", vscode.NotebookCellStatusBarAlignment.Right);
        item.tooltip = TOOLTIP;
        item.command = { command: "gradpath.explainText", title: TOOLTIP, arguments: [stack] };
        return [item];
      }
    }
    return [];
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
  }

  private async isOfAutograd(line: string): Promise<boolean> {
    return (await this.pages.rules()).some(({ raises }) => raises.some((pattern) => new RegExp(pattern).test(line)));
  }
}
