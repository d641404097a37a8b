"""Rewrite sections in fewer words: the optimizer model proposes, and the tasks that need the section decide."""

from dataclasses import dataclass
from typing import Final

from skillopt.errors import ProviderError, ReplyError
from skillopt.loop.course import Course, ask
from skillopt.loop.edit_checks import check_edits
from skillopt.loop.events import EditRefused, EditScreened, StepFailed
from skillopt.prompts.shortening import SHORTER_SCHEMA, ask_shorter, read_shorter
from skillopt.settings import Settings
from skillopt.shrink.search import Search, fails_under
from skillopt.skills.addresses import own_text
from skillopt.skills.document import Section, Skill, estimate_tokens
from skillopt.skills.edits import Edit, Op, apply_edits

__all__ = ["Rewriting", "rewrite_section", "sections_to_rewrite"]

_LEAST_TOKENS: Final = 40
"""Tokens of a section's own text from which a model is asked for a shorter one."""

_REASON: Final = "The section in fewer words; each task that needs it passes with them."


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A section of the short text, and the tasks that need some of it."""

    section: Section
    text: str
    tasks: tuple[str, ...]


def sections_to_rewrite(search: Search, short: Skill) -> tuple[Rewriting, ...]:
    """List the sections of a short text that tasks need and that are long enough to be said in fewer words."""
    found = list[Rewriting]()
    for section in short.document.sections:
        start, end = own_text(short.document, section)
        text = short.document.text[start:end].strip("\n")
        needed = (names for unit, names in search.needed.items() if unit.text in text)
        tasks = tuple(dict.fromkeys(name for names in needed for name in names))
        if tasks and estimate_tokens(text) >= _LEAST_TOKENS:
            found.append(Rewriting(section, text, tasks))
    return tuple(found)


def rewrite_section(
    search: Search, short: Skill, one: Rewriting, settings: Settings, taken: list[Edit]
) -> Course[None]:
    """Ask for a shorter text of a section, and take it if each task that needs the section passes with it."""
    try:
        (reply,) = yield from ask([ask_shorter(one.text)], SHORTER_SCHEMA)
        content = read_shorter(reply.text)
    except (ProviderError, ReplyError) as error:
        yield StepFailed(1, "rewriting", f"section {one.section.title!r}: {error}")
        return
    if not content.strip() or estimate_tokens(content) >= estimate_tokens(one.text):
        return
    edit = Edit(f"w{one.section.line}", Op.REWRITE, "", one.section.title, content, _REASON, one.tasks)
    sound, refused = check_edits(short.document, [edit], settings.allow)
    if refused:
        yield EditRefused(1, edit, refused[0][1])
        return
    candidate = short.with_document(apply_edits(short.document, [sound[0].edit]).document)
    for name in one.tasks:
        if (yield from fails_under(search, candidate, name)):
            yield EditScreened(1, edit, len(one.tasks), 0, 0, False, f"task {name} fails with it")  # noqa: FBT003 - it is `kept`
            return
    taken.append(edit)
    yield EditScreened(1, edit, len(one.tasks), 0, 0, True, "its tasks pass with fewer words")  # noqa: FBT003 - it is `kept`
