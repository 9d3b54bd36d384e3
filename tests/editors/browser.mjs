// Headless Chromium for the scripts beside this file.
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.EDITORS, "vscode", "package.json"))("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

/** Does something with a page and writes what comes of it as JSON; a failure leaves a screenshot in a folder. */
export async function browse(shots, what) {
  const browser = await chromium.launch({ executablePath: process.env.GRADPATH_CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  try {
    console.log(JSON.stringify(await what(page)));
  } catch (error) {
    await page.screenshot({ path: join(shots, "failed.png") });
    throw error;
  } finally {
    await browser.close();
  }
}
