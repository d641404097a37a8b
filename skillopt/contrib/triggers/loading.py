"""Which skill the target loads for a request, by what was loaded until a run ended, and how well a skill triggers."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.contrib.triggers.queries import Query
from skillopt.gate.comparison import Pairs
from skillopt.gate.judge_noise import share_interval
from skillopt.protocols import Discovery, RolloutRequest, Runner, Verifier
from skillopt.rollouts import Reply, Rollout, Score, Status, Trajectory, skills_loaded
from skillopt.safety.escaping import count_noun
from skillopt.skills.document import Skill
from skillopt.tasks import Task, VerifierSpec

TRIGGER: Final = "trigger"

_UNTOLD: Final = "expected a harness that tells which skills were loaded, found a run that does not"
_NONE: Final = "(none)"
_CLEARLY: Final = 2
"""Held-out requests that a sibling may not lose, net: one may be luck."""


@dataclass(frozen=True, slots=True)
class _Loads:
    """Passes where a skill was loaded, or where it was left alone."""

    skill: str
    should: bool

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - it is not about files
        loaded = skills_loaded(trajectory)
        if loaded is None:
            raise ValueError(_UNTOLD)
        right = (self.skill in loaded) == self.should
        return Score(float(right), right, "" if right else f"loaded: {', '.join(loaded) or 'no skill'}")


def trigger_verifier(spec: VerifierSpec) -> Verifier:
    """Make the verifier of a request."""
    options = json.loads(spec.options)
    return _Loads(options["skill"], options["should"])


def trigger_task(query: Query, skill: str) -> Task:
    """Make the task of a request: it passes where the skill is loaded exactly if it is the expected one."""
    should = query.expected == skill
    options = json.dumps({"skill": skill, "should": should}, sort_keys=True)
    return Task(query.key, query.text, VerifierSpec(TRIGGER, options), timeout=180.0)


def requests_of(skill: Skill, queries: Iterable[Query], repeats: range) -> list[RolloutRequest]:
    """Ask each request so many times with a skill."""
    tasks = [trigger_task(query, skill.name) for query in queries]
    return [RolloutRequest(skill, task, repeat) for task in tasks for repeat in repeats]


@dataclass(frozen=True, slots=True)
class DiscoveryRunner:
    """A runner whose rollouts show which skill the target loads."""

    runner: Runner
    discovery: Discovery

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        """Run rollouts, and score each by what was loaded; answers are in the order of the requests."""
        found = self.runner.rollouts([replace(one, discovery=self.discovery) for one in requests])
        return tuple(map(_by_loading, requests, found))

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        """Ask the optimizer model."""
        return self.runner.replies(prompts, schema, review=review)


def _by_loading(request: RolloutRequest, rollout: Rollout) -> Rollout:
    """Score a rollout by what was loaded in it; elsewhere a refusal or a timeout is a 0, whatever was asked for."""
    if rollout.score is None or rollout.status in (Status.OK, Status.LIMIT):
        return rollout
    if skills_loaded(rollout.trajectory) is None:
        return replace(rollout, status=Status.INFRA_ERROR, score=None, reason=f"{_UNTOLD}: {rollout.reason}")
    return replace(rollout, score=trigger_verifier(request.task.verifier).score(rollout.trajectory, ""))


@dataclass(frozen=True, slots=True)
class TriggerRate:
    """So many requests of so many, with Wilson's 95% interval of the share; 0 to 1 where there are none."""

    hits: int
    of: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class QueryLoading:
    """What was loaded for one request; of its runs without the skill, so many were `cut_off` before they answered."""

    query: str
    expected: str
    place: str
    runs: int
    own: int
    cut_off: int
    loaded: Mapping[str, int]
    right: bool

    @property
    def undecided(self) -> bool:
        """Whether the skill was missed only if the runs that were cut off would not have loaded it later."""
        return not self.right and bool(self.cut_off) and 2 * (self.own + self.cut_off) > self.runs


@dataclass(frozen=True, slots=True)
class TriggerQuality:
    """How well a skill triggers; a request counts as loaded where it was in more than half of its runs."""

    recall: TriggerRate
    false_triggers: TriggerRate
    unsteady: int
    missing: int
    queries: tuple[QueryLoading, ...]

    @property
    def cut_off(self) -> int:
        """How many runs were cut off that would decide a request for which the skill should be loaded."""
        return sum(row.cut_off for row in self.queries if row.undecided)


