/** Python as WebAssembly, from files that were brought along: nothing is fetched. */
import "./classic";
import { loadPyodide, type PyodideAPI } from "pyodide";
import createPyodideModule from "pyodide/pyodide.asm.mjs";
import type { Files } from "./messages";

type Options = NonNullable<Parameters<typeof loadPyodide>[0]>;

const HERE = "https://gradpath.invalid/";
const PACKAGES = "/gradpath";
const TYPES: Record<string, string> = { wasm: "application/wasm", zip: "application/zip" };

/** A Python that has gradpath and what it needs. */
export async function python(files: Files): Promise<PyodideAPI> {
  self.fetch = (input) => {
    const name = (input instanceof Request ? input.url : String(input)).slice(HERE.length);
    const body = files[name];
    const type = TYPES[name.split(".").at(-1) ?? ""] ?? "";
    return Promise.resolve(body === undefined ? Response.error() : new Response(body, { headers: { "Content-Type": type } }));
  };
  const api = await loadPyodide({
    createPyodideModule, indexURL: HERE, lockFileContents: { info: LOCK_INFO, packages: {} } as Options["lockFileContents"],
  });
  api.unpackArchive(files["gradpath.zip"] ?? new Uint8Array(), "zip", { extractDir: PACKAGES });
  (api.runPython("import sys; sys.path") as { insert(at: number, folder: string): void }).insert(0, PACKAGES);
  return api;
}
