"""How many skills of real repositories are found, loaded and can be trained, and why the others are not.

python -m benchmarks.corpus FOLDER...

Each folder is a checkout, or holds checkouts. Nothing is fetched, run or written. Every SKILL.md on the disk should be
found, but for those in folders that tools keep for themselves and those that git ignores.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import RepositoryError, SkillError
from skillopt.project import Project
from skillopt.skills.folder import SKILL_FILE, find_skill_folders, read_skill
from skillopt.skills.frontmatter import listed_description
from skillopt.skills.validation import check_trainable
from skillopt.versions.repository import Repository

__all__ = ["Checkout", "main", "measure_checkout", "table"]

_HEAD: Final = ("repository", "SKILL.md", "found", "links", "loaded", "trained", "listed", "seconds")


@dataclass(frozen=True, slots=True)
class Checkout:
    """What became of the skills of one checkout.

    Args:
        name: Its folder's name.
        files: Every SKILL.md that is there.
        found: Skills that discovery lists.
        linked: Those of `files` that are a symbolic link to the SKILL.md of another skill that is listed.
        loaded: Skills of which every file that ships was read.
        trainable: Skills that training takes.
        described: Skills that have something to be listed by.
        seconds: What listing them took.
        missing: Folders with a SKILL.md that are neither found nor such a link.
        refused: Folder and reason of each skill that was found and not loaded, or cannot be trained.
        partial: Folder and reason of what was left out of a skill that was loaded.
    """

    name: str
    files: int
    found: int
    linked: int
    loaded: int
    trainable: int
    described: int
    seconds: float
    missing: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    partial: tuple[tuple[str, str], ...]


def measure_checkout(folder: Path) -> Checkout:
    """List and read every skill of a checkout."""
    project = Project.find(folder)
    begun = time.perf_counter()
    skills = project.discover().skills
    seconds = time.perf_counter() - begun
    paths = {skill.path for skill in skills}
    here, private = _present(folder), _private(folder)
    linked = {path for path in here - paths if _leads_to(folder, path) in paths}
    refused, partial, loaded, trainable, described = [], [], 0, 0, 0
    for skill in skills:
        try:
            read = read_skill(folder / skill.path, project.root, private)
            loaded += 1
            described += bool(listed_description(read.document))
            partial += [(skill.path, reason) for reason in read.left_out]
            check_trainable(read)
            trainable += 1
        except SkillError as error:
            refused.append((skill.path, str(error).replace(str(folder), ".")))
    counts = (len(here), len(skills), len(linked), loaded, trainable, described)
    missing = tuple(sorted(here - paths - linked))
    return Checkout(folder.name, *counts, seconds, missing, tuple(refused), tuple(partial))


def table(checkouts: Sequence[Checkout]) -> Iterator[str]:
    """Write the counts as lines, their sums last, and then what was not found, not read whole, or refused."""
    rows = [_row(one) for one in checkouts]
    sums = [sum(getattr(one, name) for one in checkouts) for name in ("files", "found", "linked", "loaded")]
    sums += [sum(one.trainable for one in checkouts), sum(one.described for one in checkouts)]
    slowest = max((one.seconds for one in checkouts), default=0.0)
    rows.append((f"{len(checkouts)} repositories", *map(str, sums), f"≤ {slowest:.2f}"))
    for name, *numbers in (_HEAD, *rows):
        yield f"{name:<50}" + "".join(f"{number:>10}" for number in numbers)
    for title, pairs in (
        ("not found", [(one.name, (path, "")) for one in checkouts for path in one.missing]),
        ("in part", [(one.name, pair) for one in checkouts for pair in one.partial]),
        ("refused", [(one.name, pair) for one in checkouts for pair in one.refused]),
    ):
        yield f"\n{title}: {len(pairs)}"
        yield from (f"  {name}/{path}{f': {reason}' if reason else ''}" for name, (path, reason) in pairs)


def main(arguments: Sequence[str]) -> int:
    """Measure the checkouts in some folders and print what was found."""
    if not arguments:
        print("expected folders of checkouts; see the head of benchmarks/corpus.py", file=sys.stderr)
        return 2
    checkouts = []
    for folder in _checkouts(map(Path, arguments)):
        print(folder, file=sys.stderr, flush=True)
        checkouts.append(measure_checkout(folder.resolve()))
    print("\n".join(table(checkouts)))
    return 0


def _row(one: Checkout) -> tuple[str, ...]:
    counts = (one.files, one.found, one.linked, one.loaded, one.trainable, one.described)
    return (one.name, *map(str, counts), f"{one.seconds:.2f}")


def _checkouts(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        inside = sorted(path for path in folder.iterdir() if (path / ".git").exists())
        yield from [folder] if (folder / ".git").exists() or not inside else inside


def _present(folder: Path) -> set[str]:
    """List the folders with a SKILL.md by a walk of the disk, which asks git only for what it ignores."""
    found = [path for path in find_skill_folders(folder) if (folder / path / SKILL_FILE).is_file()]
    private = _private(folder)
    ignored = private([folder / path / SKILL_FILE for path in found]) if private else ()
    return {path for path in found if folder / path / SKILL_FILE not in ignored}


def _private(folder: Path) -> Callable[[Sequence[Path]], frozenset[Path]] | None:
    """Give what tells the files that git ignores, which are no part of a skill."""
    try:
        return Repository.find(folder).ignored
    except RepositoryError:
        return None


def _leads_to(folder: Path, path: str) -> str:
    """Give the skill folder to which the SKILL.md of a folder leads, empty for none."""
    real = (folder / path / SKILL_FILE).resolve()
    inside = real.name == SKILL_FILE and real.is_relative_to(folder.resolve())
    return real.parent.relative_to(folder.resolve()).as_posix() if inside else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
