"""Telling whether a version was trained on the configured target, and what `log` says of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from skillopt.versions.repository import Repository
from skillopt.versions.staleness import Fit, TargetName, compare_targets
from tests.fakes.projects import make_project, skillopt, without_agents
from tests.fakes.repositories import NEW_VERSION, commit

CODEX = "codex 0.169.0 model=large mode=forced"
CLAUDE = "claude-code 2.1.329 model=default mode=forced max_turns=30 sandbox=bwrap"
CHAT = "chat anthropic model=claude-x max_tokens=16000"
THROUGH_CLIENT = "chat claude-code 2.1.329 model=claude-x"


@pytest.mark.parametrize(
    ("identity", "driver", "version", "model"),
    [
        (CODEX, "codex", "0.169.0", "large"),
        (CLAUDE, "claude-code", "2.1.329", "default"),
        (CHAT, "chat anthropic", "", "claude-x"),
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


@pytest.mark.parametrize(
    ("trained", "now"),
    [
        (CODEX, CODEX),
        (CODEX, "codex 0.169.0 model=large mode=discovery max_tokens=9 sandbox=bwrap"),
        ("demo-1 seed=0", "demo-1 seed=7"),
        ("handoff", "handoff"),
    ],
)
def test_the_same_driver_and_model_are_the_same_target_whatever_its_limits(trained: str, now: str) -> None:
    assert compare_targets(trained, now).fit is Fit.SAME


@pytest.mark.parametrize(
    ("trained", "now", "reason"),
    [
        (
            CODEX,
            "codex 0.170.0 model=small mode=forced",
            "trained on codex 0.169.0 model=large, now codex 0.170.0 model=small",
        ),
        (CHAT, THROUGH_CLIENT, "trained on chat anthropic model=claude-x, now chat claude-code 2.1.329 model=claude-x"),
        ("demo-1 seed=0", "demo-2 seed=0", "trained on demo-1, now demo-2"),
        ("demo-1 seed=0", CODEX, "trained on demo-1, now codex 0.169.0 model=large"),
    ],
)
def test_another_driver_or_model_makes_a_version_stale(trained: str, now: str, reason: str) -> None:
    found = compare_targets(trained, now)
    assert (found.fit, found.reason) == (Fit.STALE, reason)


def test_another_version_of_the_client_alone_is_told_and_is_not_stale() -> None:
    found = compare_targets(CODEX, CODEX.replace("0.169.0", "0.170.0"))
    assert (found.fit, found.reason) == (Fit.UPDATED, "trained with codex 0.169.0, now 0.170.0")


@pytest.mark.parametrize(("trained", "now"), [("", CODEX), (CODEX, ""), ("", "")])
def test_nothing_is_claimed_where_one_side_is_unknown(trained: str, now: str) -> None:
    found = compare_targets(trained, now)
    assert (found.fit, found.reason) == (Fit.UNKNOWN, "")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a version that says it was trained with Codex."""
    folder = make_project(tmp_path / "project")
    commit(folder, trailers=(*NEW_VERSION.trailers, ("Harness", CODEX)))
    return folder


def log_of(folder: Path, **environment: str) -> list[dict[str, Any]]:
    ended = skillopt(folder, "log", "skills/rows", "--json", **environment)
    assert ended.returncode == 0, ended.stderr
    versions: list[dict[str, Any]] = json.loads(ended.stdout)["versions"]
    return versions


def test_the_log_names_the_target_and_claims_nothing_where_none_is_configured(project: Path) -> None:
    config = project / "skillopt.toml"
    config.write_text(config.read_text(encoding="utf-8").replace('harness = "demo"\n', ""), encoding="utf-8")
    assert skillopt(project, "log", "rows").stdout.splitlines()[1].endswith("  trained on codex 0.169.0 model=large")
    config.unlink()
    (version,) = log_of(project)
    assert (version["harness"], version["staleness"]) == (CODEX, {"fit": "unknown", "reason": ""})


def test_the_log_marks_a_version_stale_when_another_target_is_configured(project: Path) -> None:
    config = project / "skillopt.toml"
    other = 'harness = "chat/openai-compatible/fake"\nbase_url = "http://127.0.0.1:1/v1"\n'
    config.write_text(config.read_text(encoding="utf-8").replace('harness = "demo"\n', other), encoding="utf-8")
    said = "  stale: trained on codex 0.169.0 model=large, now chat openai-compatible model=fake"
    assert skillopt(project, "log", "rows").stdout.splitlines()[1].endswith(said)


def make_codex(folder: Path, version: str) -> str:
    """Make a client that tells its version; give the PATH that finds it."""
    folder.mkdir()
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\necho codex-cli {version}\n", encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_the_log_tells_another_client_version_and_works_where_the_program_is_missing(
    project: Path, tmp_path: Path
) -> None:
    path = make_codex(tmp_path / "bin", "0.170.0")
    (updated,) = log_of(project, SKILLOPT_HARNESS="codex/large", PATH=path)
    assert updated["harness"] == CODEX
    assert updated["staleness"] == {"fit": "updated", "reason": "trained with codex 0.169.0, now 0.170.0"}
    (stale,) = log_of(project, SKILLOPT_HARNESS="codex/small", PATH=path)
    assert stale["staleness"]["fit"] == "stale"
    (unknown,) = log_of(project, SKILLOPT_HARNESS="codex/large", PATH=without_agents(tmp_path))
    assert unknown["staleness"] == {"fit": "unknown", "reason": ""}


def test_a_version_that_was_rolled_back_to_keeps_its_target(project: Path) -> None:
    first = Repository.find(project).branch_tip("rows") or ""
    rolled = (("Skill", "rows"), ("Rollback-To", first))
    tip = commit(project, trailers=rolled, parent=first, expected_tip=first, subject="rows: go back")
    assert Repository.find(project).branch_tip("rows") == tip
    assert [version["harness"] for version in log_of(project)] == [CODEX, CODEX]
