/** The status item: whether the server runs. */
import * as vscode from "vscode";
import { State } from "vscode-languageclient";

/** Shows the server's state beside the language of a Python file; a click opens the output. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem("gradpath.status", [{ language: "python" }]);

  constructor() {
    this.item.name = "gradpath";
    this.item.command = { command: "gradpath.showOutput", title: "Show Output" };
    this.show(State.Starting);
  }

  show(state: State): void {
    this.item.text = `gradpath: ${state === State.Running ? "ready" : state === State.Starting ? "starting" : "stopped"}`;
    this.item.busy = state === State.Starting;
    this.item.severity = state === State.Stopped ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
  }

  /** Which server runs, below its state. */
  describe(description: string): void {
    this.item.detail = description;
  }

  failed(reason: string): void {
    this.item.text = "gradpath: not running";
    this.item.detail = reason;
    this.item.busy = false;
    this.item.severity = vscode.LanguageStatusSeverity.Error;
  }

  dispose(): void {
    this.item.dispose();
  }
}
