// Makes snapshot.gz in a folder that has gradpath.zip and python_stdlib.zip: the memory of a Python that has checked and mended
// a program, as `src/web/python.ts` begins with it. What it then imports comes from the same places.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

const [target] = process.argv.slice(2);
const WARM = `
import gc, sys
gc.disable()
sys.path.insert(0, "/gradpath")
from gradpath.lsp.embedded import begin
from gradpath.analysis.check import TYPING, check
from gradpath.analysis.fix_validation import mended
from gradpath.source.document import Document

document = Document("warm.py", """
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.rand(4, 2)).exp().mean()
loss.backward()
optimizer.step()
loss.backward()
""")
assert mended(check(document, depth=TYPING)).diagnostics
del check, document, mended
gc.collect()
gc.freeze()
gc.enable()
None
`;

const python = await loadPyodide({ _makeSnapshot: true, stdLibURL: join(target, "python_stdlib.zip") });
python.unpackArchive(new Uint8Array(readFileSync(join(target, "gradpath.zip"))), "zip", { extractDir: "/gradpath" });
python.runPython(WARM);
writeFileSync(join(target, "snapshot.gz"), gzipSync(python.makeMemorySnapshot(), { level: 9 }));
process.exit(); // Pyodide keeps Node running.
