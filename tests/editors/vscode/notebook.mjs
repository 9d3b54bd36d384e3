// A faulty notebook: the squiggle in its cell, the graph whose boxes lead to cells, the preferred fix by keyboard, save.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.ipynb", "backward");
  await workbench.see(".notebook-editor .squiggly-error");
  await workbench.shot("notebook");
  const line = workbench.page.locator(".notebook-editor .monaco-editor .view-line", { hasText: "loss.backward()" });
  await line.click({ position: { x: 60, y: 8 } });
  await workbench.press("End", "ArrowLeft", "ArrowLeft");
  const fixes = await workbench.fixes();
  await workbench.press("Enter");
  await workbench.see(".notebook-editor .squiggly-error", { state: "detached" });
  await workbench.save();

  await line.click({ position: { x: 60, y: 8 } });
  await workbench.run("gradpath: Show the Graph");
  const { frame, texts } = await workbench.graph();
  await workbench.shot("notebook-graph");
  await frame.click('svg g.parameter[data-line]');
  await workbench.see('.notebook-editor .monaco-editor.focused .view-lines:has-text("nn.GRUCell")');
  return { fixes, boxes: texts };
});
