// Writes ThirdPartyNotices.txt: the licences of all that is inside dist/extension.js and bundled/libs.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const LICENCE = /^(licen[cs]e|copying|notice)/i;

function texts(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && LICENCE.test(entry.name) && !entry.parentPath.slice(folder.length).includes("node_modules"))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8").trim());
}

function notice(name, version, licence, folder) {
  const found = texts(folder);
  if (found.length === 0) throw new Error(`${name} ${version} (${licence}) has no licence text in ${folder}`);
  return [`${"=".repeat(80)}\n${name} ${version} (${licence})\n${"=".repeat(80)}`, ...found].join("\n\n");
}

/** The npm packages that esbuild has put into the bundle. */
function packages() {
  const inputs = Object.keys(JSON.parse(readFileSync(join(here, "dist", "meta.json"), "utf8")).inputs);
  const folders = inputs.map((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]).filter(Boolean);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
    return notice(name, version, license, join(here, folder));
  });
}

/** The Python distributions beside the server. */
function distributions() {
  const libs = join(here, "bundled", "libs");
  return readdirSync(libs).filter((name) => name.endsWith(".dist-info") && !name.startsWith("gradpath-")).sort().map((name) => {
    const metadata = readFileSync(join(libs, name, "METADATA"), "utf8").split("\n\n")[0] ?? "";
    const field = (key) => new RegExp(`^${key}: (.*)$`, "m").exec(metadata)?.[1];
    const licence = field("License-Expression") ?? field("License") ?? /^Classifier: License :: (?:.* :: )?(.*)$/m.exec(metadata)?.[1] ?? "see below";
    return notice(field("Name"), field("Version"), licence, join(libs, name));
  });
}

if (!existsSync(join(here, "dist", "meta.json"))) throw new Error("build first: dist/meta.json is missing");
const intro = "gradpath for VS Code (MIT, see LICENSE) contains the following software of others.";
writeFileSync(join(here, "ThirdPartyNotices.txt"), [intro, ...packages(), ...distributions()].join("\n\n") + "\n");
