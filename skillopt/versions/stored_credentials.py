"""Tokens that a repository's own configuration holds, where everything that runs beside it can read them."""

import re
from typing import Final

from skillopt.versions.git_process import read_config
from skillopt.versions.repository import Repository

__all__ = ["find_stored_credentials"]

_PASSWORD: Final = re.compile(r"https?://[^/@\s]*:[^/@\s]+@")


def find_stored_credentials(repository: Repository) -> tuple[str, ...]:
    """List the keys of git's configuration that hold a token: headers with a login, addresses with a password.

    A checkout that keeps its credentials leaves one there, and so may an address that somebody pasted.
    """
    headers = [
        key
        for key, value in read_config(repository.root, r"^http\..*extraheader$")
        if value.casefold().lstrip().startswith("authorization:")
    ]
    addresses = [
        key for key, value in read_config(repository.root, r"^remote\..*\.(push)?url$") if _PASSWORD.match(value)
    ]
    return (*headers, *addresses)
