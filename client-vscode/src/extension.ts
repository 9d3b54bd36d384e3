/** The extension where there are processes: on a desktop, or on a machine behind a browser. */
import * as vscode from "vscode";
import { type Api, begin } from "./features";
import { onInterpreterChanged } from "./interpreter";
import { ProcessServer } from "./process";

export { end as deactivate } from "./features";

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const server = await begin(context, ProcessServer);
  const restart = () => { void server.restart(); };
  context.subscriptions.push(
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("gradpath.interpreter") || event.affectsConfiguration("gradpath.importStrategy")) restart();
    }),
  );
  const interpreters = await onInterpreterChanged(restart);
  if (interpreters !== undefined) context.subscriptions.push(interpreters);
  return { client: () => server.client };
}
