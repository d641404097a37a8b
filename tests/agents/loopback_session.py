"""Have a whole session where there is nothing but the loopback device; the provider is there too.

    unshare --net python -m tests.agents.loopback_session PROGRAM WAY FOLDER

Prints as JSON what the client said, which paths were requested, and what was sent elsewhere.
It refuses to run where there is another device.
"""

import json
import sys
from pathlib import Path

from tests.agents.loopback_device import enter_loopback, lost, lost_on_purpose
from tests.agents.sessions import WAYS, make_place, run_session

__all__ = ["main"]


def main(program: str, way: str, folder: Path) -> None:
    """Set a client up and have the session."""
    enter_loopback()
    session = run_session(program, WAYS[way], make_place(folder))
    told = {
        "said": session.ended.stdout,
        "requested": sorted({f"{asked.method} {asked.path}" for asked in session.requests}),
        "lost": lost(),
        "lost when something is sent elsewhere": lost_on_purpose(),
    }
    print(json.dumps(told))  # noqa: T201 - it is a program whose output the test reads


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
