/** Which Python runs the server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

const run = promisify(execFile);
const OLDEST = [3, 10] as const;
const PATIENCE_MS = 10_000;

interface Candidate {
  readonly command: readonly string[];
  readonly source: string;
}

/** A command, where it comes from, and the Python that it starts. */
export interface Interpreter extends Candidate {
  readonly version: string;
}

/** Why no Python that was looked at can run the server. */
export interface Unfit {
  readonly reasons: readonly string[];
}

/**
 * `home` is the folder in which a Python is started: one of the extension, since it may look for modules there, and
 * Windows even for the program. The workspace is nothing to start one in.
 *
 * The first Python from 3.10 on: the setting, the Python extension's choice, then the usual names on the PATH.
 * In an untrusted workspace only the PATH is looked at: what the workspace names might be a program of its own.
 */
export async function findInterpreter(folder: vscode.Uri | undefined, home: string, log: vscode.LogOutputChannel): Promise<Interpreter | Unfit> {
  const reasons: string[] = [];
  for await (const candidate of candidates(folder)) {
    const { version, problem } = await probe(candidate.command, home);
    if (problem === undefined) return { ...candidate, version };
    reasons.push(`${candidate.command.join(" ")} (from ${candidate.source}): ${problem}`);
    log.info(reasons.at(-1) ?? "");
  }
  return { reasons };
}

/** Why a server does not start: the last line that it writes when it is started without a client. */
export async function reasonOf([program = "", ...args]: readonly string[], home: string): Promise<string> {
  const started = run(program, [...args], { timeout: PATIENCE_MS, cwd: home });
  started.child.stdin?.end();
  const told = await started.then(({ stderr }) => stderr, (error: unknown) => (error as { stderr?: string }).stderr ?? "");
  return told.trim().split("\n").at(-1) ?? "";
}

async function* candidates(folder: vscode.Uri | undefined): AsyncGenerator<Candidate> {
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

async function probe([program, ...args]: readonly string[], home: string): Promise<{ version: string; problem?: string }> {
  if (program === undefined) return { version: "", problem: "no command" };
  try {
    const { stdout } = await run(program, [...args, "-c", "import sys; print(*sys.version_info[:3])"], { timeout: PATIENCE_MS, cwd: home });
    const [major = 0, minor = 0, micro = 0] = stdout.trim().split(" ").map(Number);
    const version = `Python ${major}.${minor}.${micro}`;
    const enough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
    return enough ? { version } : { version, problem: `${version} is older than ${OLDEST.join(".")}` };
  } catch (error) {
    return { version: "", problem: error instanceof Error ? (error.message.split("\n")[0] ?? "does not run") : "does not run" };
  }
}
