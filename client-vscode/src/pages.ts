/** What is shown to be read: the pages of the rules and the stories of tracebacks, as documents that nobody can edit. */
import * as vscode from "vscode";
import type { Server } from "./server";

export const SCHEME = "gradpath";
const STORY_LANGUAGE = "gradpath-explanation";
const STORY = vscode.Uri.from({ scheme: SCHEME, path: "/explanation.txt" });
/** A place in a story: a file, perhaps a cell, a line. */
const PLACE = /((?:[A-Za-z]:)?[^\s:"'`]+\.(?:py|ipynb)):(?:\s?cell \d+, line )?(\d+)/g;

interface Rule {
  readonly id: string;
  readonly summary: string;
  readonly page: string;
  readonly raises: readonly string[];
}

/** The page of a rule; the Markdown preview shows it, as package.json says. */
export const pageOf = (rule: string): vscode.Uri => vscode.Uri.from({ scheme: SCHEME, path: `/${rule}.md` });

export class Pages implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registrations: vscode.Disposable[];
  private story = "";
  private pages: Promise<Rule[]> | undefined;

  constructor(private readonly server: Server) {
    this.registrations = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME, pattern: STORY.path }, this),
    ];
  }

  async rules(): Promise<Rule[]> {
    this.pages ??= this.server.execute<Rule[]>("gradpath.server.rules").then((rules) => rules ?? []);
    const rules = await this.pages;
    if (rules.length === 0) this.pages = undefined;
    return rules;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    if (uri.path === STORY.path) return this.story;
    const rule = uri.path.slice(1).replace(/\.md$/, "");
    return (await this.rules()).find(({ id }) => id === rule)?.page ?? `There is no rule \`${rule}\`.\n`;
  }

  /** Shows a story in the one view that there is for them, beside the code. */
  async tell(story: string): Promise<void> {
    this.story = story;
    this.changed.fire(STORY);
    const shown = vscode.window.tabGroups.all.find(({ tabs }) => tabs.some(({ input }) => (
      input instanceof vscode.TabInputText && input.uri.toString() === STORY.toString()
    )));
    const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(STORY), STORY_LANGUAGE);
    await vscode.window.showTextDocument(document, { preview: true, viewColumn: shown?.viewColumn ?? vscode.ViewColumn.Beside });
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const text = document.getText();
    const links = [...text.matchAll(PLACE)].map((found) => {
      const [whole, path = "", line = ""] = found;
      const range = new vscode.Range(document.positionAt(found.index), document.positionAt(found.index + whole.length));
      return new vscode.DocumentLink(range, this.server.inside(vscode.Uri.file(path).toString()).with({ fragment: `L${line}` }));
    });
    const more = /gradpath rule ([a-z-]+)/.exec(text);
    if (more !== null) {
      const range = new vscode.Range(document.positionAt(more.index), document.positionAt(more.index + more[0].length));
      links.push(new vscode.DocumentLink(range, pageOf(more[1] ?? "")));
    }
    return links;
  }

  dispose(): void {
    this.changed.dispose();
    for (const registration of this.registrations) registration.dispose();
  }
}
