// Which Python runs the server, as the output says.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.run("gradpath: Show Output");
  const view = '.part.panel .view-lines:has-text("server:")';
  await workbench.see(view);
  return { output: await workbench.page.$eval(view, (lines) => lines.innerText) };
});
