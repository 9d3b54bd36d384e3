// A faulty script: squiggle, problems, hover, the preferred fix by keyboard, save.
import { again, SHORT, visit } from "./workbench.mjs";

await visit(async (workbench) => {
  await workbench.open("train.py", "backward");
  const began = Date.now();
  await workbench.see(".monaco-editor .squiggly-error");
  const squiggle = Date.now() - began;
  await workbench.shot("squiggle");
  const problems = await workbench.problems();
  await workbench.shot("problems");
  const shows = async () => {
    await workbench.press("Control+1");
    await workbench.see(".monaco-editor.focused", { timeout: SHORT });
    await workbench.press("F8"); // To the next problem; its message opens as a view within the text.
    await workbench.see(".marker-widget", { timeout: SHORT });
    await workbench.press("Escape");
    await workbench.see(".marker-widget", { state: "detached", timeout: SHORT });
    await workbench.run("Show or Focus Hover");
    return workbench.see('.monaco-hover-content:visible:has-text("PyTorch:")', { timeout: SHORT });
  };
  const hover = await (await again(shows, () => workbench.press("Escape"))).textContent();
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
