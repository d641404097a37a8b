"""Start a loopback server of a real language model, one thread an answer.

python -m benchmarks.llm.server MODEL PORT CONTEXTS    # until its input ends, as by Ctrl-D
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.fetch_llm import LlmFiles, find_llm

_SCRIPT = Path(__file__).with_name("serve.mjs")
_ENDING = 10.0  # seconds


@contextmanager
def serve(files: LlmFiles, port: int = 0, contexts: int = 1) -> Iterator[str]:
    """Serve the model while the block runs: on a free port or the one named, so many answers at a time."""
    command = [str(files.node), str(_SCRIPT), str(files.engine), str(files.weights), str(port), str(contexts)]
    # The server ends with its stdin, and so also when this process is killed.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = (process.stdout.readline() if process.stdout else "").strip()
            if not found.isdecimal():
                raise RuntimeError(f"expected the port of the model's server, found {found!r}; see its message above")
            yield f"http://127.0.0.1:{found}/v1"
        finally:
            if process.stdin:
                process.stdin.close()
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()


if __name__ == "__main__":
    with serve(find_llm(sys.argv[1]), *map(int, sys.argv[2:])) as address:
        print(address, flush=True)
        sys.stdin.read()
