"""Train a skill where there is nothing but the loopback device; the providers are there too.

    unshare --net python -m tests.agents.loopback_training claude|codex FOLDER

Prints as JSON what the command line said, which paths were requested, and what was sent elsewhere.
It refuses to run where there is another device.
"""

import json
import os
import sys
from pathlib import Path

from tests.agents.loopback_device import enter_loopback, lost, lost_on_purpose
from tests.fakes.projects import make_project, skillopt_process
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.fake_openai import fake_openai

__all__ = ["main"]

_OPTIONS = ("confidence=0.8", "gate=paired")


def main(client: str, folder: Path) -> None:
    """Train with a client through command line and loopback providers."""
    enter_loopback()
    make_project(folder, tasks=6)
    name = {"claude": "claude-code", "codex": "codex/fake-model"}[client]
    settings = [part for option in _OPTIONS for part in ("--set", option)]
    with fake_anthropic() as anthropic, fake_openai() as openai:
        os.environ |= {"ANTHROPIC_BASE_URL": anthropic.url, "OPENAI_BASE_URL": f"{openai.url}/v1"}
        ended = skillopt_process(
            folder, "optimize", "rows", "--yes", "--json", "--harness", name, "--model", name, *settings
        )
        requested = sorted({f"{asked.method} {asked.path}" for asked in (*anthropic.requests, *openai.requests)})
    print(  # noqa: T201 - it is a program whose output the test reads
        json.dumps(
            {
                "status": ended.returncode,
                "stdout": ended.stdout,
                "stderr": ended.stderr,
                "requested": requested,
                "lost": lost(),
                "lost when something is sent elsewhere": lost_on_purpose(),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
