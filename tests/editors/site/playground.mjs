// The playground: a sample is checked, told, drawn and mended; its link brings the mended program back.
import { join } from "node:path";
import { browse } from "../browser.mjs";

const [base, shots] = process.argv.slice(2);
const LONG = 60_000;

await browse(shots, async (page) => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const see = (selector, options = {}) => page.waitForSelector(selector, { timeout: LONG, ...options });
  const program = () => page.$eval(".cm-content", (content) => content.cmTile.view.state.doc.toString());
  const checked = async () => Number(/\d+/.exec(await (await see('#status[data-state="ready"]')).textContent()));
  await page.goto(`${base}/playground.html#sample=gan`);
  await see(".cm-lintRange-error");
  const first = Number(await page.$eval("body", (body) => body.dataset.answered));
  // An edit is not kept waiting by the fixes that are being tried: each of these finds them at work.
  const during = [];
  for (let times = 0; times < 3; times += 1) {
    const answer = await page.evaluate(() => new Promise((answered) => {
      // Watched from within: "checking" can be over before a question from out here arrives.
      const status = document.querySelector("#status");
      const states = [];
      const observer = new MutationObserver(() => {
        states.push(status.dataset.state);
        if (!states.includes("checking") || states.at(-1) !== "ready") return;
        observer.disconnect();
        answered(status.textContent);
      });
      observer.observe(status, { attributes: true });
      const { view } = document.querySelector(".cm-content").cmTile;
      view.dispatch({ changes: { from: view.state.doc.length, insert: "#\n" } });
    }));
    during.push(Number(/\d+/.exec(answer)));
  }
  await see(".repair.preferred");
  await see('.more:has-text("PyTorch:")');
  const story = await page.$eval(".card", (card) => card.innerText);
  await page.screenshot({ path: join(shots, "story.png") });

  await page.click('[data-view="graph"]');
  await see("#picture [data-line]");
  const boxes = await page.$$eval("#picture [data-line]", (all) => all.map((box) => box.textContent));
  await page.screenshot({ path: join(shots, "picture.png") });
  await page.click('[data-view="flow"]');
  await see('#picture:has-text("netD")');

  await page.click('[data-view="story"]');
  await page.click(".repair.preferred");
  await see(".cm-lintRange-error", { state: "detached" });
  await see("#story .nothing");
  const edit = await checked();
  const mended = await program();
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#program="));
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await see("#story .nothing");
  const again = await program();

  // What ends Python, an expression that is nested thousands deep, does not end the page.
  const write = async (text) => {
    await page.click(".cm-content");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(text);
  };
  await write(`x = ${"1 + ".repeat(20_000)}1\n`);
  await see('#status[data-state="failed"]');
  await write("import torch\n\nw = torch.ones(2, requires_grad=True)\nw += 1\n");
  await see('.card:has-text("inplace-on-leaf")');

  await page.setViewportSize({ width: 400, height: 800 });
  await page.goto("about:blank");
  await page.goto(`${base}/playground.html#sample=vae`);
  await see('.card:has-text("live-accumulator")');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  return { first, edit, during, story, boxes, mended, again, wide, elsewhere: asked.filter((url) => !/^(about|data):/.test(url) && !url.startsWith(base)) };
});
