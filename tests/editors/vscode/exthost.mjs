// Runs the extension's own tests in the extension host of a running code-server, as VS Code's browser tests do.
import { createRequire } from "node:module";
import { join } from "node:path";
import { format } from "node:util";

const { chromium } = createRequire(join(process.env.EDITORS, "vscode", "package.json"))("playwright-core");
const [base, folder, extension] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.GRADPATH_CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
const page = await browser.newPage();
let ended;
const end = new Promise((done) => { ended = done; });
await page.exposeFunction("codeAutomationExit", (code) => ended(code));
await page.exposeFunction("codeAutomationLog", (_, args) => console.log(format(...args)));
// A built VS Code takes tests only in smoke-test mode, which the page's configuration switches on.
await page.addInitScript(() => new MutationObserver((_, observer) => {
  const element = document.getElementById("vscode-workbench-web-configuration");
  if (element === null) return;
  observer.disconnect();
  const settings = JSON.parse(element.dataset.settings);
  settings.developmentOptions = { ...settings.developmentOptions, enableSmokeTestDriver: true };
  element.dataset.settings = JSON.stringify(settings);
}).observe(document, { childList: true, subtree: true }));
const at = (path) => `vscode-remote://remote${path}`;
const payload = [["extensionDevelopmentPath", at(extension)], ["extensionTestsPath", at(`${extension}/test/index.cjs`)], ["skipWelcome", "true"]];
await page.goto(`${base}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
const code = await end;
await browser.close();
process.exit(code);
