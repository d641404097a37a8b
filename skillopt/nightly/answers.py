"""What a night does about what people said in pull requests: declined versions, dropped edits, and other commands.

Decisions become commits on the skill's branch, here; the pull request is told of them when there is a token again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from skillopt.errors import BusyError, SkilloptError
from skillopt.nightly.handover import PostedAnswer, SkillReview, closed_by_people
from skillopt.nightly.people_commands import LONGEST_QUOTE, Asked, Closing, Verb, read_edits
from skillopt.project import Selection, Target
from skillopt.protocols import PullRequest
from skillopt.reports.markdown import inline_code
from skillopt.runs.decline import decline, drop_offered, undecline
from skillopt.safety.escaping import count_noun, truncate
from skillopt.skills.edits import Edit
from skillopt.versions.branches import DraftBranch
from skillopt.versions.commit_message import DECLINED
from skillopt.versions.decisions import PULL_REQUEST, EditLine, PersonsWord, is_undone, read_decisions, text_at
from skillopt.versions.merging import default_tip
from skillopt.versions.refusals import decided_keys, read_refusals, refusals_of, refuse, want_again
from skillopt.versions.repository import Repository

_COMMANDS = "there are `/skillopt drop 7`, `ignore` and `unignore`, each on a line of its own"


@dataclass(frozen=True, slots=True)
class PeopleAnswers:
    """What was done about what people said of a skill."""

    posted: tuple[PostedAnswer, ...] = ()
    lines: tuple[str, ...] = ()
    ignored: str = ""


def answer_people(selection: Selection, target: Target, review: SkillReview, onto: str) -> PeopleAnswers:
    """Do what people with write access ask for, as far as it can be done without a model."""
    repository = selection.project().repository()
    desk = _Desk(selection, target, repository, target.place(repository), onto or default_tip(repository))
    lines = list(desk.settle(review))
    posted: list[PostedAnswer] = []
    for number in dict.fromkeys(one.pull_request for one in review.asked):
        asked = [one for one in review.asked if one.pull_request == number]
        said = [line for one in asked for line in desk.answer(one)]
        last = max(one.comment for one in asked)
        if said or last:
            posted.append(PostedAnswer(pull_request=number, lines=tuple(line.markdown for line in said), last=last))
        lines += [f"#{number}: {line.plain}" for line in said]
    ignored = review.ignored
    return PeopleAnswers(
        tuple(posted),
        tuple(lines),
        f"{ignored.by} asked for that in {ignored.url}; `/skillopt unignore` ends it" if ignored else "",
    )


class _Line(NamedTuple):
    """One line of an answer: as it is, and for a comment, where each text is code that it cannot leave."""

    plain: str
    markdown: str


def _line(words: str, *texts: str) -> _Line:
    cut = [truncate(" ".join(text.split()), LONGEST_QUOTE) for text in texts]
    return _Line(words.format(*cut), words.format(*map(inline_code, cut)))


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where decisions about a skill are written."""

    selection: Selection
    target: Target
    repository: Repository
    path: str
    onto: str

    def settle(self, review: SkillReview) -> Iterator[str]:
        """Decline what people closed, and take back what they opened again."""
        newest = (*review.versions[:1], *review.drafts[:1])
        closed = filter(closed_by_people, (*review.versions, *review.drafts))
        for one in (*closed, *(one for one in newest if one.state == "open")):
            is_draft, event = one in review.drafts, "opened again" if one.state == "open" else "closed by people"
            try:
                if one.state == "open":
                    said = self._take_back(one, is_draft=is_draft)
                else:
                    said = self._decline(one, review.closing(one), is_draft=is_draft)
            except BusyError:
                raise
            except SkilloptError as error:
                said = f"that could not be written down: {error}"
            if said:
                yield f"#{one.number} was {event}: {said}"

    def _decline(self, closed: PullRequest, closing: Closing, *, is_draft: bool) -> str:
        """Decline what a closed pull request offered and is offered still, else its edits, which no branch has."""
        word = PersonsWord.said(closing.by, closing.reason, closed.url)
        if refused := self._refused(closed, is_draft=is_draft):
            count = decline(self.selection, refused, word, onto=self.onto).edits
        elif lost := self._lost(closed):
            refuse(self.repository, (self.target.name, self.path), lost, word, dropped=False)
            count = len(lost)
        else:
            return ""
        return f"{count_noun(count, 'edit')} declined, training does not try them again"

    def _refused(self, closed: PullRequest, *, is_draft: bool) -> str:
        """Return the oldest version, or the draft, that a closed pull request offered and that is offered still."""
        repository, name = self.repository, self.target.name
        if is_draft:
            known = read_decisions(repository, name).declined
            return closed.head if DraftBranch(repository, name, self.path).tip == closed.head not in known else ""
        tip = repository.branch_tip(name)
        if tip is None or not closed.head or not repository.contains(tip, closed.head):
            return ""
        offered = EditLine.read(repository, name, self.path, tip, self.onto).versions
        return next((one.sha for one in offered if repository.contains(closed.head, one.sha)), "")

    def _lost(self, closed: PullRequest) -> tuple[tuple[str, Edit], ...]:
        """List the edits that a closed pull request offered from commits that no branch has any more.

        Left out is what people decided about before, and what the default branch has all the same.
        """
        repository, name = self.repository, self.target.name
        tip, known = repository.branch_tip(name), decided_keys(repository, name)
        if tip is not None and closed.head and repository.contains(tip, closed.head):
            return ()
        there = text_at(repository, self.path, self.onto)
        return tuple(
            (key, edit)
            for key, edit in read_edits(closed.body)
            if known.isdisjoint((key, key.partition("/")[0])) and is_undone(edit, there)
        )

    def _take_back(self, opened: PullRequest, *, is_draft: bool) -> str:
        """Take back what was declined, or refused, when this pull request was closed."""
        repository, name = self.repository, self.target.name
        decisions = read_decisions(repository, name)
        among = decisions.versions if is_draft else decisions.versions[:1]
        shas = (
            sha for one in among if one.trailer(PULL_REQUEST) == opened.url for sha in reversed(one.values(DECLINED))
        )
        if wanted := next((sha for sha in shas if sha in decisions.declined), ""):
            undecline(self.selection, wanted, PersonsWord.said("", "", opened.url), as_draft=is_draft)
            return "its draft is offered again" if is_draft else "its version is the newest again"
        found = read_refusals(repository, refusals_of(repository, name))
        keys = {one.key for one in found if one.word.pull_request == opened.url and not one.dropped}
        want_again(repository, name, keys)
        return ""

    def answer(self, asked: Asked) -> Iterator[_Line]:
        """Do one thing, and say what was done."""
        match asked.verb:
            case None:
                yield _line(f"not understood: {{}}; {_COMMANDS}", asked.reason)
            case Verb.DROP:
                yield from self._drop(asked)
            case Verb.IGNORE:
                yield _line("left alone from now on: not trained, not offered; `/skillopt unignore` ends that")
            case Verb.UNIGNORE:
                yield _line("not left alone any more")
            case _ as never:
                assert_never(never)

    def _drop(self, asked: Asked) -> Iterator[_Line]:
        """Drop edits; what it costs in tasks is measured when the text of the pull request is written."""
        dropped = read_decisions(self.repository, self.target.name).dropped
        wanted = [key for key in asked.edits if key not in dropped]
        if not asked.edits:
            yield _line(f"nothing dropped: the text of #{asked.pull_request} has no edit of that number")
        if not wanted:
            return
        by = asked.by or "somebody who may write here"
        word = PersonsWord.said(by, asked.reason, asked.url)
        named = [str(number) for number, key in zip(asked.numbers, asked.edits, strict=False) if key in wanted]
        numbers = f"edit{'' if len(named) == 1 else 's'} {', '.join(named)}"
        try:
            done = drop_offered(self.selection, wanted, word, onto=self.onto)
        except BusyError:
            raise
        except SkilloptError as error:
            yield _line(f"{numbers} not dropped: {{}}", str(error))
            return
        yield _line(f"{numbers} dropped, in {done.commit[:10]}")
