import json
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest
from mcp import Client

from skillopt.tasks import File
from skillopt_mcp.server import make_server
from skillopt_mcp.tools import TOOLS
from tests.fakes.mcp_clients import EVERY_PROTOCOL, accept, failed, say
from tests.fakes.projects import git, make_project
from tests.fakes.repositories import FOLDER

pytestmark = pytest.mark.anyio

# By tool: read-only, destructive, idempotent, open world.
HINTS = {
    "list_skills": (True, False, True, False),
    "read_skill": (True, False, True, False),
    "start_job": (False, False, False, True),
    "job_status": (True, False, True, False),
    "cancel_job": (False, True, False, False),
    "get_evidence": (False, False, True, False),
    "propose_edits": (False, False, False, True),
    "rollback_skill": (False, True, False, False),
}


def configure(folder: Path, old: str, new: str) -> None:
    """Replace a line of skillopt.toml; without an old one, put the new one first."""
    config = folder / "skillopt.toml"
    config.write_text(config.read_text().replace(old, new, 1))


@EVERY_PROTOCOL
async def test_every_tool_says_what_it_does_to_the_world(client: Client) -> None:
    tools = (await client.list_tools()).tools

    assert len(tools) == len(TOOLS) <= 8
    for tool in tools:
        hints = tool.annotations
        assert hints is not None
        assert tool.meta == {"anthropic/alwaysLoad": True}
        assert tool.output_schema is None
        assert tool.title
        assert 0 < len(tool.description or "") < 300
        assert "folder" not in tool.input_schema["properties"]
        assert tool.input_schema["additionalProperties"] is False
        shown = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert shown == HINTS[tool.name]
    sent = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
    assert len(sent.encode()) / 4 <= 3_000  # tokens, at four bytes each


async def test_the_list_shows_versions_scores_and_suites(client: Client, project: Path) -> None:
    version = git(project, "rev-parse", "skillopt/rows")

    text = await say(client, "list_skills")

    gained = "4 → 6 of 8 tasks passed"
    assert f"{version[:10]} | {gained}" in text
    assert " | skills/rows/evals/evals.json | skills/rows" in text


async def test_outside_a_repository_the_list_says_how_to_begin(tmp_path: Path) -> None:
    async with Client(make_server(tmp_path)) as client:
        text = await say(client, "list_skills")

        assert "git init" in text
        assert "SKILL.md" in text
        assert "expected a git repository" in await failed(client, "read_skill", name="rows")


async def test_reading_shows_the_accepted_text_quoted(client: Client, project: Path) -> None:
    (project / FOLDER / "SKILL.md").write_text("draft", encoding="utf-8")

    text = await say(client, "read_skill", name="rows")

    assert "```markdown\n---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n- Trim.\n- Sort.\n```" in text
    assert "Other files: run.sh" in text


async def test_long_files_come_in_pages_under_the_limit(client: Client, project: Path) -> None:
    lines = [f"{number} " + "ü" * 40 for number in range(2000)]
    accept(project, File("long.md", "\n".join(lines).encode()))

    first = await say(client, "read_skill", name="rows", file="long.md")
    assert "call again with page=2" in first
    pages = [await say(client, "read_skill", name="rows", file="long.md", page=number) for number in range(1, 9)]

    assert all(len(page.encode()) / 3 < 10_000 for page in pages)
    assert [line for page in pages for line in page.splitlines() if line.endswith("ü")] == lines
    assert "page from 1 to 8, found 9" in await failed(client, "read_skill", name="rows", file="long.md", page=9)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "row"}, "did you mean 'rows'?"),
        ({"name": "/etc"}, "expected the name of a skill"),
        ({"name": "rows", "file": "../../README"}, "expected a file of rows"),
        ({"name": "rows", "file": "evals/evals.json"}, "expected a file of rows"),
        ({"name": "rows", "version": "main"}, "found none"),
        ({"name": "rows", "page": 0}, "a number of at least 1"),
    ],
)
async def test_what_cannot_be_read_is_told(client: Client, arguments: dict[str, object], told: str) -> None:
    assert told in await failed(client, "read_skill", **arguments)


async def test_the_history_shows_what_changed_between_versions_but_not_evals(client: Client, project: Path) -> None:
    old = git(project, "rev-parse", "skillopt/rows")
    new = accept(project, File("evals/evals.json", b'{"secret": 1}\n'), text="- Count.\n")

    changed = await say(client, "read_skill", name="rows", since=old, version=new)
    assert "+- Count." in changed
    assert "secret" not in changed
    assert "The two are equal." in await say(client, "read_skill", name="rows", since=new)
    for version in ("main", "worktree", "HEAD"):
        assert "expected one accepted version" in await failed(client, "read_skill", name="rows", since=version)


async def test_what_training_changed_in_all_is_shown_from_the_text_it_began_with(client: Client, project: Path) -> None:
    accept(project, text="- Count.\n")
    changed = await say(client, "read_skill", name="rows", since="start")
    assert "+- Sort.\n+- Count." in changed
    assert f"# rows: {git(project, 'rev-parse', 'main')[:10]} to " in changed


async def test_rolling_back_publishes_the_older_text_again(client: Client, project: Path) -> None:
    old = git(project, "rev-parse", "skillopt/rows")
    new = accept(project, text="- Count.\n")
    head = git(project, "rev-parse", "HEAD")

    told = await say(client, "rollback_skill", name="rows", version=old[:10])

    tip = git(project, "rev-parse", "skillopt/rows")
    assert (git(project, "rev-parse", "skillopt/rows^"), tip[:10] in told) == (new, True)
    assert git(project, "diff", old, tip) == ""
    assert (git(project, "rev-parse", "HEAD"), git(project, "status", "--porcelain")) == (head, "")
    for version in (old, head):
        await failed(client, "rollback_skill", name="rows", version=version)
    await say(client, "rollback_skill", name="rows", version="start")
    assert git(project, "diff", head, "skillopt/rows", "--", "skills/rows") == ""


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda folder: (folder / "suites" / "rows.jsonl").unlink(),
            "- next: write tasks, as the prompt `write-evals`",
        ),
        (
            lambda folder: configure(folder, 'harness = "demo"', ""),
            "- target: none is set: `harness` in skillopt.toml ",
        ),
        (lambda folder: configure(folder, 'model = "demo"', ""), "- target: `demo`; you propose the edits"),
        (lambda folder: configure(folder, "", "max_rollouts = 300\n"), "- cap: set in skillopt.toml"),
        (lambda folder: rmtree(folder / ".git"), "- next: run `git init` and commit the skill"),
    ],
    ids=["no tasks", "no target", "no model", "capped", "no git"],
)
async def test_what_a_skill_lacks_is_said_with_the_next_step(
    tmp_path: Path, change: Callable[[Path], None], line: str
) -> None:
    folder = make_project(tmp_path / "project")
    change(folder)
    async with Client(make_server(folder)) as client:
        assert line in await say(client, "list_skills", name="rows")
