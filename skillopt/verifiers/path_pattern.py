"""Match a path with a pattern of paths: `*`, `?` and `[...]` within a name, `**` for any number of folders."""

from fnmatch import fnmatchcase

__all__ = ["fits_path"]


def fits_path(path: str, pattern: str) -> bool:
    """Return whether a path fits a pattern, part by part; `**` stands for any number of folders.

    >>> [fits_path(path, "src/**/*.py") for path in ("src/a.py", "src/b/c/a.py", "a.py")]
    [True, True, False]
    """
    if path == pattern:
        return True
    globs = pattern.split("/")
    at = _passing({0}, globs)
    for part in path.split("/"):
        here = {each for each in at if each < len(globs) and globs[each] == "**"}
        next_ = {each + 1 for each in at - here if each < len(globs) and fnmatchcase(part, globs[each])}
        at = _passing(here | next_, globs)
    return len(globs) in at


def _passing(places: set[int], globs: list[str]) -> set[int]:
    """Add the places that are reached where `**` stands for no folder at all."""
    reached = set(places)
    for at, glob in enumerate(globs):
        if at in reached and glob == "**":
            reached.add(at + 1)
    return reached
