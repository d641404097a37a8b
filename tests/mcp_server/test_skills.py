"""Accepted versions as skills and resources, in every version of the protocol."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, BlobResourceContents, TextResourceContents

from skillopt.errors import UsageError
from skillopt.tasks import File
from skillopt_mcp.catalogue import catalogue_of
from skillopt_mcp.server import make_server
from skillopt_mcp.tools import TOOLS
from tests.fakes.drafts import accepted, graded, run_events
from tests.fakes.mcp_clients import EVERY_PROTOCOL, accept, ask, failed, say
from tests.fakes.projects import git
from tests.fakes.repositories import FOLDER, make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.process]

MAIN = "skill://rows/SKILL.md"
TEXT = "---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n- Trim.\n- Sort.\n"


async def refused(client: Client, method: str, **params: object) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await ask(client, method, **params)
    return caught.value


async def content(client: Client, uri: str) -> bytes:
    (found,) = (await client.read_resource(uri)).contents
    if isinstance(found, TextResourceContents):
        return found.text.encode()
    assert isinstance(found, BlobResourceContents)
    return base64.b64decode(found.blob)


@EVERY_PROTOCOL
async def test_a_listed_skill_has_its_frontmatter_and_every_file_with_digest_and_size(client: Client) -> None:
    (skill,) = (await ask(client, "skills/list"))["skills"]

    assert skill["uri"] == MAIN
    assert skill["frontmatter"] == {"name": "rows", "description": "Rows."}
    assert [file["uri"] for file in skill["resources"]] == [MAIN, "skill://rows/run.sh"]
    for file in skill["resources"]:
        read = await content(client, file["uri"])
        assert file["size"] == len(read)
        assert file["digest"] == f"sha256:{hashlib.sha256(read).hexdigest()}"


async def test_frontmatter_is_given_as_it_was_written(project: Path, client: Client) -> None:
    given = b"description: >\n  Two\n  lines\nmetadata: {version: '2.10', when: 2026-01-02}\nn: [1, 2.5, yes, null]\n"
    accept(project, File("SKILL.md", b"---\nname: rows\n" + given + b"---\n"))
    (skill,) = (await ask(client, "skills/list"))["skills"]
    metadata = {"version": "2.10", "when": "2026-01-02"}
    found = {"name": "rows", "description": "Two lines\n", "metadata": metadata, "n": [1, 2.5, "yes", None]}
    assert skill["frontmatter"] == found


@EVERY_PROTOCOL
async def test_files_are_ordinary_resources_too(client: Client) -> None:
    main, script = (await client.list_resources()).resources

    assert (main.uri, main.name, main.description, main.mime_type) == (MAIN, "rows", "Rows.", "text/markdown")
    assert (script.name, script.size) == ("run.sh", 10)
    assert script.meta is not None
    assert script.meta["io.github.skillopt/digest"].startswith("sha256:")
    assert await content(client, MAIN) == TEXT.encode()


async def test_a_skill_without_accepted_version_is_served_as_it_is_committed(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    git(folder, "branch", "skillopt/rows")
    (folder / FOLDER / "SKILL.md").write_text("Not committed.\n", encoding="utf-8")
    main = git(folder, "rev-parse", "main")

    async with Client(make_server(folder)) as client:
        (entry,) = (await ask(client, "skills/list"))["skills"]
        assert entry == (await ask(client, "skills/get", uri=MAIN))["skill"]
        for resource in (await client.list_resources()).resources:
            assert resource.meta is not None
            assert resource.meta["io.github.skillopt/version"] == main
            assert resource.meta["io.github.skillopt/trained"] is False
        assert b"Not committed" not in await content(client, MAIN)


async def test_bytes_that_are_not_text_come_as_a_blob(project: Path, client: Client) -> None:
    files = {"logo.png": b"\x89PNG\r\n\x1a\n\xff", "data.bin": b"a\0b", "odd name ü.txt": "\ufeffüber\r\n".encode()}
    accept(project, *(File(path, body) for path, body in files.items()))

    (skill,) = (await ask(client, "skills/list"))["skills"]
    uris = [file["uri"] for file in skill["resources"]]

    assert [uri.rpartition("/")[2] for uri in uris[1:4]] == ["data.bin", "logo.png", "odd%20name%20%C3%BC.txt"]
    for path, uri in zip(sorted(files), uris[1:4], strict=True):
        assert await content(client, uri) == files[path]
    (png,) = (await client.read_resource("skill://rows/logo.png")).contents
    assert isinstance(png, BlobResourceContents)
    assert png.mime_type == "image/png"


async def test_symbolic_links_are_not_followed_or_served(project: Path, client: Client) -> None:
    (project / FOLDER / "secret").symlink_to("/etc/hostname")
    (project / FOLDER / "up").symlink_to("../..")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Links")
    git(project, "branch", "--delete", "--force", "skillopt/rows")
    accept(project, text="- Sort.\n")
    assert "120000" in git(project, "ls-tree", "-r", "skillopt/rows")

    (skill,) = (await ask(client, "skills/list"))["skills"]

    assert [file["uri"] for file in skill["resources"]] == [MAIN, "skill://rows/run.sh"]
    for uri in ("skill://rows/secret", "skill://rows/up", "skill://rows/up/README"):
        assert (await refused(client, "resources/read", uri=uri)).code == INVALID_PARAMS


@pytest.mark.parametrize("document", [b"No frontmatter.\n", b'---\nname: rows\ndescription: "\\ud800"\n---\n'])
async def test_what_hosts_take_for_no_skill_is_served_as_files(project: Path, client: Client, document: bytes) -> None:
    accept(project, File("SKILL.md", document))
    assert (await ask(client, "skills/list"))["skills"] == []
    assert (await refused(client, "skills/get", uri=MAIN)).code == INVALID_PARAMS
    assert await content(client, MAIN) == document


async def test_long_lists_come_in_pages(project: Path, client: Client) -> None:
    names = [f"skill-{number:02}" for number in range(23)]
    for name in names:
        (project / "skills" / name).mkdir()
        (project / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: D.\n---\n")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "More")
    for name in names:
        accept(project, text="More.\n", skill=name)
    accept(project, *(File(f"f{number:03}", b"") for number in range(250)))

    async def pages(method: str, key: str) -> list[list[dict[str, Any]]]:
        found: list[list[dict[str, Any]]] = []
        more: dict[str, str] = {}
        while True:
            answer = await ask(client, method, **more)
            found.append(answer[key])
            if "nextCursor" not in answer:
                return found
            more = {"cursor": answer["nextCursor"]}

    skills = await pages("skills/list", "skills")
    assert [len(page) for page in skills] == [20, 4]
    assert [skill["frontmatter"]["name"] for page in skills for skill in page] == ["rows", *names]
    resources = await pages("resources/list", "resources")
    assert [len(page) for page in resources] == [271, 4]
    assert len({found["uri"] for page in resources for found in page}) == 275
    for method in ("skills/list", "resources/list"):
        assert (await refused(client, method, cursor="made up")).code == INVALID_PARAMS


async def test_what_people_committed_on_top_of_a_version_is_not_served(project: Path, client: Client) -> None:
    tree = git(project, "rev-parse", "main^{tree}")
    stray = git(project, "commit-tree", "-p", "skillopt/rows", "-m", "By hand", tree)
    git(project, "update-ref", "refs/heads/skillopt/rows", stray)

    assert await content(client, MAIN) == TEXT.encode()
    with pytest.raises(UsageError, match="accepted version"):
        catalogue_of(project).read("rows", stray)


EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD."


async def test_the_draft_is_listed_and_read_with_a_warning_and_compared_with_what_it_is_based_on(folder: Path) -> None:
    run_events(folder, accepted(EMAIL), graded(EMAIL, DATES))
    async with Client(make_server(folder)) as client:
        listed = await say(client, "list_skills", name="rows")
        shown = await say(client, "read_skill", name="rows", version="draft")
        changed = await say(client, "read_skill", name="rows", version="draft", since="start")
    assert ("likely better (91%)" in listed, "`skillopt take rows`" in listed) == (True, True)
    assert not any("take" in tool.name for tool in TOOLS)
    assert ("accepted and not served" in shown, DATES in shown, "skill://" in shown) == (True, True, False)
    assert (f"+- {DATES}" in changed, f"+- {EMAIL}" in changed) == (True, False)


async def test_beside_a_draft_the_committed_text_is_served_and_nothing_goes_back_to_the_draft(folder: Path) -> None:
    run_events(folder, graded(EMAIL))
    async with Client(make_server(folder)) as client:
        listed = (await client.list_resources()).resources
        served = {(resource.meta or {})["io.github.skillopt/version"] for resource in listed}
        assert served == {git(folder, "rev-parse", "main")}
        assert "Not trained" in await say(client, "read_skill", name="rows")
        assert "accepted version" in await failed(client, "rollback_skill", name="rows", version="draft")


async def test_many_skills_come_in_pages_that_name_each_once(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    for number in range(230):
        made = folder / "skills" / f"skill-{number:04}"
        made.mkdir()
        (made / "SKILL.md").write_text(f"---\nname: {made.name}\ndescription: D.\n---\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Many")
    async with Client(make_server(folder)) as client:
        pages = [await say(client, "list_skills", page=number) for number in (1, 2, 3)]
        rows = [line.split()[1] for page in pages for line in page.splitlines() if line.startswith("| skill-")]
        assert rows == [f"skill-{number:04}" for number in range(230)]
        assert all(len(page.encode()) < 40_000 for page in pages)
        assert "from 1 to 3, found 4" in await failed(client, "list_skills", page=4)


async def test_what_is_served_untrained_is_the_default_branch_and_not_what_is_checked_out(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    git(folder, "update-ref", "refs/remotes/origin/main", "main")
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(folder, "checkout", "--quiet", "-b", "feature")
    (folder / FOLDER / "SKILL.md").write_text("Feature.\n")
    git(folder, "commit", "--quiet", "--all", "-m", "Feature")
    async with Client(make_server(folder)) as client:
        assert "Feature." not in await say(client, "read_skill", name="rows")
        git(folder, "symbolic-ref", "-d", "refs/remotes/origin/HEAD")
        assert "text of branch main" in await say(client, "read_skill", name="rows")
        git(folder, "branch", "--move", "main", "trunk")
        assert "text of branch origin/main" in await say(client, "read_skill", name="rows")
        git(folder, "update-ref", "-d", "refs/remotes/origin/main")
        assert "Feature." in await say(client, "read_skill", name="rows")
        git(folder, "branch", "--move", "trunk", "main")
        git(folder, "branch", "--move", "skillopt-draft/rows")
        assert "Feature." not in await say(client, "read_skill", name="rows")
