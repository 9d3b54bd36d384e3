/** The editor: Python in CodeMirror, with what is found underlined. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Edit, Found, Place, Range } from "./program";

const LEVELS = { 1: "error", 2: "warning", 3: "info", 4: "hint" } as const;

/** The place that the story speaks of, while the pointer is on its step. */
const point = StateEffect.define<{ from: number; to: number } | null>();
const pointed = StateField.define({
  create: () => Decoration.none,
  update(marks, { changes, effects }) {
    for (const effect of effects) {
      if (effect.is(point)) return effect.value === null ? Decoration.none : Decoration.set(Decoration.mark({ class: "pointed" }).range(effect.value.from, effect.value.to));
    }
    return marks.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export class Editor {
  private readonly view: EditorView;

  constructor(parent: HTMLElement, text: string, changed: () => void, moved: () => void) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), history(), drawSelection(), indentOnInput(), bracketMatching(), lintGutter(), pointed,
          indentUnit.of("    "), python(), syntaxHighlighting(classHighlighter), keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": "The program" }),
          EditorView.updateListener.of(({ docChanged, selectionSet }) => {
            if (docChanged) changed();
            else if (selectionSet) moved();
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** The line of the cursor, from 0. */
  get line(): number {
    return this.view.state.doc.lineAt(this.view.state.selection.main.head).number - 1;
  }

  /** What stands in a line, from 0. */
  lineText(line: number): string {
    const { doc } = this.view.state;
    return line < doc.lines ? doc.line(line + 1).text.trim() : "";
  }

  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 } });
  }

  apply(edits: readonly Edit[]): void {
    this.view.dispatch({ changes: edits.map(({ range, newText }) => ({ ...this.span(range), insert: newText })), userEvent: "input.repair" });
  }

  mark(found: readonly Found[]): void {
    const marks = found.map(({ range, severity, message, code }): Diagnostic => (
      { ...this.span(range), severity: LEVELS[severity], message: message.split("\n")[0] ?? "", source: `gradpath: ${code}` }
    ));
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  /** Puts the cursor at a place and shows it. */
  go(range: Range): void {
    const { from } = this.span(range);
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }

  point(range: Range | null): void {
    const span = range === null ? null : this.span(range);
    this.view.dispatch({ effects: point.of(span === null || span.from === span.to ? null : span) });
  }

  private span({ start, end }: Range): { from: number; to: number } {
    return { from: this.offset(start), to: this.offset(end) };
  }

  private offset({ line, character }: Place): number {
    const { doc } = this.view.state;
    if (line >= doc.lines) return doc.length;
    const { from, length } = doc.line(line + 1);
    return from + Math.min(character, length);
  }
}
