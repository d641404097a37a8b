"""Jobs as they lie on disk: what is damaged is left out, and hides no other."""

import json
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.storage.jobs import find_job, list_jobs
from tests.fakes.jobs import record_job

GOOD = {"skill": "rows", "command": ["optimize"], "folder": "x", "created_at": "2026-01-01T00:00:00+00:00"}
OTHER = "20260102-000000-beef"


@pytest.mark.parametrize(
    "damage",
    [{"command": []}, {"command": [1]}, {"skill": None}, {"created_at": "yesterday"}, {"limits": {"max_usd": "much"}}],
    ids=str,
)
def test_a_job_whose_order_is_damaged_is_left_out(tmp_path: Path, damage: dict[str, object]) -> None:
    whole = record_job(tmp_path, "rows", ["optimize"])
    damaged = whole.with_name(OTHER)
    damaged.mkdir()
    (damaged / "order.json").write_text(json.dumps({**GOOD, **damage}))
    assert [one.id for one in list_jobs(tmp_path)] == [whole.name]
    with pytest.raises(UsageError, match="expected the id of a job"):
        find_job(tmp_path, damaged.name)
