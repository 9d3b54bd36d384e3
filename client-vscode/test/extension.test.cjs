const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");

const FAULTY = "import torch\nw = torch.randn(3, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n";

const UNCLEARED = `import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.rand(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
`;

/** What `seen` gives, once it gives something. */
async function until(seen, patience = 30_000) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await seen();
    if (value) return value;
    assert.ok(Date.now() < end, "nothing was seen in time");
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function opened(text) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "gradpath-")), "train.py");
  fs.writeFileSync(file, text);
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  await vscode.window.showTextDocument(document);
  return document;
}

const found = (document) => until(() => {
  const all = vscode.languages.getDiagnostics(document.uri);
  return all.length > 0 && all;
});

describe("the extension", () => {
  let api;

  before(async () => {
    api = await vscode.extensions.getExtension("gradpath.gradpath").activate();
  });

  it("starts the bundled server", () => {
    assert.ok(api.client());
  });

  it("shows a fault with its story and its page", async () => {
    const [fault] = await found(await opened(FAULTY));
    assert.strictEqual(fault.source, "gradpath");
    assert.strictEqual(fault.code.value, "double-backward");
    const page = await vscode.workspace.openTextDocument(fault.code.target);
    assert.match(page.getText(), /^# double-backward\n\n\*Level: error/);
    assert.doesNotMatch(page.getText(), /# raises:/);
    assert.ok(fault.relatedInformation.length > 0);
  });

  it("opens a sample that has something to show", async () => {
    await vscode.commands.executeCommand("gradpath.openSample");
    const [fault] = await found(vscode.window.activeTextEditor.document);
    assert.strictEqual(fault.code.value, "carried-graph");
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  it("heeds a setting that changes", async () => {
    const document = await opened(FAULTY);
    await found(document);
    const settings = vscode.workspace.getConfiguration("gradpath");
    await settings.update("ignore", ["double-backward"], vscode.ConfigurationTarget.Global);
    await until(() => vscode.languages.getDiagnostics(document.uri).length === 0);
    await settings.update("ignore", undefined, vscode.ConfigurationTarget.Global);
    await found(document);
  });

  it("tells what trains a module and what a step updates", async () => {
    const document = await opened(UNCLEARED);
    await found(document);
    const told = async (line, character) => {
      const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", document.uri, new vscode.Position(line, character));
      return hovers.flatMap((hover) => hover.contents).map((content) => content.value ?? content).join("\n");
    };
    assert.match(await told(3, 2), /`model` \(2 parameters\) learns/);
    assert.match(await told(4, 2), /`optimizer` updates `model` \(2 parameters\)/);
    assert.match(await told(7, 12), /gradients for `model` \(2\)/);
    assert.match(await told(8, 16), /updates `model` \(2\)/);
  });

  it("says above a backward and a step what they do to which module, by its name", async () => {
    const document = await opened(UNCLEARED);
    const lenses = await until(async () => {
      const all = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri, 9);
      return all.length === 2 && all;
    });
    assert.deepStrictEqual(lenses.map(({ range, command }) => [range.start.line, command.title]), [[7, "gradients for `model` (2)"], [8, "updates `model` (2)"]]);
  });

  it("puts the server, its Python and its version into the debug information", async () => {
    await vscode.commands.executeCommand("gradpath.debugInformation");
    const text = await vscode.env.clipboard.readText();
    assert.match(text, /^gradpath for VS Code \d/);
    assert.match(text, /server: gradpath \d\S*, Python 3\.\d+\.\d+ at \S*python/);
  });

  it("says of a fix that a person has to decide on it, and never takes it by itself", async () => {
    const document = await opened(UNCLEARED);
    const [fault] = await found(document);
    const offered = (kind) => vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, fault.range, kind);
    const fixes = await until(async () => (await offered("quickfix")).filter(({ title }) => /zero_grad/.test(title)));
    assert.match(fixes[0].title, /^gradpath \(unsafe\): /);
    assert.ok(!fixes[0].isPreferred);
    assert.deepStrictEqual(await offered("source.fixAll.gradpath"), []);
  });

  it("mends faults of several rules at once from the menu of quick fixes", async () => {
    const document = await opened(`import torch


def twice():
    w = torch.randn(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    loss.backward()


def carried():
    cell, state = torch.nn.GRUCell(4, 8), torch.zeros(2, 8)
    for _ in range(3):
        state = cell(torch.rand(2, 4), state)
        state.sum().backward()
`);
    const [fault] = await found(document);
    const title = "gradpath: Apply all 2 safe fixes in this file";
    const offered = () => vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, fault.range, "quickfix", 20);
    const all = await until(async () => (await offered()).find((action) => action.title === title));
    await vscode.workspace.applyEdit(all.edit);
    await until(() => vscode.languages.getDiagnostics(document.uri).length === 0);
    assert.match(document.getText(), /state = state\.detach\(\)/);
  });

  it("keeps the whole workspace checked where a setting says so, but for what the baseline knows", async () => {
    const [folder] = vscode.workspace.workspaceFolders;
    const [faulty, known] = ["faulty.py", "known.py"].map((name) => vscode.Uri.joinPath(folder.uri, name));
    const of = (uri) => vscode.languages.getDiagnostics(uri);
    const settings = vscode.workspace.getConfiguration("gradpath");
    await settings.update("diagnosticMode", "workspace", vscode.ConfigurationTarget.Global);
    await until(() => of(faulty).length > 0 && of(known).length > 0);
    await settings.update("baseline", "known.json", vscode.ConfigurationTarget.Global);
    await until(() => of(known).length === 0);
    assert.strictEqual(of(faulty).length, 1);
    await vscode.workspace.fs.writeFile(faulty, new TextEncoder().encode(FAULTY.replace(/loss.backward\(\)\n$/, "")));
    await until(() => of(faulty).length === 0);
    for (const name of ["diagnosticMode", "baseline"]) await settings.update(name, undefined, vscode.ConfigurationTarget.Global);
  });

  it("works again after a restart", async () => {
    const document = await opened(FAULTY);
    const before = api.client();
    await vscode.commands.executeCommand("gradpath.restart");
    assert.notStrictEqual(api.client(), before);
    await found(document);
  });

  it("says so where no Python is found, and comes back when there is one", async () => {
    const settings = vscode.workspace.getConfiguration("gradpath");
    await settings.update("interpreter", ["/nowhere/python"], vscode.ConfigurationTarget.Global);
    await until(() => api.client() === undefined);
    await settings.update("interpreter", undefined, vscode.ConfigurationTarget.Global);
    await until(() => api.client());
    await found(await opened(FAULTY));
  });
});
