// The pictures of client-vscode/media: the story of a fault, the fixes, the graph and a notebook, without what is around them.
import { join } from "node:path";
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page, shots } = workbench;
  const shot = async (name, ...parts) => {
    const boxes = await Promise.all(parts.map((part) => page.locator(part).first().boundingBox()));
    const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
    const [right, bottom] = [Math.max(...boxes.map((box) => box.x + box.width)), Math.max(...boxes.map((box) => box.y + box.height))];
    await page.screenshot({ path: join(shots, `${name}.png`), clip: { x, y, width: right - x, height: bottom - y } });
  };
  await page.setViewportSize({ width: 980, height: 760 });
  await workbench.press("Control+b");
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.see('.monaco-editor .codelens-decoration:has-text("gradients for")');
  await workbench.problems();
  await workbench.press("Control+1");
  await workbench.goTo(13, 8);
  await workbench.fixes();
  await shot("fixes", ".part.editor", ".part.panel");
  await workbench.press("Escape");
  await workbench.run("View: Toggle Panel Visibility");
  await workbench.goTo(13, 8);
  await workbench.run("Show or Focus Hover");
  await workbench.see('.monaco-hover-content:visible:has-text("PyTorch:")');
  await shot("hover", ".part.editor");
  await workbench.press("Escape");
  await page.setViewportSize({ width: 1280, height: 860 });
  await workbench.run("gradpath: Show the Graph");
  await workbench.graph();
  await shot("graph", ".part.editor");
  await workbench.run("View: Close All Editors");
  await page.setViewportSize({ width: 980, height: 760 });
  await workbench.open("train.ipynb", "backward");
  await workbench.see(".notebook-editor .squiggly-error");
  await shot("notebook", ".part.editor");
  return {};
});
