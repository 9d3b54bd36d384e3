// The names of the rules, offered where a comment silences one.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.goTo(13, 1);
  await workbench.press("End");
  await page.keyboard.type("  # gradpath: ignore[carr");
  await workbench.press("Control+Space");
  const row = '.suggest-widget .monaco-list-row:has-text("carried-graph")';
  await workbench.see(row);
  await workbench.press("Enter");
  await page.keyboard.type("]");
  await workbench.see(".monaco-editor .squiggly-error", { state: "detached" });
  await workbench.save();
  return {};
});
