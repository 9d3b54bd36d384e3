/** The folders of the workspace: what the server calls them, and which of their files it may want to read. */
import * as vscode from "vscode";

const ROOT = "/workspaces";
const MOST = 3_000;
const NAMES = /\.(?:py|ipynb)$|^(?:pyproject|gradpath)\.toml$|^\.gitignore$/;
const LEFT_OUT = /^(?:\..*|node_modules|__pycache__|site-packages|venv|env|build|dist)$/;

export const isOfInterest = (uri: vscode.Uri): boolean => NAMES.test(uri.path.slice(uri.path.lastIndexOf("/") + 1));

export class Workspaces {
  get schemes(): string[] {
    return this.folders.map(({ uri }) => uri.scheme);
  }

  /** `file:///workspaces/0/...` for what lies in the first folder; any other URI stays. */
  outside(uri: vscode.Uri): string {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    if (folder === undefined || uri.scheme !== folder.uri.scheme) return uri.toString();
    return vscode.Uri.file(`${ROOT}/${folder.index}${uri.path.slice(folder.uri.path.replace(/\/$/, "").length)}`).toString();
  }

  inside(uri: string): vscode.Uri {
    const parsed = vscode.Uri.parse(uri);
    const [, root, index, ...rest] = parsed.path.split("/");
    const folder = parsed.scheme === "file" && `/${root}` === ROOT ? this.folders[Number(index)] : undefined;
    return folder === undefined ? parsed : vscode.Uri.joinPath(folder.uri, ...rest).with({ fragment: parsed.fragment });
  }

  /** The files of all folders, folder by folder, up to a number of them: each may have to be fetched from far away. */
  async *files(): AsyncGenerator<vscode.Uri[]> {
    let left = MOST;
    const waiting = this.folders.map(({ uri }) => uri);
    for (let folder = waiting.shift(); folder !== undefined && left > 0; folder = waiting.shift()) {
      const here = folder;
      const entries = await vscode.workspace.fs.readDirectory(here).then((all) => all, () => []);
      const within = (kind: vscode.FileType) => entries.filter(([, type]) => type === kind).map(([name]) => name);
      waiting.push(...within(vscode.FileType.Directory).filter((name) => !LEFT_OUT.test(name)).map((name) => vscode.Uri.joinPath(here, name)));
      const found = within(vscode.FileType.File).map((name) => vscode.Uri.joinPath(here, name)).filter(isOfInterest).slice(0, left);
      left -= found.length;
      yield found;
    }
  }

  private get folders(): readonly vscode.WorkspaceFolder[] {
    return vscode.workspace.workspaceFolders ?? [];
  }
}
