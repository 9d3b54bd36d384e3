/** What a page says to the worker besides the messages of the protocol. */

/** What Python runs from: the files that `scripts/browser.mjs` makes, by name. */
export type Files = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

export const FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "gradpath.zip"];

/** The memory of a Python that has loaded gradpath, as `scripts/snapshot.mjs` makes it. A page that has it answers sooner; it is
    large, and the extension goes without. */
export const SNAPSHOT = "snapshot.gz";

/** The first message. */
export interface Start {
  readonly files: Files;
}

/** Files of the workspace as they are now; null where there is none any more. */
export interface Write {
  readonly write: readonly (readonly [path: string, content: Uint8Array | null])[];
}
