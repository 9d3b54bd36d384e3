// Makes the site in dist/site: the landing page, the rules, the documentation and the playground. It needs no server
// but one for files, and nothing from any other place. `npm run bundle` and `scripts/browser.mjs` come first.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser } from "@lezer/python";
import MarkdownIt from "markdown-it";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const repository = join(here, "..");
const target = join(here, "dist", "site");
const PYTHON = process.env.PYTHON ?? (process.platform === "win32" ? "python" : "python3");
const RULES = `
import json
from gradpath.diagnostic import Level
from gradpath.features.pages import readable_page
from gradpath.rules import RULES
link = "[{0}]({0}.html)".format
print(json.dumps([[each.id, each.family, Level(each.level).value, each.summary, readable_page(each, link)] for each in RULES.values()]))
`;
const DOCUMENTS = {
  "docs/command-line.md": "Command line", "server/EDITORS.md": "Editors", "docs/configuration.md": "Configuration", "docs/ci.md": "In CI",
  "docs/json.md": "JSON", "server/RELIABILITY.md": "What is promised", "server/GLOSSARY.md": "Words of autograd", "docs/comparison.md": "Beside other linters", "server/CHANGELOG.md": "Changes",
};

const read = (...parts) => readFileSync(join(...parts), "utf8");
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const filled = (template, values) => template.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);

function highlighted(code) {
  const parts = [];
  highlightCode(code, parser.parse(code), classHighlighter, (text, classes) => {
    parts.push(classes ? `<span class="${classes}">${escaped(text)}</span>` : escaped(text));
  }, () => parts.push("\n"));
  return parts.join("");
}

/** Where each file of the repository is on the site. */
const places = new Map([["README.md", "index.html"], ...Object.keys(DOCUMENTS).map((file) => [file, `docs/${basename(file, ".md").toLowerCase()}.html`])]);

/** The address on a page of what a link in a file leads to; undefined where the site does not have it. */
function resolved(href, file, page) {
  if (/^[a-z]+:|^#/.test(href) || file === undefined) return href;
  const [path, fragment] = href.split("#");
  const wanted = posix.join(posix.dirname(file), path);
  const rule = /^server\/gradpath\/rules\/(\w+)\.md$/.exec(wanted)?.[1];
  const media = /^client-vscode\/media\/(.+)$/.exec(wanted)?.[1];
  const found = rule !== undefined ? `rules/${rule.replaceAll("_", "-")}.html` : media !== undefined ? `media/${media}` : places.get(wanted);
  if (found === undefined) return undefined;
  return posix.relative(posix.dirname(page), found) + (fragment === undefined ? "" : `#${fragment}`);
}

function markdown(text, page, file) {
  const renderer = new MarkdownIt({ html: false, highlight: (code, language) => /^py/.test(language) ? highlighted(code) : "" });
  const { rules } = renderer.renderer;
  const plain = renderer.renderer.renderToken.bind(renderer.renderer);
  const open = [];
  rules.heading_open = (tokens, index, options) => {
    tokens[index].attrSet("id", tokens[index + 1].content.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-"));
    return plain(tokens, index, options);
  };
  rules.link_open = (tokens, index, options) => {
    const href = resolved(tokens[index].attrGet("href"), file, page);
    open.push(href !== undefined);
    tokens[index].attrSet("href", href ?? "");
    return href === undefined ? "" : plain(tokens, index, options);
  };
  rules.link_close = () => open.pop() ? "</a>" : "";
  const image = rules.image;
  rules.image = (tokens, index, options, env, self) => {
    tokens[index].attrSet("src", resolved(tokens[index].attrGet("src"), file, page));
    return image(tokens, index, options, env, self);
  };
  rules.table_open = () => '<div class="table"><table>';
  rules.table_close = () => "</table></div>";
  return renderer.render(text);
}

function put(page, title, kind, body) {
  const root = relative(dirname(page), ".") === "" ? "" : `${relative(dirname(page), ".")}/`;
  mkdirSync(dirname(join(target, page)), { recursive: true });
  writeFileSync(join(target, page), filled(read(here, "site", "page.html"), { title: escaped(title), kind, body, root }));
}

const aside = (entries, current) => `<nav class="aside">${entries.map(([heading, links]) => (
  `${heading === "" ? "" : `<h2>${heading}</h2>`}<ul>${links.map(([href, name]) => `<li><a href="${href}"${href === current ? ' aria-current="page"' : ""}>${name}</a></li>`).join("")}</ul>`
)).join("")}</nav>`;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const [from, to] of [["dist/web", "web"], ["site/style.css", "style.css"], ["media/icon.svg", "icon.svg"]]) cpSync(join(here, from), join(target, to), { recursive: true });
for (const name of readdirSync(join(here, "media")).filter((each) => each.endsWith(".png"))) cpSync(join(here, "media", name), join(target, "media", name));

const rules = JSON.parse(execFileSync(PYTHON, ["-c", RULES], { env: { ...process.env, PYTHONPATH: join(here, "bundled", "libs"), PYTHONDONTWRITEBYTECODE: "1" }, maxBuffer: 1 << 26 }));
const families = [...new Set(rules.map(([, family]) => family))].map((family) => [family, rules.filter((rule) => rule[1] === family)]);
const list = families.map(([family, members]) => [family, members.map(([id]) => [`${id}.html`, id])]);
const table = families.map(([family, members]) => `## ${family}\n\n| rule | level | |\n|---|---|---|\n${members.map(([id, , level, summary]) => `| [${id}](${id}.html) | ${level} | ${summary} |`).join("\n")}\n`);
put("rules/index.html", "gradpath: rules", "read", `${aside(list, "")}<main class="text">${markdown(`# Rules\n\n${table.join("\n")}`, "rules/index.html")}</main>`);
for (const [id, , , , page] of rules) put(`rules/${id}.html`, `gradpath: ${id}`, "read", `${aside(list, `${id}.html`)}<main class="text">${markdown(page, `rules/${id}.html`)}</main>`);

const documents = [["", Object.entries(DOCUMENTS).map(([file, name]) => [basename(places.get(file)), name])]];
for (const [file, name] of Object.entries(DOCUMENTS)) {
  const page = places.get(file);
  put(page, `gradpath: ${name}`, "read", `${aside(documents, basename(page))}<main class="text">${markdown(read(repository, file), page, file)}</main>`);
}

const readme = read(repository, "README.md");
const told = readme.slice(readme.indexOf("```\n"), readme.indexOf("\n## Read on"));
put("index.html", "gradpath: why does backward() fail?", "home", filled(read(here, "site", "index.html"), { body: markdown(told, "index.html", "README.md") }));
put("playground.html", "gradpath: playground", "play", read(here, "site", "playground.html"));

const folder = join(repository, "samples", "faulty");
const samples = readdirSync(folder).filter((name) => name.endsWith(".py")).sort().map((name) => ({ name: basename(name, ".py"), text: read(folder, name) }));
const { metafile } = await build({
  metafile: true, absWorkingDir: here, entryPoints: [join(here, "site", "playground.ts")], outfile: join(target, "playground.js"), bundle: true, minify: true, format: "iife", target: "es2022",
  logLevel: "error", define: { SAMPLES: JSON.stringify(samples) },
});
writeFileSync(join(here, "dist", "site-meta.json"), JSON.stringify(metafile));
execFileSync(process.execPath, [join(here, "scripts", "notices.mjs"), join(target, "ThirdPartyNotices.txt")]);
