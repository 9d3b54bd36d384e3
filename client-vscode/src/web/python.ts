/** Python as WebAssembly, from files that were brought along: nothing is fetched. */
import "./classic";
import { loadPyodide, type PyodideAPI } from "pyodide";
import createPyodideModule from "pyodide/pyodide.asm.mjs";
import { type Files, SNAPSHOT } from "./messages";

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
  const options = { indexURL: HERE, lockFileContents: { info: LOCK_INFO, packages: {} } as Options["lockFileContents"] };
  const packed = files[SNAPSHOT];
  const api = packed === undefined ? await loadPyodide({ ...options, createPyodideModule }) : await resumed(options, await unpacked(packed));
  api.unpackArchive(files["gradpath.zip"] ?? new Uint8Array(), "zip", { extractDir: PACKAGES });
  if (packed === undefined) (api.runPython("import sys; sys.path") as { insert(at: number, folder: string): void }).insert(0, PACKAGES);
  return api;
}

/** A Python that continues with a memory. Pyodide makes no room for it: that is asked for before it is filled. */
async function resumed(options: Options, memory: Uint8Array): Promise<PyodideAPI> {
  return loadPyodide({
    ...options, _loadSnapshot: memory,
    createPyodideModule: async (settings) => {
      const module = await createPyodideModule(settings);
      (module as unknown as { _malloc(size: number): number })._malloc(memory.length);
      return module;
    },
  });
}

async function unpacked(content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
