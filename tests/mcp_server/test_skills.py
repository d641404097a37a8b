import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, BlobResourceContents, TextResourceContents

from skillopt.tasks import File
from skillopt_mcp.server import make_server
from tests.fakes.mcp_clients import EVERY_PROTOCOL, accept, ask
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
    document = (
        b"---\nname: rows\ndescription: >\n  Two\n  lines\n"
        b"metadata:\n  version: '2.10'\n  when: 2026-01-02\nn: [1, 2.5, yes, null]\n---\n"
    )
    accept(project, File("SKILL.md", document))

    (skill,) = (await ask(client, "skills/list"))["skills"]

    assert skill["frontmatter"] == {
        "name": "rows",
        "description": "Two lines\n",
        "metadata": {"version": "2.10", "when": "2026-01-02"},
        "n": [1, 2.5, "yes", None],
    }


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
        committed = await content(client, MAIN)
        assert b"Not committed" not in committed
        assert committed == await content(client, f"skill://_versions/{main}/rows/SKILL.md")


async def test_an_older_version_is_read_at_its_own_address(project: Path, client: Client) -> None:
    old = git(project, "rev-parse", "skillopt/rows")
    new = accept(project, text="- Count.\n")

    assert await content(client, f"skill://_versions/{old}/rows/SKILL.md") == TEXT.encode()
    assert await content(client, MAIN) == TEXT.encode() + b"- Count.\n"
    entry = (await ask(client, "skills/get", uri=f"skill://_versions/{old[:10]}/rows/SKILL.md"))["skill"]
    assert [file["uri"] for file in entry["resources"]] == [
        f"skill://_versions/{old[:10]}/rows/SKILL.md",
        f"skill://_versions/{old[:10]}/rows/run.sh",
    ]
    (listed,) = (await ask(client, "skills/list"))["skills"]
    assert listed["uri"] == MAIN
    assert listed == (await ask(client, "skills/get", uri=MAIN))["skill"]
    git(project, "checkout", "--quiet", "-b", "other")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
    other_branch = git(project, "rev-parse", "other")
    git(project, "checkout", "--quiet", "main")
    for other in (other_branch, new[:6], "0" * 40):
        assert (
            await refused(client, "skills/get", uri=f"skill://_versions/{other}/rows/SKILL.md")
        ).code == INVALID_PARAMS


async def test_bytes_that_are_not_text_come_as_a_blob(project: Path, client: Client) -> None:
    files = {"logo.png": b"\x89PNG\r\n\x1a\n\xff", "data.bin": b"a\0b", "odd name ü.txt": "\ufeffüber\r\n".encode()}
    accept(project, *(File(path, body) for path, body in files.items()))

    (skill,) = (await ask(client, "skills/list"))["skills"]
    uris = [file["uri"] for file in skill["resources"]]

    assert uris == [
        MAIN,
        "skill://rows/data.bin",
        "skill://rows/logo.png",
        "skill://rows/odd%20name%20%C3%BC.txt",
        "skill://rows/run.sh",
    ]
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


@pytest.mark.parametrize(
    "document",
    [
        b"No frontmatter.\n",
        b"---\nname: other\ndescription: Rows.\n---\n",
        b'---\nname: rows\ndescription: "\\ud800"\n---\n',
    ],
)
async def test_what_hosts_would_not_take_for_a_skill_is_served_as_files(
    project: Path, client: Client, document: bytes
) -> None:
    accept(project, File("SKILL.md", document))

    assert (await ask(client, "skills/list"))["skills"] == []
    assert (await refused(client, "skills/get", uri=MAIN)).code == INVALID_PARAMS
    assert MAIN in [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert await content(client, MAIN) == document


async def test_long_lists_come_in_pages(project: Path, client: Client) -> None:
    names = [f"skill-{number:02}" for number in range(23)]
    for name in names:
        (project / "skills" / name).mkdir()
        (project / "skills" / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: D.\n---\n", encoding="utf-8"
        )
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
    assert [len(page) for page in resources] == [200, 75]
    assert len({found["uri"] for page in resources for found in page}) == 275
    for method in ("skills/list", "resources/list"):
        assert (await refused(client, method, cursor="made up")).code == INVALID_PARAMS


async def test_what_people_committed_on_top_of_a_version_is_not_served(project: Path, client: Client) -> None:
    tree = git(project, "rev-parse", "main^{tree}")
    stray = git(project, "commit-tree", "-p", "skillopt/rows", "-m", "By hand", tree)
    git(project, "update-ref", "refs/heads/skillopt/rows", stray)

    assert await content(client, MAIN) == TEXT.encode()
    assert (
        await refused(client, "resources/read", uri=f"skill://_versions/{stray}/rows/SKILL.md")
    ).code == INVALID_PARAMS
