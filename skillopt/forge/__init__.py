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

__all__ = ["FORGES", "ForgeAccount", "find_account", "load_forge", "repository_in"]

FORGES: Final = {
    "github": "skillopt.forge.github:GitHubForge",
    "none": "skillopt.forge.folder:FolderForge",
}
"""Name → `module:class` of every driver."""

_TOKENS: Final = ("GH_TOKEN", "GITHUB_TOKEN")
_API: Final = "https://api.github.com"
_REPOSITORY: Final = re.compile(r"(?:\A|[/:])(?P<repository>[\w.-]+/[\w.-]+?)(?:\.git)?/?\Z")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ForgeAccount:
    """API address and token of a forge; the token is left out of the representation.

    Args:
        api: Address of its API.
        web: Prefix of the addresses of its repositories.
        token: Token for the API and for git.
    """

    api: str
    web: str
    token: str = field(repr=False)


def find_account(settings: NightlySettings) -> ForgeAccount | None:
    """Find the API and the token that the settings and the environment name; None where there is no token.

    Raises:
        SettingsError: The address is not one that a token may be sent to.
    """
    api = (settings.forge_url or os.environ.get("GITHUB_API_URL") or _API).rstrip("/")
    parts = urlsplit(api)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        message = f"forge_url: expected an address with https, as in {_API}, found {mask(api)!r}; a token goes there"
        raise SettingsError(message)
    token = next(filter(None, map(os.environ.get, _TOKENS)), None)
    web = f"{parts.scheme}://{parts.netloc.removeprefix('api.')}/"
    return ForgeAccount(api, web, token.strip()) if token else None


def repository_in(url: str) -> str:
    """Give `owner/name` of a repository on a forge, from the address of a remote; empty where it has none.

    >>> [repository_in(url) for url in ("git@github.com:acme/skills.git", "https://github.com/acme/skills")]
    ['acme/skills', 'acme/skills']
    """
    if "://" not in url and "@" not in url:
        return ""  # a path of this machine
    found = None if url.startswith("file:") else _REPOSITORY.search(url)
    return found["repository"] if found else ""


def load_forge(settings: NightlySettings, url: str, folder: Path) -> Forge:
    """Import a driver and make a forge of it.

    Args:
        settings: Name the forge, and where it is.
        url: Address of the remote that branches are pushed to, empty for none.
        folder: Where the texts of pull requests are written when there is no forge.

    Raises:
        UsageError: There is no such forge, or its repository or token is missing.
    """
    name = settings.forge
    if name not in FORGES:
        near = get_close_matches(name, FORGES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {sorted(FORGES)}"
        raise SettingsError(f"expected the name of a forge, found {name!r}; {hint}")
    module, _, factory = FORGES[name].partition(":")
    driver = getattr(import_module(module), factory)
    if name == "none":
        return cast("Forge", driver(folder))  # the table names only forges
    account, repository = find_account(settings), repository_in(url) or os.environ.get("GITHUB_REPOSITORY", "")
    if account is None:
        message = f'forge {name!r}: expected a token in {" or ".join(_TOKENS)}, found none; set one, or forge = "none"'
        raise UsageError(message)
    if not repository:
        found = mask(url) or "no remote"
        message = f"forge {name!r}: expected a remote that names a repository, found {found!r}; set GITHUB_REPOSITORY"
        raise UsageError(message)
    return cast("Forge", driver(account, repository))  # as above
