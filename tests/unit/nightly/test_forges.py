"""Which forge a project has."""

import os
import sys
from pathlib import Path

import pytest

from skillopt.errors import SettingsError, UsageError
from skillopt.nightly.folder_forge import FolderForge
from skillopt.nightly.forges import find_account, load_forge
from skillopt.settings import NightlySettings

TOKEN = "ghp_" + "c3" * 18
URL = "https://github.com/acme/skills.git"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GH_TOKEN", "GITHUB_API_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)


@pytest.mark.parametrize("api", ["http://github.example.com/api/v3", "github.example.com", "ftp://127.0.0.1"])
def test_a_token_is_sent_over_https_only(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", api)
    with pytest.raises(SettingsError, match="expected an address with https"):
        find_account()


def test_what_is_missing_is_named_and_without_a_forge_texts_lie_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(load_forge(NightlySettings(), URL, tmp_path), FolderForge)
    with pytest.raises(SettingsError, match="did you mean 'github'"):
        load_forge(NightlySettings(forge="gihub"), URL, tmp_path)
    with pytest.raises(UsageError, match="found '/srv/skills'; set GITHUB_REPOSITORY"):
        load_forge(NightlySettings(forge="github"), "/srv/skills", tmp_path)
    monkeypatch.delenv("GITHUB_TOKEN")
    with pytest.raises(UsageError, match="expected a token in GH_TOKEN or GITHUB_TOKEN, found none"):
        load_forge(NightlySettings(forge="github"), URL, tmp_path)


def test_a_token_that_gh_or_git_keeps_for_this_user_is_used_outside_of_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "CI"):
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "gitconfig"
    helper = "!f() { grep -q host=github.example.com && echo username=me && echo password=kept-by-git; }; f"
    config.write_text(f'[credential]\n\thelper = "{helper}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GITHUB_API_URL", "https://github.example.com/api/v3")
    account = find_account()
    assert account is not None
    assert account.token == "kept-by-git"  # noqa: S105 - planted by this test
    monkeypatch.delenv("GITHUB_API_URL")
    assert find_account() is None
    monkeypatch.setenv("GITHUB_API_URL", "https://github.example.com/api/v3")
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\n[ "$*" = "auth token --hostname github.example.com" ] && echo kept-by-gh\n')
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    account = find_account()
    assert account is not None
    assert account.token == "kept-by-gh"  # noqa: S105 - planted by this test
    monkeypatch.setenv("CI", "true")
    assert find_account() is None


def test_a_forge_whose_package_is_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "skillopt.nightly.github", raising=False)
    monkeypatch.setitem(sys.modules, "github", None)  # as where it is not installed
    with pytest.raises(UsageError, match=r"\[github\]"):
        load_forge(NightlySettings(forge="github"), URL, tmp_path)
