// A faulty notebook in JupyterLab: the mark in its cell, its words, and that it goes once the cell is mended.
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.EDITORS, "vscode", "package.json"))("playwright-core");
const [address, shots] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.GRADPATH_CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const see = (selector, options = {}) => page.waitForSelector(selector, { timeout: 90_000, ...options });

// What a busy page loses of a hover, somebody who hovers again gets.
async function hint(selector, part) {
  const end = Date.now() + 90_000;
  for (;;) {
    await page.mouse.move(0, 0);
    await page.hover(selector);
    try {
      // The help comes after the mark, when the repairs have been tried: a tooltip of before does not have it.
      return await see(`.cm-tooltip:has-text("${part}")`, { timeout: 5_000 }).then((shown) => shown.textContent());
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

try {
  await page.goto(address);
  await see('.jp-Notebook .cm-content:has-text("backward")');
  await see(".jp-Notebook .cm-lintRange-error");
  const marked = await page.textContent(".jp-Notebook .cm-lintRange-error");
  const tip = await hint(".jp-Notebook .cm-lintRange-error", "help");
  await page.screenshot({ path: join(shots, "jupyter.png") });
  await page.locator('.jp-Notebook .cm-content:has-text("backward") .cm-line').filter({ hasText: "state = cell" }).click();
  await page.keyboard.press("Home");
  await page.keyboard.type("state = state.detach()\n");
  await see(".jp-Notebook .cm-lintRange-error", { state: "detached" });
  console.log(JSON.stringify({ marked, tip }));
} catch (error) {
  await page.screenshot({ path: join(shots, "failed.png") });
  throw error;
} finally {
  await browser.close();
}
