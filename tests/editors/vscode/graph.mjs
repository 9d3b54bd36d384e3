// The graph panel beside a script: what it shows for the loss at the cursor, and where a click leads.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.goTo(13, 8);
  await workbench.run("gradpath: Show the Graph");
  const shown = await workbench.graph();
  await workbench.shot("graph");

  await shown.frame.click('svg g[data-line="10"]');
  await workbench.see('.monaco-editor .line-numbers.active-line-number:has-text("10")');
  return { boxes: shown.texts };
});
