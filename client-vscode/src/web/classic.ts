/** Pyodide refuses to run in a worker that is no module, for it would have to import a file there. Here it is part of the
    worker's own file, and VS Code starts no workers but such. */
Object.assign(self, { importScripts: () => {
  throw new Error("Everything is in this file.");
} });
export {};
