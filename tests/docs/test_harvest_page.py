"""The commands of docs/history.md on past sessions, executed in order on one."""

import re
from pathlib import Path

import pytest

from skillopt.suites import load_suite
from tests.fakes.past_sessions import Said, claude_log, write_log
from tests.fakes.projects import make_project, skillopt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "history.md"

pytestmark = pytest.mark.docs


def test_the_commands_of_the_page_work_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    text = PAGE.read_text(encoding="utf-8").partition("\n## From past sessions\n")[2]
    project = make_project(tmp_path / "project", name="my-skill")
    config = project / "skillopt.toml"
    consent = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0]
    config.write_text(consent + config.read_text(encoding="utf-8"), encoding="utf-8")
    folder = (
        tmp_path / "home" / ".claude" / "projects" / "".join(sign if sign.isalnum() else "-" for sign in str(project))
    )
    write_log(folder / "one.jsonl", claude_log(project, [Said("Clean the table of vendors", skill="my-skill")]))
    (block,) = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    for line in block.splitlines():
        ended = skillopt(project, *line.split("#")[0].removeprefix("$ skillopt ").split())
        assert ended.returncode == 0, ended.stderr
    names = {task.id for _, task in load_suite(project / "suites" / "my-skill.jsonl").splits}

    assert any(name.startswith("clean-the-table-of") for name in names)
