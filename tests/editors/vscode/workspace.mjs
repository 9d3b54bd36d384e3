// Check Workspace: what it has found stays in the Problems view while one file after the other is looked at and closed.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  const files = () => page.$$eval(".markers-panel .monaco-list-row .resource-label-container, .markers-panel .monaco-list-row .monaco-icon-label", (rows) => [...new Set(rows.map((row) => row.textContent))].filter((name) => name.includes(".py")));
  await workbench.open("right.py", "backward");
  await workbench.run("gradpath: Check Workspace");
  await workbench.run("Problems: Focus on Problems View");
  for (const name of ["one", "two", "three"]) await workbench.see(`.markers-panel .monaco-list-row:has-text("${name}.py")`);
  const before = await files();
  for (const name of ["one", "two", "three"]) {
    await workbench.open(`${name}.py`, "backward");
    await workbench.see(".monaco-editor .squiggly-error");
    await workbench.run("View: Close Editor");
    await page.waitForSelector(`.tab[data-resource-name="${name}.py"]`, { state: "detached" });
  }
  await workbench.open("right.py", "backward");
  await workbench.run("Problems: Focus on Problems View");
  await page.waitForTimeout(1000); // What is wrong would go only now.
  await workbench.shot("workspace");
  return { before, after: await files() };
});
