/** What the build puts in, and what Pyodide has no types for. */
declare const LOCK_INFO: unknown;
declare const SAMPLES: readonly { readonly name: string; readonly text: string }[];

declare module "pyodide/pyodide.asm.mjs" {
  const create: NonNullable<NonNullable<Parameters<typeof import("pyodide").loadPyodide>[0]>["createPyodideModule"]>;
  export default create;
}
