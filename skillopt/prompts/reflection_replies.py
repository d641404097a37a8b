"""Read a reflection against the skill that it is about: ids of tasks are cut, a whole rewritten skill becomes edits."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final

from skillopt.errors import EditError, ReplyError
from skillopt.prompts.evidence import shorten_middle
from skillopt.prompts.proposed_edits import ProposedEdit, ProposedLine, Reflection, Unread, read_reflection
from skillopt.safety.leaks import LeakClass, ProtectedText, find_leaks
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Op, blocks_of

SHORT_SKILL: Final = 60
"""Lines from which on a skill is changed by single edits alone."""

_MOST_LINES: Final = 2 * SHORT_SKILL
_LINE: Final = re.compile(r"^.*\S", re.MULTILINE)
_SHOWN_TOKENS: Final = 40


@dataclass(slots=True)
class ReflectionReader:
    """Reads reflections; once, edits that cannot do without the id of a task are a reason to ask again."""

    document: SkillDocument
    ids: Collection[str] = ()
    protected: ProtectedText | None = None
    asked: bool = False

    def __call__(self, reply: str) -> Reflection:
        """Return what a reply says, its edits without ids of tasks as far as the rest makes sense."""
        found = read_reflection(reply)
        edits = [self._without_ids(edit) if self._names_tasks(edit) else edit for edit in found.edits]
        naming = [edit.text.strip() for edit in edits if self._names_tasks(edit)]
        if naming and not self.asked:
            self.asked = True
            raise ReplyError(
                f"edits name tasks by their ids, which mean nothing to the agent: {naming[0][:200]!r}; write the rule "
                "without them"
            )
        single, unread = list[ProposedEdit](), list[Unread](found.unread)
        for edit in edits:
            try:
                single += edits_of_rewrite(self.document.file(edit.file), edit) if edit.whole else [edit]
            except EditError as error:
                unread.append((shorten_middle(edit.text, _SHOWN_TOKENS), str(error)))
        return replace(found, edits=tuple(single), unread=tuple(unread))

    def _names_tasks(self, edit: ProposedEdit) -> bool:
        protected, known = self.protected, self.document.text
        return protected is not None and LeakClass.TASK_ID in find_leaks(protected, edit.text, known)

    def _without_ids(self, edit: ProposedEdit) -> ProposedEdit:
        lines = tuple(line.model_copy(update={"content": cut_ids(line.content, self.ids)}) for line in edit.lines)
        return edit.model_copy(update={"content": cut_ids(edit.content, self.ids), "lines": lines})


def cut_ids(text: str, ids: Collection[str]) -> str:
    """Leave out ids that stand in brackets, or at the end of a sentence as examples: the rest says the same.

    >>> cut_ids("- Trim cells (see task row-04, row-12). Round up, as in row-12.", ["row-04", "row-12"])
    '- Trim cells. Round up.'
    """
    one = f"`?(?:{'|'.join(re.escape(name) for name in sorted(ids, key=len, reverse=True))})`?"
    some = rf"(?:tasks? )?{one}(?:(?:, |; | ?/ ?| )(?:(?:and|or) )?(?:tasks? )?{one})*"
    led = r"(?:see|cf\.|as in|like in|e\.g\.|for example|seen in|from):? (?:in )?"
    text = re.sub(rf"\s*[(\[](?:{led})?{some}[)\]]", "", text)
    return re.sub(rf"[,;:]? {led}{some}(?=\s*(?:[.;]|$))", "", text, flags=re.MULTILINE)


def edits_of_rewrite(document: SkillDocument, rewrite: ProposedEdit) -> list[ProposedEdit]:
    """Turn a whole new body into adds, deletes and replaces that cite what the rewrite cites; refuse a long one."""
    text, fresh = document.text, SkillDocument(rewrite.text).body
    old = [line.span() for line in _LINE.finditer(text, document.body_start)]
    new = [line.span() for line in _LINE.finditer(fresh)]
    if len(old) >= SHORT_SKILL or len(new) > _MOST_LINES:
        raise EditError(
            f"expected a rewrite of at most {_MOST_LINES} lines of a skill of fewer than {SHORT_SKILL}, found "
            f"{len(new)} of {len(old)}; change single lines or sections"
        )
    if not old:
        return [rewrite.model_copy(update={"op": Op.ADD})]
    was, now = [text[start:end] for start, end in old], [fresh[start:end] for start, end in new]
    found = []
    for tag, first, last, start, end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        here = (first, last, start, end) if first or tag != "insert" else (0, 1, start, end + 1)
        if tag != "equal":
            found.append(_changed(rewrite, (text, old), (fresh, new), here))
    return found


_Spans = list[tuple[int, int]]


def _changed(
    rewrite: ProposedEdit, before: tuple[str, _Spans], after: tuple[str, _Spans], here: tuple[int, int, int, int]
) -> ProposedEdit:
    """Return the edit that puts some lines in the place of others, or after the line above."""
    (text, old), (fresh, new), (first, last, start, end) = before, after, here
    top = min(first, last - 1)
    while top and text.count(text[old[top][0] : old[last - 1][1]]) > 1:  # an anchor occurs once
        top -= 1
    content = fresh[new[start][0] : new[end - 1][1]] if end > start else ""
    op = Op.ADD if first == last else Op.REPLACE
    if op is Op.REPLACE:
        content = (text[old[top][0] : old[first][0]] + content).rstrip()
        op = op if content else Op.DELETE
    lines = tuple(ProposedLine(content=block, tasks=rewrite.cited) for block in blocks_of(content) if content)
    anchor = text[old[top][0] : old[last - 1][1]]
    return rewrite.model_copy(update={"op": op, "anchor": anchor, "content": content, "lines": lines})
