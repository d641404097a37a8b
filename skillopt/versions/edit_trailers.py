"""Edits of a version as trailers of its commit, `Edit-1:` and so on, and read back from them without the ledger.

Each is an edit in compact JSON on one line. Signs that a forge would act on are escaped, so no text forges a mention.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.errors import EditError
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op
from skillopt.versions.commit_message import Version

__all__ = ["EditKey", "edit_trailers", "edits_between", "edits_of", "read_edit", "write_edit"]

_LONGEST: Final = 100_000
"""Characters of all edits of one commit; of a version that has more, the edits are told from its text."""

_LONGEST_REASON: Final = 600
_MOST_TASKS: Final = 24
_NAME: Final = re.compile(r"Edit-[1-9][0-9]{0,3}")
_KEY: Final = re.compile(r"([0-9a-f]{12})/([1-9][0-9]{0,3})")
_ACTIVE: Final = re.compile(r"(?<= ) |[@#]|(?<=[Gg][Hh])-|/(?=(?:issues|pull)\b)")


@dataclass(frozen=True, slots=True, order=True)
class EditKey:
    """Name of an edit: the first 12 digits of its version's commit, and its place among the edits there, from 1."""

    version: str
    index: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read a key as in `0123456789ab/2`; None for anything else."""
        found = _KEY.fullmatch(text)
        return cls(found[1], int(found[2])) if found else None

    def __str__(self) -> str:
        """Write it as it is read."""
        return f"{self.version}/{self.index}"


class _Written(BaseModel):
    """An edit as it stands in a trailer."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: str
    op: str
    anchor: str = ""
    section: str = ""
    content: str = ""
    rationale: str = ""
    tasks: list[str] = []


def write_edit(edit: Edit) -> str:
    """Write an edit as JSON on one line; its reason and its list of tasks are cut where they are long."""
    fields = asdict(edit)
    del fields["line_tasks"]
    fields["op"] = edit.op.value
    fields["rationale"] = edit.rationale[:_LONGEST_REASON]
    fields["tasks"] = edit.tasks[:_MOST_TASKS]
    kept = {name: value for name, value in fields.items() if value}
    written = json.dumps(kept, ensure_ascii=True, separators=(",", ":"))
    # A trailer is folded to one line with single blanks, and a forge acts on what looks like a name or an issue.
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def read_edit(text: str) -> Edit | None:
    """Read an edit from JSON; None where somebody changed it so that it is none."""
    try:
        found = _Written.model_validate_json(text)
        return Edit(
            found.id,
            Op(found.op),
            found.anchor,
            found.section,
            found.content,
            found.rationale,
            tuple(found.tasks),
        )
    except (ValidationError, EditError, ValueError):
        return None


def edit_trailers(edits: Sequence[Edit]) -> tuple[tuple[str, str], ...]:
    """List the trailers that name the edits of a version; none where they are too long for a commit."""
    rows = tuple((f"Edit-{number}", write_edit(edit)) for number, edit in enumerate(edits, 1))
    return rows if sum(len(text) for _, text in rows) <= _LONGEST else ()


def edits_of(version: Version) -> tuple[Edit, ...]:
    """Read the edits that a commit names; empty where it names none, or one of them cannot be read."""
    written = [read_edit(value) for name, value in version.trailers if _NAME.fullmatch(name)]
    edits = tuple(edit for edit in written if edit is not None)
    distinct = len({edit.id for edit in edits}) == len(written)
    return edits if distinct else ()


def edits_between(before: SkillDocument, after: SkillDocument) -> tuple[Edit, ...]:
    """Tell edits from two texts, one for each run of lines that differ; for versions that name none.

    Such an edit is for reading and for comparing: its anchor may stand at several places.
    """
    old, new = (text.text[text.body_start :].splitlines() for text in (before, after))
    edits: list[Edit] = []
    for tag, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "\n".join(old[first:last]), "\n".join(new[start:end])
        if tag == "equal" or not (gone.strip() or come.strip()):
            continue
        number = str(len(edits) + 1)
        if not come.strip():
            edits.append(Edit(number, Op.DELETE, gone))
        elif gone.strip():
            edits.append(Edit(number, Op.REPLACE, gone, "", come))
        else:
            above = next((line for line in reversed(old[:first]) if line.strip()), "")
            edits.append(Edit(number, Op.ADD, above, "", come))
    return tuple(edits)
