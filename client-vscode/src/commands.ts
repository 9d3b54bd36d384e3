/** The commands, all but the graph. */
import * as vscode from "vscode";
import { pageOf, type Pages } from "./pages";
import type { Server } from "./server";

/** Checks all files of the workspace; the server reports its progress and publishes what it finds. */
export async function checkWorkspace(server: Server): Promise<void> {
  const found = await server.execute<{ files: number; diagnostics: number }>("gradpath.server.checkWorkspace");
  if (found !== undefined) {
    void vscode.window.setStatusBarMessage(`gradpath: ${found.diagnostics} reported in ${found.files} files`, 8_000);
  }
}

/** Opens a faulty program that belongs to nobody, to try things on. */
export async function openSample(extension: vscode.Uri): Promise<void> {
  const content = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, "walkthrough", "sample.py"));
  const document = await vscode.workspace.openTextDocument({ language: "python", content: new TextDecoder().decode(content) });
  await vscode.window.showTextDocument(document);
}

/** Opens the page of a rule: the one named, or one that the user picks. */
export async function openRule(pages: Pages, rule?: string): Promise<void> {
  const rules = await pages.rules();
  const chosen = rules.some(({ id }) => id === rule) ? rule : await vscode.window
    .showQuickPick(rules.map(({ id, summary }) => ({ label: id, detail: summary })), { placeHolder: "A rule" })
    .then((item) => item?.label);
  if (chosen !== undefined) await vscode.commands.executeCommand("vscode.open", pageOf(chosen));
}

/** Says what trains the module, the parameter or the optimizer at the cursor or at a place (0-based), and what cuts it off. */
export async function why(server: Server, pages: Pages, uri?: string, line?: number, character?: number): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const document = uri ?? (editor && server.outside(editor.document.uri));
  if (document === undefined) return;
  const cursor = editor?.selection.active;
  const text = await server.execute<string | null>("gradpath.server.why", document, line ?? cursor?.line ?? 0, character ?? cursor?.character ?? 0);
  if (text === undefined) return;
  if (text === null) void vscode.window.showInformationMessage("There is no name here: put the cursor on a module, a parameter or an optimizer.");
  else await pages.tell(text);
}

/** Explains the traceback in the selection, or else in the clipboard. */
export async function explain(server: Server, pages: Pages): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const selected = editor?.document.getText(editor.selection) ?? "";
  const traceback = selected.includes("Error") ? selected : await vscode.env.clipboard.readText();
  await tellOf(server, pages, traceback);
}

/** Shows the story of a traceback, or says that there is none. */
export async function tellOf(server: Server, pages: Pages, traceback: string): Promise<void> {
  const told = await server.execute<{ text: string; found: boolean }>("gradpath.server.explain", traceback);
  if (told === undefined) return;
  if (told.found) await pages.tell(told.text);
  else void vscode.window.showInformationMessage("gradpath: there is no traceback of an autograd error here. Copy one first, from \"Traceback (most recent call last)\" to its last line.");
}

/** Puts what a report of a problem should hold into the clipboard. */
export async function debugInformation(server: Server): Promise<void> {
  const text = [
    `gradpath for VS Code ${server.version}`,
    `server: ${server.description}`,
    `VS Code ${vscode.version}, ${server.platform}, ${vscode.workspace.isTrusted ? "trusted" : "restricted"}`,
    `settings: ${JSON.stringify(vscode.workspace.getConfiguration("gradpath"))}`,
  ].join("\n");
  await vscode.env.clipboard.writeText(text);
  void vscode.window.showInformationMessage("gradpath: the debug information is in the clipboard.");
}
