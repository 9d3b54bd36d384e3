// Bundles the client into dist/extension.js; `--minify` for a release, `--watch` while developing.
import { writeFileSync } from "node:fs";
import { build, context } from "esbuild";

const options = {
  entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", bundle: true, external: ["vscode"],
  metafile: true, platform: "node", format: "cjs", target: "node20", minify: process.argv.includes("--minify"), sourcemap: !process.argv.includes("--minify"),
};
if (process.argv.includes("--watch")) await (await context(options)).watch();
else {
  const { metafile } = await build(options);
  writeFileSync("dist/meta.json", JSON.stringify(metafile)); // What is inside, for scripts/notices.mjs.
}
