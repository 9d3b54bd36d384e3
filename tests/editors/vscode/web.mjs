// The extension in a worker of the browser: a script is marked through its import, drawn, and mended by the keyboard.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  const problems = await workbench.problems();
  await workbench.press("Control+1");
  await workbench.goTo(9, 5);
  await workbench.run("gradpath: Show the Graph");
  const { frame, texts } = await workbench.graph();
  await workbench.shot("web");
  await frame.click('svg g[data-line="7"]');
  await workbench.see('.monaco-editor .line-numbers.active-line-number:has-text("7")');
  await workbench.press("F8", "Escape");
  const fixes = await workbench.fixes();
  await workbench.press("Enter");
  await workbench.see(".monaco-editor .squiggly-error", { state: "detached" });
  await workbench.save();
  await workbench.run("gradpath: Show Output");
  await workbench.see('.output-view .view-lines:has-text("Python in this browser")');
  return { problems, boxes: texts, fixes };
});
