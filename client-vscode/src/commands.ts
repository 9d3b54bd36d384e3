/** The commands, all but the graph. */
import * as vscode from "vscode";
import type { Server } from "./server";

interface Page {
  readonly id: string;
  readonly summary: string;
  readonly uri: string;
}

/** Checks all files of the workspace; the server reports its progress and publishes what it finds. */
export async function checkWorkspace(server: Server): Promise<void> {
  const found = await server.execute<{ files: number; diagnostics: number }>("gradpath.server.checkWorkspace");
  if (found !== undefined) {
    void vscode.window.setStatusBarMessage(`gradpath: ${found.diagnostics} reported in ${found.files} files`, 8_000);
  }
}

/** Opens the page of a rule in the Markdown preview: the one named, or one that the user picks. */
export async function openRule(server: Server, rule?: string): Promise<void> {
  const pages = (await server.execute<Page[]>("gradpath.server.rules")) ?? [];
  let page = pages.find(({ id }) => id === rule);
  page ??= await vscode.window
    .showQuickPick(pages.map((each) => ({ label: each.id, detail: each.summary, page: each })), { placeHolder: "A rule" })
    .then((item) => item?.page);
  if (page !== undefined) await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.parse(page.uri));
}

/** Says who trains the module, the parameter or the optimizer at the cursor or at a place (0-based), and what cuts it off. */
export async function why(server: Server, uri?: string, line?: number, character?: number): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const document = uri ?? editor?.document.uri.toString();
  if (document === undefined) return;
  const cursor = editor?.selection.active;
  const text = await server.execute<string | null>("gradpath.server.why", document, line ?? cursor?.line ?? 0, character ?? cursor?.character ?? 0);
  if (text === undefined) return;
  await beside(text ?? "There is no name here: put the cursor on a module, a parameter or an optimizer.\n");
}

/** Explains the traceback in the clipboard. */
export async function explain(server: Server): Promise<void> {
  const traceback = await vscode.env.clipboard.readText();
  const text = await server.execute<string>("gradpath.server.explain", traceback);
  if (text === undefined) return;
  await beside(text);
}

async function beside(content: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "plaintext", content });
  await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside });
}
