// Makes what runs in a browser: dist/web/worker.js, with Python as WebAssembly and gradpath beside it, and the memory of a
// Python that has checked a program, with which a page answers much sooner.
// The packages are those in bundled/libs, compiled by the Python that runs them; so is Python's own library, of which a page
// would else compile what it needs each time.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { loadPyodide } from "pyodide";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const pyodide = dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
const target = join(here, "dist", "web");
const PACKAGES = ["attr", "attrs", "cattr", "cattrs", "gradpath", "lsprotocol", "parso", "pygls", "typing_extensions.py"];
const COMPILE = `
import os, py_compile, zipfile
from py_compile import PycInvalidationMode

def files(path):
    if os.path.isfile(path):
        yield path
    else:
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            yield from (os.path.join(folder, name) for name in sorted(names))

def pack(name, contents):
    with zipfile.ZipFile(f"/target/{name}", "w") as archive:
        for name, content in contents:
            if name.endswith(".py"):
                with open("/tmp/source", "wb") as file:
                    file.write(content)
                py_compile.compile("/tmp/source", "/tmp/compiled", dfile=name, doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
                with open("/tmp/compiled", "rb") as file:
                    name, content = name + "c", file.read()
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)

def packages():
    for path in (file for package in PACKAGES for file in files(f"/libs/{package}")):
        with open(path, "rb") as file:
            yield os.path.relpath(path, "/libs"), file.read()

pack("gradpath.zip", packages())
with zipfile.ZipFile("/pyodide/python_stdlib.zip") as library:
    pack("python_stdlib.zip", [(name, library.read(name)) for name in library.namelist() if not name.endswith("/")])
`;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const python = await loadPyodide();
for (const [place, folder] of [["/libs", join(here, "bundled", "libs")], ["/target", target], ["/pyodide", pyodide]]) {
  python.FS.mkdirTree(place);
  python.mountNodeFS(place, folder);
}
python.runPython(COMPILE, { globals: python.toPy({ PACKAGES }) });
execFileSync(process.execPath, [join(here, "scripts", "snapshot.mjs"), target]); // A process of its own: a memory that nothing else was in.
cpSync(join(pyodide, "pyodide.asm.wasm"), join(target, "pyodide.asm.wasm"));
const { info } = JSON.parse(readFileSync(join(pyodide, "pyodide-lock.json"), "utf8"));
const { metafile } = await build({
  metafile: true, absWorkingDir: here, entryPoints: [join(here, "src", "web", "worker.ts")], outfile: join(target, "worker.js"), bundle: true, minify: true, platform: "browser", format: "iife",
  target: "es2022", external: ["node:*", "ws"], logLevel: "error", define: { LOCK_INFO: JSON.stringify(info), "import.meta.url": "self.location.href" },
});
writeFileSync(join(here, "dist", "web-meta.json"), JSON.stringify(metafile)); // What is inside, for scripts/notices.mjs.
process.exit(); // Pyodide keeps Node running.
