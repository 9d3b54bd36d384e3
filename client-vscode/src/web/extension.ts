/** The extension in a browser, where there are no processes: the server runs in a worker. */
import type * as vscode from "vscode";
import { type Api, begin } from "../features";
import { WorkerServer } from "./server";

export { end as deactivate } from "../features";

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const server = await begin(context, WorkerServer);
  return { client: () => server.client };
}
