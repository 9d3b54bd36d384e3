// Bundles the client: dist/extension.js where there are processes, dist/browser.js for a browser.
// `--minify` for a release, `--watch` while developing.
import { writeFileSync } from "node:fs";
import { build, context } from "esbuild";

const minify = process.argv.includes("--minify");
const common = { bundle: true, external: ["vscode"], metafile: true, format: "cjs", target: "es2022", minify, sourcemap: !minify };
const bundles = [
  { ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", platform: "node" },
  { ...common, entryPoints: ["src/web/extension.ts"], outfile: "dist/browser.js", platform: "browser" },
];
if (process.argv.includes("--watch")) for (const options of bundles) await (await context(options)).watch();
else {
  const built = await Promise.all(bundles.map((options) => build(options)));
  writeFileSync("dist/meta.json", JSON.stringify(built.map(({ metafile }) => metafile))); // What is inside, for scripts/notices.mjs.
}
