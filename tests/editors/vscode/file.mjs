// A faulty script: squiggle, problems, hover, the preferred fix by keyboard, save.
import { visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  const began = Date.now();
  await workbench.see(".monaco-editor .squiggly-error");
  const squiggle = Date.now() - began;
  await workbench.shot("squiggle");
  const problems = await workbench.problems();
  await workbench.shot("problems");
  await workbench.press("Control+1");
  await workbench.press("F8"); // To the next problem; its message opens as a view within the text.
  await workbench.press("Escape");
  const shown = '.monaco-hover-content:visible:has-text("PyTorch:")';
  const shows = async () => {
    await workbench.run("Show or Focus Hover"); // A slow answer may come when the hover has gone: it is asked again.
    return workbench.see(shown, { timeout: 15_000 });
  };
  const hover = await (await shows().catch(shows).catch(shows)).textContent();
  await workbench.shot("hover");
  await workbench.press("Escape");
  const fixes = await workbench.fixes();
  await workbench.shot("fixes");
  await workbench.press("Enter");
  await workbench.see(".monaco-editor .squiggly-error", { state: "detached" });
  await workbench.save();
  await workbench.shot("fixed");
  return { squiggle, problems, hover, fixes };
});