def trigger_rate(hits: int, of: int) -> TriggerRate:
    """Return a share with Wilson's 95% interval."""
    if not of:
        return TriggerRate(0, 0, 0.0, 1.0)
    return TriggerRate(hits, of, *share_interval(hits / of, of))


def judge_loading(skill: str, queries: Sequence[Query], rollouts: Iterable[Rollout]) -> TriggerQuality:
    """Count what was loaded."""
    loaded: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
    for rollout in rollouts:
        names = skills_loaded(rollout.trajectory)
        if rollout.score is not None and names is not None:
            cut_off = skill not in names and rollout.trajectory.reason.startswith(f"{Status.LIMIT}:")
            loaded.setdefault(rollout.task_id, []).append((names, cut_off))
    rows = [_row(skill, query, loaded.get(query.key, [])) for query in queries]
    measured = [row for row in rows if row.runs]
    should = [row for row in measured if row.expected == skill]
    others = [row for row in measured if row.expected != skill]
    return TriggerQuality(
        trigger_rate(sum(row.right for row in should), len(should)),
        trigger_rate(sum(not row.right for row in others), len(others)),
        sum(0 < row.own < row.runs for row in measured),
        len(rows) - len(measured),
        tuple(sorted(rows, key=lambda row: (row.right or not row.runs, row.expected != skill))),
    )


def _row(skill: str, query: Query, runs: Sequence[tuple[tuple[str, ...], bool]]) -> QueryLoading:
    own = sum(skill in names for names, _ in runs)
    counts = Counter(name for names, _ in runs for name in names or (_NONE,))
    right = (2 * own > len(runs)) == (query.expected == skill)
    cut_off = sum(cut for _, cut in runs) if query.expected == skill else 0
    return QueryLoading(
        query.text, query.expected, query.place, len(runs), own, cut_off=cut_off, loaded=dict(counts), right=right
    )


@dataclass(frozen=True, slots=True)
class _SiblingRecall:
    """Held-out requests that should load another skill and did, before and after."""

    skill: str
    before: TriggerRate
    after: TriggerRate


@dataclass(frozen=True, slots=True)
class HeldOutTriggers:
    """What the gate saw of both descriptions."""

    recall_before: TriggerRate
    recall_after: TriggerRate
    false_before: TriggerRate
    false_after: TriggerRate
    requests: int
    runs: int
    siblings: tuple[_SiblingRecall, ...] = ()
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def count_held_out(skill: str, queries: Iterable[Query], pairs: Pairs) -> HeldOutTriggers:
    """Count what was loaded for held-out requests with either description."""
    sides = [{one.task_id for one in side if one.score is not None} for side in (pairs.before, pairs.after)]
    both = sides[0] & sides[1]
    asked = [query for query in queries if query.key in both]
    before, after = (judge_loading(skill, asked, side) for side in (pairs.before, pairs.after))
    was, now = ({row.query for row in side.queries if row.right} for side in (before, after))
    return HeldOutTriggers(
        before.recall,
        after.recall,
        before.false_triggers,
        after.false_triggers,
        requests=len(asked),
        runs=sum(rollout.score is not None and rollout.task_id in both for rollout in pairs.rollouts),
        siblings=tuple(_siblings(skill, asked, pairs)),
        fixed=tuple(query.text for query in asked if query.text in now - was),
        broken=tuple(query.text for query in asked if query.text in was - now),
    )


def _siblings(skill: str, asked: Sequence[Query], pairs: Pairs) -> Iterator[_SiblingRecall]:
    for name in sorted({query.expected for query in asked} - {skill, ""}):
        own = [query for query in asked if query.expected == name]
        before, after = (judge_loading(name, own, side).recall for side in (pairs.before, pairs.after))
        yield _SiblingRecall(name, before, after)


def why_worse(found: HeldOutTriggers) -> str:
    """Return why a description is refused: more false triggers, or two requests taken from a sibling; else empty."""
    if (more := found.false_after.hits) > found.false_before.hits:
        return (
            f"it loads the skill for {more} of {found.false_after.of} held-out requests that should not load it, "
            f"{found.false_before.hits} before"
        )
    lost = [one for one in found.siblings if one.before.hits - one.after.hits >= _CLEARLY]
    if not lost:
        return ""
    first = lost[0]
    requests = count_noun(first.before.of, "held-out request")
    return f"{first.skill!r} is loaded for {first.after.hits} of its {requests}, {first.before.hits} before"
