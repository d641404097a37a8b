"""Forges that hold pull requests, such as GitHub; one file per driver, imported on use.

Pushing and fetching is in versions, and the text of a pull request in reports.
"""

import os
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

from skillopt.errors import SettingsError, UsageError
from skillopt.protocols import Forge
from skillopt.safety.credentials import mask
from skillopt.settings import NightlySettings

FORGES: Final = {
    "github": "skillopt.nightly.github:GitHubForge",
    "none": "skillopt.nightly.folder_forge:FolderForge",
}
"""Name → `module:class` of every driver."""

_REPOSITORY: Final = re.compile(r"(?:\A|[/:])(?P<repository>[\w.-]+/[\w.-]+?)(?:\.git)?/?\Z")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_TOKENS: Final = ("GH_TOKEN", "GITHUB_TOKEN")
_API: Final = "https://api.github.com"

DRAFT_TITLE: Final = "Draft: "
"""What the title of a draft begins with, where a forge has no other sign of one."""

_MARK: Final = re.compile(r"<!-- skillopt: (?P<topic>[\w-]+) -->\r?\n")


@dataclass(frozen=True, slots=True)
class ForgeAccount:
    """API address and token of a forge; the token is left out of the representation."""

    api: str
    web: str
    token: str = field(repr=False)


def find_account() -> ForgeAccount | None:
    """Find GitHub's API and the token that the environment names; None for no token."""
    api = (os.environ.get("GITHUB_API_URL") or _API).rstrip("/")
    parts = urlsplit(api)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise SettingsError(
            f"GITHUB_API_URL: expected an address with https, as in {_API}, found {mask(api)!r}; a token goes there"
        )
    token = next(filter(None, map(os.environ.get, _TOKENS)), "")
    web = f"{parts.scheme}://{parts.netloc.removeprefix('api.')}/"
    return ForgeAccount(api, web, token.strip()) if token else None


def repository_in(url: str) -> str:
    """Return the name of a repository on GitHub, from the address of a remote; empty where it has none.

    >>> [repository_in(url) for url in ("git@github.com:acme/skills.git", "https://github.com/acme/skills")]
    ['acme/skills', 'acme/skills']
    """
    if "://" not in url and "@" not in url:
        return ""  # a path of this machine
    found = None if url.startswith("file:") else _REPOSITORY.search(url)
    return found["repository"] if found else ""


def load_forge(settings: NightlySettings, url: str, folder: Path) -> Forge:
    """Import a driver and make a forge of it."""
    name = settings.forge
    if name not in FORGES:
        near = get_close_matches(name, FORGES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {sorted(FORGES)}"
        raise SettingsError(f"expected the name of a forge, found {name!r}; {hint}")
    module, _, factory = FORGES[name].partition(":")
    account = None if name == "none" else find_account()
    if name != "none" and account is None:
        message = f"forge {name!r}: expected a token in {' or '.join(_TOKENS)}, found none"
        raise UsageError(f'{message}; set one, as in GH_TOKEN=$(gh auth token), or forge = "none"')
    try:
        driver = getattr(import_module(module), factory)
    except ModuleNotFoundError as error:
        message = f"forge {name!r}: expected the package {error.name!r}, found none"
        raise UsageError(f"{message}; install it: pip install 'PATH-OF-CLONE[{name}]'") from error
    if account is None:
        return cast("Forge", driver(folder))  # the table names only forges
    repository = repository_in(url) or os.environ.get("GITHUB_REPOSITORY", "")
    if not repository:
        found = mask(url) or "no remote"
        message = f"forge {name!r}: expected a remote that names a repository, found {found!r}"
        raise UsageError(f"{message}; set GITHUB_REPOSITORY")
    return cast("Forge", driver(account, repository))  # as above


def mark_of(text: str | None) -> tuple[str, str]:
    """Read topic and text; the topic is empty for a text without a mark."""
    found = _MARK.match(text or "")
    return (found["topic"], (text or "")[found.end() :]) if found else ("", text or "")
