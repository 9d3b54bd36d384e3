// A workspace that is not trusted: gradpath works, and tells the story of a traceback there.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.see('.statusbar-item:has-text("Restricted Mode")');
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.open("error.txt", "Traceback");
  await workbench.press("Control+a");
  await workbench.run("gradpath: Explain Traceback");
  await workbench.see('.monaco-editor .view-lines:has-text("carries the graph")');
  await workbench.shot("restricted");
  return {};
});
