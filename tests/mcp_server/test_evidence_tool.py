"""The tool `get_evidence`: a first answer of bounded size, then whole runs of the tasks that are asked for."""

from pathlib import Path

import pytest
from mcp import Client

from skillopt.skills.document import estimate_tokens
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import failed, say
from tests.fakes.projects import make_project, make_tidy_tables, skillopt

pytestmark = [pytest.mark.anyio, pytest.mark.process]

MOST_TOKENS = 4_000
"""Of a first answer for 72 tasks, besides the text of the skill."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_project(tmp_path_factory.mktemp("evidence") / "project")
    assert skillopt(folder, "evaluate", "rows", "--split", "train", "--repeats", "2").returncode == 0
    return folder


async def test_the_first_answer_for_72_tasks_fits_and_names_each_of_them(tmp_path: Path) -> None:
    folder = make_tidy_tables(tmp_path / "project", 72)
    assert skillopt(folder, "evaluate", "tidy-tables", "--split", "train").returncode == 0
    async with Client(make_server(folder)) as client:
        answer = await say(client, "get_evidence", name="tidy-tables")
    text = (folder / "skills" / "tidy-tables" / "SKILL.md").read_text()
    assert estimate_tokens(answer) - estimate_tokens(text) <= MOST_TOKENS
    assert [number for number in range(1, 73) if f"train-{number:03} " not in answer] == []
    assert "## A run of `train-" in answer


async def test_whole_runs_come_last_repeat_first_for_the_tasks_asked_for_and_no_other(measured: Path) -> None:
    async with Client(make_server(measured)) as client:
        answer = await say(client, "get_evidence", name="rows", tasks=["train1"])
        assert answer.count("### Task train1\n") == 2
        assert "train0" not in answer
        assert "tool write_file(output.csv)" in answer
        assert "page" not in answer


async def test_an_unknown_task_is_told_with_the_nearest_train_tasks_and_a_held_out_one_alike(measured: Path) -> None:
    async with Client(make_server(measured)) as client:
        for name, hint in (("trian1", "did you mean 'train1'"), ("val1", "")):
            told = await failed(client, "get_evidence", name="rows", tasks=[name])
            assert f"train tasks, found '{name}'" in told
            assert hint in told
            assert "'val" not in told.replace("found 'val1'", "")


async def test_a_task_that_was_not_measured_is_named(tmp_path: Path) -> None:
    async with Client(make_server(make_project(tmp_path / "project"))) as client:
        assert "Not measured yet: train1." in await say(client, "get_evidence", name="rows", tasks=["train1"])
