"""Telling whether a version was trained on the configured target, and what `log` says of it."""

from pathlib import Path

import pytest

from skillopt.versions.staleness import TargetName
from tests.fakes.projects import make_project, skillopt
from tests.fakes.repositories import NEW_VERSION, commit

CODEX = "codex 0.169.0 model=large mode=forced"
CLAUDE = "claude-code 2.1.329 model=default mode=forced max_turns=30 sandbox=bwrap"
THROUGH_CLIENT = "chat claude-code 2.1.329 model=claude-x"


@pytest.mark.parametrize(
    ("identity", "driver", "version", "model"),
    [
        (CODEX, "codex", "0.169.0", "large"),
        (CLAUDE, "claude-code", "2.1.329", "default"),
        (THROUGH_CLIENT, "chat claude-code", "2.1.329", "claude-x"),
        ("chat openai-compatible model=my own model max_tokens=9", "chat openai-compatible", "", "my own model"),
        ("demo-1 seed=0", "demo-1", "", ""),
        ("handoff", "handoff", "", ""),
        ("", "", "", ""),
    ],
)
def test_driver_version_and_model_are_read_out_of_an_identity(
    identity: str, driver: str, version: str, model: str
) -> None:
    assert TargetName.parse(identity) == TargetName(driver, version, model)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a version that says it was trained with Codex."""
    folder = make_project(tmp_path / "project")
    commit(folder, trailers=(*NEW_VERSION.trailers, ("Harness", CODEX)))
    return folder


def test_the_log_marks_a_version_stale_when_another_target_is_configured(project: Path) -> None:
    config = project / "skillopt.toml"
    other = 'harness = "chat/openai-compatible/fake"\nbase_url = "http://127.0.0.1:1/v1"\n'
    config.write_text(config.read_text(encoding="utf-8").replace('harness = "demo"\n', other), encoding="utf-8")
    said = "  stale: trained on codex 0.169.0 model=large, now chat openai-compatible model=fake"
    assert skillopt(project, "log", "rows").stdout.splitlines()[1].endswith(said)
