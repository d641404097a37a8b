#!/usr/bin/env bash
# Installs Claude Code or Codex for a job: the pinned version by the hashes of its lock file, another one with a warning.
#
#     install.sh claude-code|codex VERSION
#
# VERSION is `pinned` or a number. No install script of a package is run. The program is put on the PATH of later steps.
set -euo pipefail

name="$1" wanted="$2"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$name"
case "$name" in
  claude-code) package='@anthropic-ai/claude-code' program=claude found='@anthropic-ai/claude-code-*/claude' ;;
  codex) package='@openai/codex' program=codex found='@openai/codex-*/vendor/*/bin/codex' ;;
  *) echo "::error title=skillopt::agents: expected claude-code or codex, found something else"; exit 2 ;;
esac
if [[ "$wanted" != pinned && ! "$wanted" =~ ^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*$ ]]; then
  echo "::error title=skillopt::$name: expected \`pinned\` or a version such as 1.2.3, found something else"
  exit 2
fi
pinned="$(sed -n "s|.*\"$package\": \"\([^\"]*\)\".*|\1|p" "$here/package.json")"
place="$RUNNER_TEMP/skillopt-agents/$name"
mkdir -p "$place"
cp "$here/package.json" "$here/package-lock.json" "$place/"
cd "$place"
quiet=(--ignore-scripts --no-audit --no-fund --loglevel=error)
if [[ "$wanted" == pinned || "$wanted" == "$pinned" ]]; then
  npm ci "${quiet[@]}"
else
  echo "::warning title=skillopt::$name $wanted is not the version that skillopt was tried with ($pinned); its hash is not checked"
  rm package-lock.json
  npm install "${quiet[@]}" --save-exact "$package@$wanted"
fi
# The packages of each system hold the program itself; what npm links to would need an install script.
native="$(compgen -G "node_modules/$found" | head -n 1 || true)"
if [[ -z "$native" ]]; then
  echo "::error title=skillopt::$name: expected a program for this system in $package, found none"
  exit 3
fi
mkdir -p bin
ln -sf "$place/$native" "bin/$program"
"bin/$program" --version
echo "$place/bin" >> "$GITHUB_PATH"
