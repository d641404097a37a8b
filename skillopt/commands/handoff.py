"""The user action `handoff`: what is open of a run that is answered by hand, and taking answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.agents.handoff_folder import HandoffFolder, OpenItem
from skillopt.commands.optimize import Optimized, optimize
from skillopt.errors import AnswersPendingError, UsageError
from skillopt.execution.runner import RunObserver
from skillopt.project import Selection
from skillopt.runs.answer_sheet import Missing, read_answers, render_answers, render_items
from skillopt.runs.hand_out import HandoffSession, is_handed_off, load_session
from skillopt.runs.plan import Start

__all__ = ["HandoffRound", "answer_round", "next_round"]

_ITEMS, _ANSWERS = "open.md", "answers.md"


@dataclass(frozen=True, slots=True)
class HandoffRound:
    """Where a hand-off stands.

    Args:
        skill: Name of the skill.
        round: Number of the round that is open, from 1; 0 when the run is over.
        rounds: About how many there will be in all.
        folder: What the paths of items are relative to.
        items: What is open.
        read: The file that shows all of it.
        write: The file to answer in.
        taken: How many answers this command took.
        missing: What a file of answers left out.
        result: What the run came to; None while something is open.
    """

    skill: str
    round: int
    rounds: int
    folder: str
    items: tuple[OpenItem, ...] = ()
    read: str = ""
    write: str = ""
    taken: int = 0
    missing: tuple[Missing, ...] = ()
    result: Optimized | None = None


def next_round(selection: Selection, *, start: Start = "auto", observer: RunObserver | None = None) -> HandoffRound:
    """Begin a hand-off or go on with it, and write down what is open.

    What neither settings nor options give to a harness or a model is answered by hand.

    Raises:
        UsageError: Something is missing or wrong, or another skill is handed off and not done.
    """
    project = selection.project()
    target = project.target(selection)
    folder = _folder(project.root)
    session = load_session(folder)
    if session is not None and session.skill != target.name and HandoffFolder(folder).open_items():
        raise UsageError(
            f"expected one hand-off at a time, found that of {session.skill!r} open; finish it with `skillopt handoff "
            f"next {session.skill}`, or drop it with `skillopt clean --workspaces`"
        )
    if not is_handed_off(target.settings):
        by_hand = {"harness": "handoff", "model": "handoff"}
        selection = replace(selection, flags={**by_hand, **selection.flags})
        if not is_handed_off(project.target(selection).settings):
            raise UsageError("expected a harness or a model to be answered by hand, found both given; leave one out")
    return _go_on(selection, start, observer)


def answer_round(file: Path, folder: Path | None = None, observer: RunObserver | None = None) -> HandoffRound:
    """Take the answers of a file, and go on with the run that waits for them.

    Args:
        file: Markdown or JSON.
        folder: Where the command is given; the current one when None.
        observer: Follows the run.

    Raises:
        UsageError: No hand-off waits, or the file cannot be read or answers what is not open.
    """
    root = Selection(folder=folder).project().root
    session = load_session(_folder(root))
    if session is None:
        raise UsageError(
            "expected a hand-off that waits for answers, found none; begin one with `skillopt handoff next`"
        )
    handed = HandoffFolder(_folder(root))
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: expected a file of answers, found: {error.strerror}; correct the path") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: expected a file of answers in UTF-8, found {error}; save it as UTF-8") from error
    answers = read_answers(text, str(file), handed.open_items(), session.handed)
    handed.store(answers.given)
    found = _go_on(_selection(session, folder), session.start, observer)
    still = {item.id for item in found.items}
    missing = tuple(one for one in answers.missing if one.id in still)
    return replace(found, taken=len(answers.given), missing=missing)


def _selection(session: HandoffSession, folder: Path | None) -> Selection:
    return Selection(session.skill, session.flags, Path(session.suite) if session.suite else None, folder)


def _folder(root: Path) -> Path:
    return root / ".skillopt" / "handoff"


def _go_on(selection: Selection, start: Start, observer: RunObserver | None) -> HandoffRound:
    """Run on until something is open or nothing is left."""
    root = selection.project().root
    folder = _folder(root)
    try:
        result = optimize(selection, start=start, observer=observer)
    except AnswersPendingError:
        session = load_session(folder)
        if session is None:
            raise
        return _write_down(folder, session)
    for name in (_ITEMS, _ANSWERS):
        (folder / name).unlink(missing_ok=True)
    return HandoffRound(result.skill, 0, 0, str(folder), result=result)


def _write_down(folder: Path, session: HandoffSession) -> HandoffRound:
    """Write the file to read and the file to answer in, which keeps the answers that stand in it already."""
    items = HandoffFolder(folder).open_items()
    title = f"Round {session.round} of about {session.rounds} for {session.skill}: {len(items)} open"
    read, write = folder / _ITEMS, folder / _ANSWERS
    read.write_text(render_items(title, items), encoding="utf-8")
    write.write_text(render_answers(items, _kept(write, items, session)), encoding="utf-8")
    return HandoffRound(session.skill, session.round, session.rounds, str(folder), items, str(read), str(write))


def _kept(write: Path, items: Sequence[OpenItem], session: HandoffSession) -> dict[str, str]:
    """Give the answers to open items that a person has written by now and not handed in."""
    try:
        return dict(read_answers(write.read_text(encoding="utf-8"), str(write), items, session.handed).given)
    except (OSError, UnicodeDecodeError, UsageError):
        return {}
