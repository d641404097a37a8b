"""Train the description of a skill: propose from requests that go wrong, test, gate on held-out requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import Final

from skillopt.contrib.triggers.description import MOST_DESCRIPTION, check_description, with_description
from skillopt.contrib.triggers.loading import (
    HeldOutTriggers,
    QueryLoading,
    TriggerRate,
    count_held_out,
    judge_loading,
    requests_of,
    trigger_rate,
    trigger_task,
    why_worse,
)
from skillopt.contrib.triggers.queries import Query, request_key
from skillopt.errors import ReplyError, UsageError
from skillopt.gate.comparison import Pairs, check_coverage
from skillopt.gate.decide import Verdict
from skillopt.gate.error_budget import ErrorBudget
from skillopt.gate.gate import GATE_ROUNDS, Gate
from skillopt.prompts.descriptions import (
    DESCRIPTION_SCHEMA,
    DescriptionEvidence,
    TriedDescription,
    ask_description,
    read_description,
)
from skillopt.protocols import Runner
from skillopt.rollouts import Stream
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import listed_description

_MOST_WITHOUT_PROGRESS: Final = 3  # each has seen what became of those before it
_MOST_GROWTH: Final = 10  # times the held-out requests; nobody writes more to prove one description


@dataclass(frozen=True, slots=True)
class TrainedDescription:
    """The result of training a description; no description that was tried decides a bad request."""

    before: str
    description: str
    tried: tuple[TriedDescription, ...]
    train_before: TriggerRate
    train_after: TriggerRate
    verdict: Verdict | None
    held_out: HeldOutTriggers | None
    reason: str
    bad_requests: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def promising(self) -> bool:
        """Whether the new description did better on held-out requests, though too few of them show it."""
        verdict, seen = self.verdict, self.held_out
        if verdict is None or seen is None or verdict.accepted:
            return False
        return verdict.wins > verdict.losses and not why_worse(seen)


@dataclass(frozen=True, slots=True)
class DescriptionTraining:
    """What the description of a skill is trained with."""

    train: tuple[Query, ...]
    held_out: tuple[Query, ...]
    beside: tuple[Skill, ...]
    repeats: int
    runner: Runner
    settings: Settings
    number: int = 0
    earlier: tuple[float, ...] = ()
    refused: tuple[TriedDescription, ...] = ()
    rounds: int = 5
    told: Callable[[str], None] = lambda _: None

    def measure(self, skill: Skill, queries: Sequence[Query]) -> tuple[QueryLoading, ...]:
        """See what is loaded for requests."""
        first = Stream.LEARNING.repeat(0)
        rollouts = self.runner.rollouts(requests_of(skill, queries, range(first, first + self.repeats)))
        check_coverage("training requests", rollouts, self.settings.coverage)
        return judge_loading(skill.name, queries, rollouts).queries


def train_description(start: Skill, training: DescriptionTraining) -> TrainedDescription:
    """Train the description of a skill."""
    search = _Search(start, training)
    reason = search.run()
    before, after = _right(search.first), _right(search.rows)
    verdict = held_out = None
    if search.best is not start:
        verdict, held_out = _gated(start, search.best, training)
        reason = _said(verdict, held_out)
    was, now = (listed_description(one.document) for one in (start, search.best))
    tried, bad = tuple(search.tried), search.bad_requests
    trained = TrainedDescription(
        was, now, tried, before, train_after=after, verdict=verdict, held_out=held_out, reason=reason, bad_requests=bad
    )
    more = _more_requests(verdict, training) if verdict is not None and trained.promising else 0
    said = f"about {more} more held-out requests, of {2 * more} new ones, would show a gain of this size"
    return replace(trained, reason=f"{reason}; {said}") if more else trained


def _more_requests(verdict: Verdict, training: DescriptionTraining) -> int:
    """Count the held-out requests to add until a gain of this size would be shown; 0 for too many."""
    held_out = len(training.held_out)
    budget = ErrorBudget.after(1.0 - training.settings.confidence, training.earlier)
    for size in range(held_out + 1, _MOST_GROWTH * held_out + 1):
        wins, losses = verdict.wins * size // held_out, -(-verdict.losses * size // held_out)
        # One look at gains of one request each is the exact sign test.
        p_value = sum(comb(wins + losses, more) for more in range(wins, wins + losses + 1)) / 2 ** (wins + losses)
        if p_value <= budget.allowance_for(size):
            return size - held_out
    return 0


def _gated(start: Skill, candidate: Skill, training: DescriptionTraining) -> tuple[Verdict, HeldOutTriggers]:
    tasks = [trigger_task(query, start.name) for query in training.held_out]
    training.told(f"gate: {len(tasks)} held-out requests, with the description before and the new one")
    first = Stream.LOOP.repeat(training.number * GATE_ROUNDS)
    gate = Gate(tasks, training.settings, training.runner, first_repeat=first, looked=training.earlier)

    def why_not(pairs: Pairs) -> str:
        return why_worse(count_held_out(start.name, training.held_out, pairs))

    verdict = gate.decide("gate", start, candidate, why_not=why_not)
    return verdict, count_held_out(start.name, training.held_out, gate.measured(start, candidate))


class _Search:
    def __init__(self, start: Skill, training: DescriptionTraining) -> None:
        self._training = training
        self.best = start
        self.tried: list[TriedDescription] = []
        self._tested = 0
        training.told(f"{len(training.train)} training requests with the description as it is")
        self.first = self.rows = training.measure(start, training.train)
        if self._wrong and all(row.undecided for row in self._wrong):
            raise UsageError(
                f"expected requests that a description can mend, found that the runs of all {len(self._wrong)} that go "
                "wrong were cut off before they answered; give them more with --turns"
            )
        self._decided = {row.query for row in self.first if row.right}

    def run(self) -> str:
        """Try descriptions until all goes right or nothing helps; say why it ended."""
        idle = 0
        for _ in range(self._training.rounds):
            if not self._wrong:
                return "every training request goes right"
            if idle == _MOST_WITHOUT_PROGRESS:
                break
            idle = 0 if self._step() else idle + 1
        return "no description that was tried makes more training requests go right"

    @property
    def bad_requests(self) -> tuple[str, ...]:
        """List the requests that go wrong with each of several descriptions, with file and line."""
        if self._tested < _MOST_WITHOUT_PROGRESS:
            return ()
        return tuple(f"{row.place}: {row.query}" for row in self._wrong if row.query not in self._decided)

    @property
    def _wrong(self) -> tuple[QueryLoading, ...]:
        return tuple(row for row in self.rows if row.runs and not row.right)

    def _step(self) -> bool:
        before = (*self._training.refused, *self.tried)
        prompt = ask_description(self._evidence(), before, MOST_DESCRIPTION)
        try:
            text = read_description(self._training.runner.replies([prompt], DESCRIPTION_SCHEMA)[0].text)
        except ReplyError as error:
            return self._note("", f"not read: {error}")
        requests = [query.text for query in (*self._training.train, *self._training.held_out)]
        document, allow = self.best.document, self._training.settings.allow
        if known := next((one for one in before if request_key(one.text) == request_key(text)), None):
            return self._note(text, f"refused, for the same text came up before: {known.outcome}")
        if problem := check_description(document, text, requests, allow):
            return self._note(text, f"refused: {problem}")
        return self._test(text, self.best.with_document(with_description(document, text)))

    def _test(self, text: str, candidate: Skill) -> bool:
        training, wrong = self._training, {row.query for row in self._wrong}
        failing = [query for query in training.train if query.text in wrong]
        mended = [row for row in training.measure(candidate, failing) if row.right]
        self._tested += 1
        self._decided |= {row.query for row in mended}
        if not mended:
            return self._note(text, f"mends none of {len(failing)} requests")
        rows = training.measure(candidate, training.train)
        broken = [row.query for row in rows if not row.right and row.query not in wrong]
        outcome = f"mends {len(mended)} of {len(failing)} requests, breaks {len(broken)}"
        if _right(rows).hits <= _right(self.rows).hits:
            return self._note(text, f"{outcome}: not kept")
        self.best, self.rows = candidate, rows
        self._note(text, f"{outcome}: kept")
        return True

    def _note(self, text: str, outcome: str) -> bool:
        self.tried.append(TriedDescription(text, outcome))
        self._training.told(f"description {len(self.tried)}: {outcome}")
        return False

    def _evidence(self) -> DescriptionEvidence:
        name, document = self.best.name, self.best.document
        own = [row for row in self._wrong if row.expected == name]
        return DescriptionEvidence(
            name,
            listed_description(document),
            document.body,
            [(one.name, listed_description(one.document)) for one in self._training.beside],
            missed=[(row.query, "loaded: " + ", ".join(row.loaded)) for row in own],
            false=[row.query for row in self._wrong if row.expected != name],
            right=[row.query for row in self.rows if row.right],
        )


def _said(verdict: Verdict, held_out: HeldOutTriggers) -> str:
    outcome = "not better" if verdict.rejected else "these requests do not tell whether it is better"
    if verdict.accepted:
        outcome = "better"
    elif why := why_worse(held_out):
        outcome = f"refused: {why}"
    counted = f"{verdict.wins} better, {verdict.ties} equal, {verdict.losses} worse of the held-out requests"
    return f"{outcome}: {counted}, confidence {verdict.confidence:.3f}"


def _right(rows: Sequence[QueryLoading]) -> TriggerRate:
    measured = [row for row in rows if row.runs]
    return trigger_rate(sum(row.right for row in measured), len(measured))
