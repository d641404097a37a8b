"""Lines of JSON on refs of their own, one ref a skill: they outlive branches, and two clones' lines join.

Such a ref leads to one blob. A checkout brings none of them, so they are fetched by name.
"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt.versions.git_process import run_git, translate_write_errors
from skillopt.versions.objects import read_found, write_blobs
from skillopt.versions.repository import SKILL_NAME, Repository


def objects_below(repository: Repository, refs: str) -> dict[str, str]:
    """Return the objects with lines below a prefix of refs, by the names of skills."""
    listed = run_git(repository.root, "for-each-ref", "--format=%(objectname) %(refname)", refs).decode()
    rows = (row.split(" ", 1) for row in listed.splitlines())
    return {name.removeprefix(refs): sha for sha, name in rows if SKILL_NAME.fullmatch(name.removeprefix(refs))}


def stored_lines(repository: Repository, sha: str) -> tuple[str, ...]:
    """Read the lines of an object, as they are; none where it is not here."""
    content = read_found(repository.root, [sha])[0] if sha else None
    return tuple((content or b"").decode("utf-8", "replace").splitlines())


def all_lines(repository: Repository, refs: str) -> dict[str, tuple[str, ...]]:
    """Read the lines of every skill that has some, by its name."""
    return {skill: stored_lines(repository, sha) for skill, sha in objects_below(repository, refs).items()}


def put_lines(repository: Repository, ref: str, known: str, lines: Iterable[str]) -> None:
    """Put lines in place of an object, which fails where the ref has moved."""
    content = "".join(f"{line}\n" for line in lines).encode()
    with translate_write_errors(), TemporaryDirectory(prefix="skillopt-git-") as folder:
        (written,) = write_blobs(repository.root, [content], Path(folder))
    if content and written != known:
        repository.move_branch(ref, known or None, written)
