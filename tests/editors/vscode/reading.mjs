// What is there to be read: the page of a rule behind its link, and the story of a traceback.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  const preview = async (link, containing) => {
    for (let left = 300; left > 0; left -= 1) {
      if (left % 100 === 0) await page.click(link); // A list that is drawn again at that moment swallows a click.
      for (const frame of page.frames()) {
        const text = await frame.$eval(".markdown-body", (body) => body.innerText).catch(() => "");
        if (text.includes(containing)) return text;
      }
      await page.waitForTimeout(100);
    }
    throw new Error(`no preview with ${containing}`);
  };
  await workbench.open("train.py", "backward");
  await workbench.see(".monaco-editor .squiggly-error");
  await workbench.problems();
  const rule = await preview('.markers-panel a:has-text("carried-graph")', "carried-graph");
  await workbench.shot("rule");

  const tabs = () => page.$$eval(".tab", (all) => all.map((tab) => `${tab.getAttribute("data-resource-name")}${tab.classList.contains("dirty") ? " dirty" : ""}`));
  for (let times = 0; times < 2; times += 1) {
    await workbench.open("error.txt", "Traceback");
    await workbench.press("Control+a");
    await workbench.run("gradpath: Explain Traceback");
    await workbench.see('.monaco-editor .view-lines:has-text("carries the graph")');
    await page.waitForTimeout(500);
  }
  await workbench.shot("story");
  const told = await page.$$eval(".editor-group-container .view-lines", (all) => all.map((each) => each.innerText).join("\n"));
  const links = await page.$$eval(".detected-link", (all) => all.length);
  const opened = await tabs();

  // What is no traceback is told of in a message, and opens nothing.
  await workbench.open("nothing.txt", "ValueError");
  await workbench.press("Control+a");
  await workbench.run("gradpath: Explain Traceback");
  const none = await (await workbench.see('.notification-toast:has-text("no traceback")')).innerText();
  const more = (await tabs()).filter((name) => !opened.includes(name) && name !== "nothing.txt");
  return { rule, tabs: opened, told, links, none, more };
});
