// A rule that the configuration misspells is told of, and switches nothing off.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  const toast = await workbench.see('.notification-toast:has-text("carried-graphs")');
  await workbench.shot("misspelt");
  return { told: await toast.innerText() };
});
