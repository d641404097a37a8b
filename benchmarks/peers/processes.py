"""A peer in an interpreter of its own.

Owns starting it, speaking with it until each run ends, and saying what it wrote when it broke. Does
not own the messages (link) or making the interpreter (environments).
"""

import os
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.peers.exchange import Arena
from benchmarks.peers.link import answer, write_terms

__all__ = ["PeerError", "PeerProcess"]

_ROOT = Path(__file__).resolve().parents[2]
# The checkout comes last on the path: one peer's package has the name of ours.
_START = (
    "import sys; from importlib import import_module; sys.path.append(sys.argv[1]); "
    "from benchmarks.peers.link import serve; sys.exit(serve(import_module(sys.argv[2]).train))"
)
_TAIL = 2000
# SkillOpt writes several hundred small files a run; in memory, where there is such a folder, that is ten times as fast.
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder with a random name is made in it
# What peers would do besides training: look up prices on the network, keep caches in the home folder, draw bars.
_QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DSPY_CACHEDIR": "dspy_cache", "TQDM_DISABLE": "1"}


class PeerError(Exception):
    """A peer's interpreter ended in the middle of a run."""


class PeerProcess:
    """Runs of one peer, one after the other, in one process that ends with the block.

    Args:
        python: The interpreter that has the peer installed.
        module: Its adapter.
    """

    def __init__(self, python: Path, module: str) -> None:
        self._command = [str(python), "-I", "-c", _START, str(_ROOT), module]

    def __enter__(self) -> Self:
        """Start the interpreter, in a scratch folder."""
        where = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
        self._scratch = tempfile.TemporaryDirectory(prefix="peer-", dir=where, ignore_cleanup_errors=True)
        self._errors = Path(self._scratch.name, "stderr").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=self._scratch.name,
            env=os.environ | _QUIET,
            text=True,
            encoding="utf-8",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the interpreter."""
        self._process.terminate()
        self._process.communicate()
        self._errors.close()
        self._scratch.cleanup()

    def play(self, arena: Arena) -> None:
        """Let the peer train.

        Args:
            arena: What it trains in.

        Raises:
            PeerError: The interpreter ended before the run did.
        """
        source, sink = self._process.stdout, self._process.stdin
        if source is None or sink is None:
            raise AssertionError("both streams are pipes")
        said: str | None = write_terms(arena.terms)
        while said is not None:
            if said:
                sink.write(said)
                sink.flush()
            line = source.readline()
            if not line:
                self._process.wait()
                text = Path(self._errors.name).read_text("utf-8", "replace")[-_TAIL:]
                raise PeerError(f"{self._command[-1]} ended with code {self._process.returncode}:\n{text}")
            said = answer(arena, line)
