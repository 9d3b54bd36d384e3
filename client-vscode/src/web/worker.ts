/** The language server in a web worker: each message is one of the protocol, but for those of `messages.ts`. */
import type { PyodideAPI } from "pyodide";
import type { Start, Write } from "./messages";
import { python } from "./python";

type Tell = (message: string) => void;

const BEGIN = `
import gc
gc.disable()
from gradpath.lsp.embedded import begin
gc.freeze()
gc.enable()
begin
`;

let running: Promise<{ api: PyodideAPI; tell: Tell }> | undefined;

async function start({ files }: Start): Promise<{ api: PyodideAPI; tell: Tell }> {
  const api = await python(files);
  const begin = api.runPython(BEGIN) as (send: Tell) => Tell;
  return { api, tell: begin((message) => { self.postMessage(JSON.parse(message)); }) };
}

function write(api: PyodideAPI, { write: files }: Write): void {
  for (const [path, content] of files) {
    if (content !== null) {
      api.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
      api.FS.writeFile(path, content);
    } else if (api.FS.analyzePath(path).exists) api.FS.unlink(path);
  }
}

self.onmessage = ({ data }: MessageEvent<Start | Write | { jsonrpc: string }>) => {
  if ("files" in data) running = start(data);
  void running?.then(({ api, tell }) => {
    if ("write" in data) write(api, data);
    else if ("jsonrpc" in data) tell(JSON.stringify(data));
  });
};

// Python that has ended, as it does where it needs more of the stack than a page has, says so in a promise: nobody but
// the one who has started the worker can do something about it.
self.addEventListener("unhandledrejection", ({ reason }) => { reportError(reason); });
