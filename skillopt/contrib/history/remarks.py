"""Read review comments of pull requests, and tell which of them led to a change of code in the same place."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Annotated, Any, Final

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skillopt.errors import UsageError

_BOT: Final = re.compile(
    r"\[bot\]$|(?:^|[-_.])bot(?:$|[-_.])|^(?:copilot|codecov|sonarcloud|dependabot|renovate)\b", re.IGNORECASE
)
_PULL: Final = re.compile(r"(?:/(?:pull|pulls|merge_requests)/|\A)(\d+)")
_NEAR: Final = 2
"""Lines beside those that a remark stands at in which a change still answers it."""

_QUOTES: Final = str.maketrans("'`\u2018\u2019\u201c\u201d", '""""""')
_IMPORT: Final = re.compile(r"\s*(?:import|from|use|using|require|#\s*include|export)\b")


def _pull_number(value: object) -> int:
    found = _PULL.search(str(value))
    return int(found[1]) if found else 0


def _named(*names: str, default: object = "") -> Any:  # noqa: ANN401 - pydantic's type of a field
    return Field(default, validation_alias=AliasChoices(*(AliasPath(*name.split(".")) for name in names)))


class Remark(BaseModel):
    """A review comment as GitHub's API gives it, or with the shorter names of an exported file.

    Args:
        commit: What it was said of.
        later: What the pull request ended as.
        title: Of the pull request, as is `description`.
        before: The file as it was then; `after`, as it became.
    """

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    text: str = _named("body", "text", default=...)
    path: str
    id: str = ""
    author: str = _named("user.login", "author")
    kind: str = _named("user.type")
    url: str = _named("html_url", "url")
    at: str = _named("created_at", "at")
    pull: Annotated[int, BeforeValidator(_pull_number)] = _named("pull", "pull_request_url", "html_url", default=0)
    pull_author: str = ""
    replies_to: str = _named("in_reply_to_id")
    side: str = ""
    first: int = _named("original_start_line", "start_line", default=0)
    line: int = _named("original_line", "line", default=0)
    commit: str = _named("original_commit_id", "commit")
    later: str = _named("later", "commit_id")
    title: str = ""
    description: str = ""
    before: str | None = None
    after: str | None = None


def read_rows(text: str) -> Iterator[Mapping[str, Any]]:
    """Read JSON lines, one JSON list, or several after another, as `gh api --paginate` writes them."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            found, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise ValueError(f"no JSON in line {text.count(chr(10), 0, at) + 1}: {text[at : at + 40]!r}") from error
        pages = found if isinstance(found, list) else [found]
        yield from (row for page in pages for row in (page if isinstance(page, list) else [page]))


def read_remarks(rows: Iterable[Mapping[str, Any]], left_out: Counter[str]) -> Iterator[Remark]:
    """Read what people said first about lines of a file; the rest is counted by its reason."""
    for number, row in enumerate(rows, 1):
        try:
            one = Remark.model_validate({key: value for key, value in row.items() if value is not None})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"])) or "a review comment"
            keys = "the keys that are read: `skillopt docs history`"
            raise UsageError(f"review comment {number}: {key}: {first['msg']}; {keys}") from error
        if one.kind == "Bot" or _BOT.search(one.author):
            left_out["of bots"] += 1
        elif one.replies_to or (one.author and one.author == one.pull_author):
            left_out["replies or of the author"] += 1
        elif not one.line or one.side == "LEFT" or not one.path.isprintable():
            left_out["on no line of the new file"] += 1
        else:
            yield one


def settled_by(remark: Remark) -> tuple[str, str]:
    """Return the lines that were removed and those that were added in the place of a remark; empty for no change."""
    if remark.before is None or remark.after is None:
        return "", ""
    old, new = remark.before.splitlines(), remark.after.splitlines()
    gone, come = list[str](), list[str]()
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        begins = (remark.first or remark.line) - _NEAR
        if kind != "equal" and start < remark.line + _NEAR and end >= begins:
            gone += old[start:end]
            come += new[first:last]
    return "\n".join(gone), "\n".join(come)


def is_formatting(gone: str, come: str) -> bool:
    r"""Return whether lines differ in white space, quotes or the order of imports only, as formatters change them.

    >>> is_formatting("import b\nimport a", "import a\nimport b"), is_formatting("f('x',y)", 'f("x", y)')
    (True, True)
    >>> is_formatting("f(x)", "f(y)")
    False
    """
    return _bare(gone) == _bare(come)


def _bare(lines: str) -> tuple[str, tuple[str, ...]]:
    plain = lines.translate(_QUOTES).splitlines()
    imports = sorted("".join(line.split()) for line in plain if _IMPORT.match(line))
    rest = "".join(line for line in plain if not _IMPORT.match(line))
    return re.sub(r"\s+|,(?=\s*[)\]}])", "", rest), tuple(imports)
