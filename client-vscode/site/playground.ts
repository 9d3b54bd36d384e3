/** The playground: an editor, and beside it the story of what is found, the ways out, and the pictures. */
import MarkdownIt from "markdown-it";
import { Editor } from "./editor";
import { fragmentOf, programOf } from "./link";
import { type Found, Program, type Range, type Repair } from "./program";

const QUIET_MS = 120;
const LEVELS = { 1: "error", 2: "warning", 3: "hint", 4: "hint" } as const;
const FIRST = "gan";
const MISSING = {
  graph: "No graph is known at this line: put the cursor on a loss or its <code>backward()</code>.",
  flow: "No <code>backward()</code> and no <code>step()</code> is known in this program.",
};

type View = "story" | "graph" | "flow";

const markdown = new MarkdownIt();
const at = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;
const [story, picture, status, samples] = [at("story"), at("picture"), at("status"), at("samples") as HTMLSelectElement];
const tabs = [...document.querySelectorAll<HTMLButtonElement>("[role=tab]")];

let view: View = "story";
let found: readonly Found[] = [];
let program: Program | undefined;
let drawn: number | null = null;
let isNew = true; // The reader has not been shown yet what there is to see.
let timer: number | undefined;

function element(name: string, className: string, ...children: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

/** A line of text in which what stands between backticks is code. */
function words(text: string): Node[] {
  return text.split("`").map((part, index) => index % 2 === 0 ? document.createTextNode(part) : element("code", "", part));
}

function step(range: Range, message: string): HTMLElement {
  const place = element("button", "place", element("span", "line", String(range.start.line + 1)), element("code", "", editor.lineText(range.start.line)));
  place.addEventListener("click", () => { editor.go(range); });
  place.addEventListener("pointerenter", () => { editor.point(range); });
  place.addEventListener("pointerleave", () => { editor.point(null); });
  return element("li", "", element("p", "", ...words(message)), place);
}

function button({ title, isPreferred, edits }: Repair): HTMLElement {
  const made = element("button", isPreferred === true ? "repair preferred" : "repair", ...words(title));
  made.addEventListener("click", () => { editor.apply(edits); });
  return made;
}

function card(each: Found): HTMLElement {
  const level = LEVELS[each.severity];
  const rule = element("a", "rule", each.code);
  rule.setAttribute("href", `rules/${each.code}.html`);
  const [title = ""] = each.message.split("\n");
  const steps = (each.relatedInformation ?? []).map(({ location, message }) => step(location.range, message));
  const [more, repairs] = [element("div", "more"), element("div", "repairs")];
  void program?.told(each.range.start).then((text) => { more.innerHTML = markdown.render(text); });
  void program?.repairs(each.range).then((all) => { repairs.replaceChildren(...all.map(button)); });
  return element("article", `card ${level}`,
    element("header", "", element("span", "level", level), rule), element("h2", "", ...words(title)), element("ol", "", ...steps), repairs, more);
}

function tell(): void {
  if (found.length > 0) story.replaceChildren(...found.map(card));
  else story.replaceChildren(element("p", "nothing", "Nothing to report: every backward finds its graph."));
}

/** Draws what the tab shows: for the line of the cursor, or else for the first place that has a graph. */
async function draw(): Promise<void> {
  if (program === undefined || view === "story") return;
  const [wanted, current] = [view, program];
  const lines = view === "flow" ? [null] : [editor.line, drawn, ...found.map(({ range }) => range.start.line),
    ...(await current.lenses()).filter(({ command }) => command.command === "gradpath.graph").map(({ range }) => range.start.line)];
  for (const line of new Set(lines)) {
    if (line === null && wanted === "graph") continue;
    const svg = await current.picture(wanted, line);
    if (wanted !== view) return;
    if (svg !== undefined) {
      drawn = line;
      picture.innerHTML = svg;
      return;
    }
  }
  picture.innerHTML = `<p class="nothing">${MISSING[wanted]}</p>`;
}

function show(name: View): void {
  view = name;
  for (const tab of tabs) tab.setAttribute("aria-selected", String(tab.dataset.view === name));
  story.hidden = name !== "story";
  picture.hidden = name === "story";
  void draw();
}

function changed(): void {
  clearTimeout(timer);
  if (status.dataset.state === "failed") void start();
  if (program === undefined) return; // Which begins with the text that there is by then.
  status.dataset.state = "checking";
  timer = setTimeout(() => { program?.set(editor.text); }, QUIET_MS);
}

function checked(now: readonly Found[], milliseconds: number): void {
  found = now;
  editor.mark(found);
  tell();
  if (isNew && found[0] !== undefined) editor.go(found[0].range);
  isNew = false;
  void draw();
  if (document.body.dataset.answered === undefined) document.body.dataset.answered = String(Math.round(performance.now()));
  say("ready", `Checked in ${Math.round(milliseconds)} ms, in this page: nothing is sent.`);
}

function moved(): void {
  if (view === "graph") void draw();
}

function say(state: string, text: string): void {
  status.dataset.state = state;
  status.textContent = text;
}

async function share(): Promise<void> {
  history.replaceState(null, "", await fragmentOf(editor.text));
  await navigator.clipboard.writeText(location.href).then(() => { say("ready", "The link is copied."); }, () => { say("ready", "The link is in the address bar."); });
}

async function fill(): Promise<void> {
  const given = await programOf(location.hash);
  const named = SAMPLES.find(({ name }) => location.hash === `#sample=${name}`) ?? SAMPLES.find(({ name }) => name === FIRST);
  samples.value = given === undefined ? named?.name ?? "" : "";
  isNew = true;
  editor.replace(given ?? named?.text ?? "");
}

const editor = new Editor(at("editor"), "", changed, moved);
samples.append(...SAMPLES.map(({ name }) => new Option(name.replaceAll("_", " "), name)));
samples.addEventListener("change", () => { location.hash = `sample=${samples.value}`; });
window.addEventListener("hashchange", () => { void fill(); });
at("share").addEventListener("click", () => { void share(); });
for (const tab of tabs) tab.addEventListener("click", () => { show(tab.dataset.view as View); });
picture.addEventListener("click", ({ target }) => {
  const box = (target as Element).closest<SVGElement>("[data-line]");
  const line = Number(box?.dataset.line) - 1;
  if (box !== null) editor.go({ start: { line, character: 0 }, end: { line, character: 0 } });
});

async function start(): Promise<void> {
  say("loading", "Starting Python in this page…");
  try {
    const started = await Program.start("web", () => {
      program = undefined;
      say("failed", "This program is too much for Python in a page; it starts again with your next edit.");
    });
    started.onChecked(checked);
    started.set(editor.text);
    program = started;
  } catch (error) {
    say("failed", `Python does not start: ${String(error)}`);
  }
}

void fill();
void start();
