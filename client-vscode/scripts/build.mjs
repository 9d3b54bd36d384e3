// Bundles the client into dist/extension.js; `--minify` for a release, `--watch` while developing.
import { build, context } from "esbuild";

const options = {
  entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", bundle: true, external: ["vscode"],
  platform: "node", format: "cjs", target: "node20", minify: process.argv.includes("--minify"), sourcemap: !process.argv.includes("--minify"),
};
if (process.argv.includes("--watch")) await (await context(options)).watch();
else await build(options);
