// A Python that cannot run the server: what is told of it, and nothing more comes after that.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  await workbench.see('.notification-toast:has-text("my-python")');
  await workbench.page.waitForTimeout(3000); // What would start again does so by then.
  await workbench.shot("unfit");
  return { told: await workbench.page.$$eval(".notification-toast", (all) => all.map((each) => each.innerText)) };
});
