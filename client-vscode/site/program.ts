/** The program under the editor, as the language server knows it: what is found, told, offered and drawn. */
import { Connection } from "./connection";

export interface Place { readonly line: number; readonly character: number }
export interface Range { readonly start: Place; readonly end: Place }
export interface Found {
  readonly range: Range;
  readonly message: string;
  readonly severity: 1 | 2 | 3 | 4;
  readonly code: string;
  readonly relatedInformation?: readonly { readonly location: { readonly range: Range }; readonly message: string }[];
}
export interface Edit { readonly range: Range; readonly newText: string }
export interface Repair { readonly title: string; readonly isPreferred?: boolean; readonly edits: readonly Edit[] }
export interface Lens { readonly range: Range; readonly command: { readonly title: string; readonly command: string } }

const URI = "file:///playground/program.py";
const DOCUMENT = { uri: URI };
const CAPABILITIES = {
  general: { positionEncodings: ["utf-16"] },
  textDocument: {
    publishDiagnostics: { relatedInformation: true, versionSupport: true },
    hover: { contentFormat: ["markdown"] },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: [] } } },
  },
};

export class Program {
  private version = 0;
  private edited = 0;

  private constructor(private readonly connection: Connection) {}

  /** `ended` is called where Python ends by itself. */
  static async start(folder: string, ended: () => void): Promise<Program> {
    const connection = await Connection.open(folder);
    connection.onEnded(ended);
    const options = { diagnosticsInHover: false };
    await connection.ask("initialize", { processId: null, rootUri: null, capabilities: CAPABILITIES, initializationOptions: options });
    connection.tell("initialized", {});
    return new Program(connection);
  }

  /** What is found in each text, and how many milliseconds after it was set. */
  onChecked(heard: (found: readonly Found[], milliseconds: number) => void): void {
    this.connection.on("textDocument/publishDiagnostics", ({ diagnostics, version }: { diagnostics: readonly Found[]; version?: number }) => {
      if (version === this.version) heard(diagnostics, performance.now() - this.edited);
    });
  }

  set(text: string): void {
    this.edited = performance.now();
    this.version += 1;
    if (this.version === 1) this.connection.tell("textDocument/didOpen", { textDocument: { ...DOCUMENT, languageId: "python", version: 1, text } });
    else this.connection.tell("textDocument/didChange", { textDocument: { ...DOCUMENT, version: this.version }, contentChanges: [{ text }] });
  }

  /** What is known at a place, as Markdown. */
  async told(position: Place): Promise<string> {
    const hover = await this.connection.ask<{ contents: { value: string } } | null>("textDocument/hover", { textDocument: DOCUMENT, position });
    return hover?.contents.value ?? "";
  }

  /** What changes the program and mends what is found at a place, each tried before. */
  async repairs(range: Range): Promise<Repair[]> {
    const actions = await this.connection.ask<{ title: string; kind: string; isPreferred?: boolean; edit?: { changes: Record<string, Edit[]> } }[]>(
      "textDocument/codeAction", { textDocument: DOCUMENT, range, context: { diagnostics: [], only: ["quickfix", "refactor.rewrite"], triggerKind: 2 } },
    );
    return actions.flatMap(({ title, isPreferred, edit }) => {
      const edits = edit?.changes[URI] ?? [];
      const [, unsafe, does = title] = /^gradpath( \(unsafe\))?: (.*)$/s.exec(title) ?? []; // Here all is gradpath's.
      return edits.length === 0 ? [] : [{ title: `${does}${unsafe ?? ""}`, isPreferred: isPreferred === true, edits }];
    });
  }

  async lenses(): Promise<Lens[]> {
    return await this.connection.ask<Lens[] | null>("textDocument/codeLens", { textDocument: DOCUMENT }) ?? [];
  }

  /** The graph of the loss on a line (from 0), or what learns from what in the whole program. */
  async picture(view: "graph" | "flow", line: number | null): Promise<string | undefined> {
    const drawn = await this.connection.ask<{ svg: string } | null>("workspace/executeCommand", { command: `gradpath.server.${view}`, arguments: [URI, line] });
    return drawn?.svg;
  }
}
