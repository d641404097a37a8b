"""Start a loopback server of SmolLM2-135M-Instruct, a real language model that runs on one thread."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.fetch_llm import LlmFiles

__all__ = ["serve"]

_SCRIPT = Path(__file__).with_name("serve.mjs")
_ENDING = 10.0  # seconds


@contextmanager
def serve(files: LlmFiles) -> Iterator[str]:
    """Serve the model while the block runs."""
    command = [str(files.node), str(_SCRIPT), str(files.engine), str(files.weights)]
    # The server ends with its stdin, and so also when this process is killed.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = (process.stdout.readline() if process.stdout else "").strip()
            if not port.isdecimal():
                raise RuntimeError(f"expected the port of the model's server, found {port!r}; see its message above")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            if process.stdin:
                process.stdin.close()
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
