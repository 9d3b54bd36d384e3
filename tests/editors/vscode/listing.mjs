// The extension's own page: how wide its pictures are, which the repository would serve once it is published.
import { join } from "node:path";
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  const { page } = workbench;
  const media = join(import.meta.dirname, "..", "..", "..", "client-vscode", "media");
  await page.context().route(/^https:.*\/raw\/HEAD\/client-vscode\/media\//, (route) => route.fulfill({ path: join(media, route.request().url().split("/").at(-1)) }));
  await workbench.run("Extensions: Show Installed Extensions");
  await page.click('.extensions-list .monaco-list-row:has-text("gradpath")');
  for (;;) {
    for (const frame of page.frames().filter((each) => each !== page.mainFrame())) {
      const widths = await frame.$$eval("img", (all) => all.map((each) => each.naturalWidth)).catch(() => []);
      if (widths.length > 0 && !widths.includes(0)) {
        await workbench.shot("listing");
        return { widths };
      }
    }
    await page.waitForTimeout(100);
  }
});
