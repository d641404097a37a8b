"""Before a release: the same name and version everywhere, and a name on the index that is free or ours."""

import shutil
from pathlib import Path

import pytest

from skillopt import __version__
from tools.check_release import check_names

ROOT = Path(__file__).resolve().parents[2]


def test_names_and_versions_of_this_checkout_agree() -> None:
    assert list(check_names(ROOT, __version__)) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("server.json", '"identifier": "skillopt-mcp"', '"identifier": "skillopt"', "the name of the package"),
        ("server.json", f'"version": "{__version__}"', '"version": "9.9.9"', "the version in server.json"),
        ("README.md", "mcp-name: io.github.skillopt", "mcp-name: io.github.else", "the server's name in README.md"),
    ],
)
def test_what_disagrees_is_named_with_both_values(tmp_path: Path, file: str, old: str, new: str, problem: str) -> None:
    for name in ("pyproject.toml", "server.json", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    changed = (tmp_path / file).read_text(encoding="utf-8").replace(old, new)
    (tmp_path / file).write_text(changed, encoding="utf-8")
    found = list(check_names(tmp_path, __version__))
    assert any(one.startswith(problem) and "expected" in one and "found" in one for one in found)


def test_a_tag_of_another_version_or_without_a_heading_in_the_changelog_is_refused() -> None:
    found = list(check_names(ROOT, "7.7.7", "v0.0.1"))
    assert any(one.startswith("the tag: expected 'v7.7.7'") for one in found)
    assert any(one.startswith("CHANGELOG.md: expected a heading") for one in found)
