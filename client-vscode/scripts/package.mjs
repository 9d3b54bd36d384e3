// Packs the extension: a folder with what it consists of, the version that the server has, and a page whose pictures
// come from the repository: VS Code and the Marketplace show none but those that have an address of https.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const staged = join(here, "dist", "package");
const PARTS = [
  "CHANGELOG.md", "LICENSE", "ThirdPartyNotices.txt", "gradpath.schema.json", "walkthrough", "media/icon.png", "dist/extension.js", "dist/browser.js", "dist/web",
  "bundled",
];

const LEFT_OUT = /__pycache__$|snapshot\.gz$/; // The memory is nearly as large as all the rest, and a page alone waits for it.

const read = (...parts) => readFileSync(join(here, ...parts), "utf8");
const found = (pattern, ...parts) => {
  const match = pattern.exec(read(...parts));
  if (match === null) throw new Error(`${parts.join("/")} has no ${pattern}`);
  return match[1];
};
const version = found(/^__version__ = "(.+)"$/m, "..", "server", "gradpath", "__init__.py");
const repository = found(/^Repository = "(.+)"$/m, "..", "pyproject.toml");

rmSync(staged, { recursive: true, force: true });
for (const part of PARTS) {
  mkdirSync(dirname(join(staged, part)), { recursive: true });
  cpSync(join(here, part), join(staged, part), { recursive: true, filter: (name) => !LEFT_OUT.test(name) });
}
const manifest = JSON.parse(read("package.json"));
for (const own of ["scripts", "devDependencies", "dependencies"]) delete manifest[own]; // Those of the build.
writeFileSync(join(staged, "package.json"), JSON.stringify({
  ...manifest, version, files: ["**/*"], repository: { type: "git", url: repository, directory: "client-vscode" }, homepage: `${repository}#readme`, bugs: { url: `${repository}/issues` },
}, null, 2));
writeFileSync(join(staged, "README.md"), read("README.md").replace(/\]\((media\/[^)]+\.png)\)/g, `](${repository}/raw/HEAD/client-vscode/$1)`));
const vsce = join(here, "node_modules", "@vscode", "vsce", "vsce");
execFileSync(process.execPath, [vsce, "package", "--no-dependencies", "--out", join(here, "gradpath.vsix")], { cwd: staged, stdio: "inherit" });
