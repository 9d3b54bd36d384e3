/** Which Python runs the server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

const run = promisify(execFile);
const OLDEST = [3, 10] as const;
const PATIENCE_MS = 10_000;

/** A command, and where it comes from, for the log. */
export interface Interpreter {
  readonly command: readonly string[];
  readonly source: string;
}

/**
 * `home` is the folder in which a Python is started: one of the extension, since it may look for modules there, and
 * Windows even for the program. The workspace is nothing to start one in.
 *
 * The first Python from 3.10 on: the setting, the Python extension's choice, then the usual names on the PATH.
 * In an untrusted workspace only the PATH is looked at: what the workspace names might be a program of its own.
 */
export async function findInterpreter(folder: vscode.Uri | undefined, home: string, log: vscode.LogOutputChannel): Promise<Interpreter | undefined> {
  for await (const candidate of candidates(folder)) {
    const problem = await probe(candidate.command, home);
    if (problem === undefined) return candidate;
    log.info(`${candidate.source}: ${candidate.command.join(" ")}: ${problem}`);
  }
  return undefined;
}

/** Why a server does not start: the last line that it writes when it is started without a client. */
export async function reasonOf([program = "", ...args]: readonly string[], home: string): Promise<string> {
  const started = run(program, [...args], { timeout: PATIENCE_MS, cwd: home });
  started.child.stdin?.end();
  const told = await started.then(({ stderr }) => stderr, (error: unknown) => (error as { stderr?: string }).stderr ?? "");
  return told.trim().split("\n").at(-1) ?? "";
}

async function* candidates(folder: vscode.Uri | undefined): AsyncGenerator<Interpreter> {
  if (vscode.workspace.isTrusted) {
    const set = vscode.workspace.getConfiguration("gradpath", folder).get<string[]>("interpreter", []);
    if (set.length > 0) {
      yield { command: set, source: "the setting gradpath.interpreter" };
      return; // Whoever names an interpreter wants that one or a message.
    }
    const chosen = await chosenInPythonExtension(folder);
    if (chosen !== undefined) yield { command: [chosen], source: "the Python extension" };
  }
  const names = process.platform === "win32" ? [["py", "-3"], ["python"]] : [["python3"], ["python"]];
  for (const command of names) yield { command, source: "the PATH" };
}

async function chosenInPythonExtension(folder: vscode.Uri | undefined): Promise<string | undefined> {
  // It is asked for at run time: an `extensionDependencies` would keep gradpath from starting without it.
  if (vscode.extensions.getExtension("ms-python.python") === undefined) return undefined;
  try {
    const { environments } = await PythonExtension.api();
    const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    return environment?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Calls `changed` when another interpreter is chosen in the Python extension. */
export async function onInterpreterChanged(changed: () => void): Promise<vscode.Disposable | undefined> {
  if (vscode.extensions.getExtension("ms-python.python") === undefined) return undefined;
  return (await PythonExtension.api()).environments.onDidChangeActiveEnvironmentPath(changed);
}

async function probe([program, ...args]: readonly string[], home: string): Promise<string | undefined> {
  if (program === undefined) return "no command";
  try {
    const { stdout } = await run(program, [...args, "-c", "import sys; print(*sys.version_info[:2])"], { timeout: PATIENCE_MS, cwd: home });
    const [major = 0, minor = 0] = stdout.trim().split(" ").map(Number);
    const enough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
    return enough ? undefined : `Python ${major}.${minor} is older than ${OLDEST.join(".")}`;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "does not run") : "does not run";
  }
}
