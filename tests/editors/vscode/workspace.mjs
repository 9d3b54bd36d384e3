// Check Workspace: what it has found stays while one file after the other is looked at and closed.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  const errors = () => page.evaluate(() => Number(/\d+/.exec(document.getElementById("status.problems")?.textContent ?? "")?.[0]));
  await workbench.open("right.py", "backward");
  await workbench.see(".codelens-decoration");
  const open = await errors();
  await workbench.run("gradpath: Check Workspace");
  await page.waitForFunction(() => /^\D*3\b/.test(document.getElementById("status.problems")?.textContent ?? ""), null, { timeout: 60_000 });
  for (const name of ["one", "two", "three"]) {
    await workbench.open(`${name}.py`, "backward");
    await workbench.see(".monaco-editor .squiggly-error");
    await workbench.run("View: Close All Editors");
    await page.waitForSelector(`.tab[data-resource-name="${name}.py"]`, { state: "detached" });
  }
  await page.waitForTimeout(1000); // What is wrong would go only now.
  await workbench.shot("workspace");
  return { open, after: await errors() };
});
