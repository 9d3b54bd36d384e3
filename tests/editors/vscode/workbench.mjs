// A VS Code workbench in headless Chromium, with what a user does there.
import { join } from "node:path";
import { browse } from "../browser.mjs";

const LONG = 60_000;
export const SHORT = 15_000;
const BOX = ".quick-input-widget .quick-input-box input";

/** The row that Enter takes: a list that is not filtered yet has the wanted one as well, below another. */
const chosen = (text) => `.quick-input-list .monaco-list-row.focused:has-text("${text}")`;

/** Does something that a slow answer may spoil, up to four times, and cleans up between them. */
export async function again(what, cleanUp) {
  for (let tries = 1; tries < 4; tries += 1) {
    try {
      return await what();
    } catch {
      await cleanUp(); // The last try tells what went wrong.
    }
  }
  return what();
}

/** Opens the workspace folder, does the visit, and writes what it returns as JSON; a failure leaves a screenshot. */
export async function visit(what) {
  const [base, folder, shots] = process.argv.slice(2);
  await browse(shots, async (page) => {
    await page.goto(`${base}/?folder=${encodeURIComponent(folder)}`);
    await page.waitForSelector(".explorer-folders-view .monaco-list-row", { timeout: LONG });
    return what(new Workbench(page, folder, shots));
  });
}

export class Workbench {
  constructor(page, folder, shots) {
    Object.assign(this, { page, folder, shots });
  }

  see(selector, options = {}) {
    return this.page.waitForSelector(selector, { timeout: LONG, ...options });
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  shot(name) {
    return this.page.screenshot({ path: join(this.shots, `${name}.png`) });
  }

  /** Opens a quick input by its key, and takes the row of that text; on a busy machine the list may lose its filter, and is opened again. */
  async pick(key, text) {
    const list = async () => {
      await this.press(key);
      await this.see(BOX, { state: "visible", timeout: SHORT });
      await this.page.keyboard.type(text);
      await this.see(chosen(text), { timeout: SHORT });
    };
    await again(list, () => this.press("Escape"));
    await this.press("Enter");
  }

  async open(name, containing) {
    await this.pick("Control+p", name);
    await this.see(`.monaco-editor .view-lines:has-text("${containing}")`);
  }

  /** Saves what was changed, which must show as changed before; each group has an active tab, so no tab may be left unsaved.
   *  It is asked for by name: the key of saving goes to the panel that has the focus, which on a busy machine may be another than the editor. */
  async save() {
    await this.see(".tab.active.dirty");
    const saved = async () => {
      await this.run("File: Save All");
      await this.see(".tab.dirty", { state: "detached", timeout: SHORT });
    };
    await again(saved, () => this.press("Escape"));
  }

  /** Puts the cursor there; on a busy machine the box may lose what was typed, and is asked again. */
  async goTo(line, column) {
    const reached = `.monaco-editor .line-numbers.active-line-number:text-is("${line}")`;
    for (let tries = 0; tries < 3; tries += 1) {
      await this.press("Control+g");
      await this.see(BOX, { state: "visible" });
      await this.page.keyboard.type(`${line}:${column}`);
      await this.press("Enter");
      await this.see(".quick-input-widget", { state: "hidden" });
      if (await this.page.waitForSelector(reached, { timeout: 5000 }).catch(() => null)) return;
    }
  }

  async run(command) {
    await this.pick("F1", command);
  }

  /** The entries of the Problems view, those of the related places among them. */
  async problems() {
    await this.run("Problems: Focus on Problems View");
    await this.see(".markers-panel .monaco-list-row");
    await this.press("Control+ArrowDown", "Home", "ArrowRight", "ArrowDown", "ArrowRight");
    return this.page.$$eval(".markers-panel .monaco-list-row", (rows) => rows.map((row) => row.textContent));
  }

  /** The frame of the graph panel and the texts of its boxes, once it shows some. */
  async graph() {
    for (;;) {
      for (const frame of this.page.frames()) {
        const texts = await frame.$$eval("svg g[data-line]", (boxes) => boxes.map((box) => box.textContent)).catch(() => []);
        if (texts.length > 0) return { frame, texts };
      }
      await this.page.waitForTimeout(100);
    }
  }

  /** The titles of the menu of quick fixes at the cursor, which stays open with the preferred one chosen. */
  async fixes() {
    await this.press("Control+.");
    await this.see(".action-widget .monaco-list-row.action");
    return this.page.$$eval(".action-widget .monaco-list-row.action", (rows) => rows.map((row) => row.textContent));
  }
}
