// Writes ThirdPartyNotices.txt, or the file that is named: the licences of all that has been put into dist and bundled/libs.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const built = ["meta.json", "web-meta.json", "site-meta.json"].map((name) => join(here, "dist", name)).filter(existsSync);
const LICENCE = /^(licen[cs]e|copying|notice)/i;

function texts(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && LICENCE.test(entry.name) && !entry.parentPath.slice(folder.length).includes("node_modules"))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8").trim());
}

function notice(name, version, licence, folder) {
  const own = join(here, "licences", `${name}.txt`); // Of those that come without the text.
  const found = existsSync(own) ? [readFileSync(own, "utf8").trim()] : texts(folder);
  if (found.length === 0) throw new Error(`${name} ${version} (${licence}) has no licence text in ${folder}`);
  return [`${"=".repeat(80)}\n${name} ${version} (${licence})\n${"=".repeat(80)}`, ...found].join("\n\n");
}

/** The npm packages that esbuild has put into the bundles. */
function packages() {
  const inputs = built.flatMap((file) => JSON.parse(readFileSync(file, "utf8"))).flatMap((meta) => Object.keys(meta.inputs));
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

if (built.length === 0) throw new Error("build first: dist/meta.json is missing");
const intro = "gradpath (MIT, see LICENSE) contains the following software of others.";
const python = notice("python", "3.14", "PSF-2.0", here); // It is inside Pyodide.
writeFileSync(process.argv[2] ?? join(here, "ThirdPartyNotices.txt"), [intro, ...packages(), ...distributions(), python].join("\n\n") + "\n");
