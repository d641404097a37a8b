"""Jobs as they lie on disk, for tests that start no process."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from skillopt.storage.locks import state_folder


def record_job(project: Path, skill: str, command: Sequence[str], **more: object) -> Path:
    """Record a job that was begun now and whose process has not started, and give its folder."""
    folder = state_folder(project) / "jobs" / "20260101-000000-beef"
    folder.mkdir(parents=True)
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    order = {"skill": skill, "command": list(command), "folder": str(project), "created_at": begun, **more}
    (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
    return folder
