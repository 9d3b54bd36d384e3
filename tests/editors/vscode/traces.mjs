// An error of autograd in the terminal is a link to its story, and so is the button below a cell that raised it.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]); // As the user of a page is asked to do.
  const told = () => workbench.see('.monaco-editor .view-lines:has-text("carries the graph")');
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.run("Terminal: Create New Terminal");
  await workbench.see(".terminal.xterm .xterm-rows");
  await page.waitForTimeout(1500);
  await page.keyboard.type("cat error.txt");
  await workbench.press("Enter");
  const row = await workbench.see('.xterm-rows > div:has-text("RuntimeError")');
  for (let tries = 0; ; tries += 1) {
    const box = await row.boundingBox();
    await page.mouse.move(box.x + 30 + tries, box.y + box.height / 2);
    await page.waitForTimeout(500);
    await page.keyboard.down("Control");
    await page.mouse.click(box.x + 30 + tries, box.y + box.height / 2);
    await page.keyboard.up("Control");
    if (await page.waitForSelector('.monaco-editor .view-lines:has-text("carries the graph")', { timeout: 5000 }).catch(() => null)) break;
    if (tries === 4) throw new Error("the link tells nothing");
  }
  await workbench.shot("terminal");
  await workbench.run("View: Close All Editors");
  await workbench.open("raised.ipynb", "backward");
  await page.click('.cell-statusbar-container .cell-status-item:has-text("Explain with gradpath"), .cell-status-item:has-text("Explain with gradpath")');
  await told();
  await workbench.shot("cell");
  return {};
});
