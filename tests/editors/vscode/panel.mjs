// The graph panel of a large graph: the legend, zooming and panning, and what a reloaded window shows.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  await workbench.open("deep.py", "backward");
  await workbench.goTo(13, 8);
  await workbench.run("gradpath: Show the Graph");
  let { frame } = await workbench.graph();
  const scale = () => frame.$eval("#view > svg", (svg) => Number(svg.dataset.scale));
  const legend = await frame.$eval("#legend", (element) => element.textContent);
  const [broken, boxes] = [await frame.$$eval("svg g.broken[data-line]", (all) => all.length), await frame.$$eval("svg g[data-line]", (all) => all.map((each) => each.textContent).join("\n"))];
  const readable = await scale();
  await workbench.shot("panel");
  await page.setViewportSize({ width: 900, height: 800 }); // Nobody has moved the picture: its root stays in the middle.
  await page.waitForTimeout(1000);
  const narrow = [await scale(), await frame.evaluate(() => {
    const [root, view] = [document.querySelector("svg g.root rect"), document.getElementById("view")].map((each) => each.getBoundingClientRect());
    return Math.abs(root.x + root.width / 2 - view.x - view.width / 2) < 5;
  })];
  await workbench.shot("panel-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForTimeout(500);
  await frame.click('#bar [data-does="fit"]');
  const whole = await scale();
  await frame.click('#bar [data-does="in"]');
  const larger = await scale();
  const before = await frame.$eval("#view > svg", (svg) => svg.style.transform);
  const box = await (await frame.$("#view")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 60, box.y + 150, { steps: 5 });
  await page.mouse.up();
  const after = await frame.$eval("#view > svg", (svg) => svg.style.transform);
  await workbench.run("Developer: Reload Window");
  await page.waitForTimeout(3000);
  ({ frame } = await workbench.graph());
  return { broken, boxes, legend, narrow, readable, whole, larger, dragged: before !== after, again: await frame.$eval("svg title", (title) => title.textContent) };
});
