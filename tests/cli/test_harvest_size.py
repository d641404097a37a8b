"""`skillopt harvest` on many and large logs: its memory is bounded whatever their size."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.past_sessions import Said, claude_log
from tests.fakes.projects import make_project

pytestmark = pytest.mark.process

SIZE = 300_000_000
"""Bytes of logs."""

LIMIT = 700_000_000
"""Bytes of address space, most of which the program and its libraries take; the logs would not fit beside them."""


def test_logs_of_300_megabytes_and_a_line_of_a_hundred_are_harvested_in_bounded_memory(tmp_path: Path) -> None:
    project, home = make_project(tmp_path / "project"), tmp_path / "home"
    config = project / "skillopt.toml"
    config.write_text(f'harvest = ["claude-code"]\n{config.read_text(encoding="utf-8")}', encoding="utf-8")
    folder = home / ".claude" / "projects" / "".join(sign if sign.isalnum() else "-" for sign in str(project))
    folder.mkdir(parents=True)
    rows = [
        json.dumps(row).encode() + b"\n" for row in claude_log(project, [Said("Clean the table of it", skill="rows")])
    ]
    seen = json.dumps({**json.loads(rows[2]), "toolUseResult": "x" * 1_000_000}).encode() + b"\n"
    for number in range(2):
        with (folder / f"s{number}.jsonl").open("wb") as log:
            log.writelines(rows)
            log.writelines(seen for _ in range((SIZE - 100_000_000) // 2 // len(seen)))
    with (folder / "huge.jsonl").open("wb") as log:
        log.writelines(b"y" * 1_000_000 for _ in range(100))
        log.write(b"\n")
        log.writelines(rows)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))

    ended = subprocess.run(
        [sys.executable, "-m", "skillopt", "harvest", "--json"],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout)
    assert (found["sessions"], found["skipped_lines"]) == (3, 1)
