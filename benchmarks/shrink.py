"""What `skillopt shrink` saves and loses on texts with planted bloat, by the product's own code.

    python -m benchmarks.shrink --first 1000 --seeds 300

Owns the worlds: a text of which each task needs some lines, and a target that fails without one of them. A run of a
task passes with probability 0.95 where nothing is missing and 0.02 else, then flips with a probability. Settings of the
product were chosen on seeds 0 to 199.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean, quantiles

from skillopt.gate.comparison import Pairs, compare
from skillopt.gate.decide import LOSS_ERRORS, Outcome, Terms, rule_out_loss
from skillopt.loop.events import Event, GateDecided, RunEnded, TextScreened, VersionAccepted, newest_draft
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Rollout
from skillopt.settings import Metric, make_settings
from skillopt.shrink.shrinking import UNEXERCISED, shrink
from skillopt.skills.document import Skill, SkillDocument, estimate_tokens
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import scored

_BASE = 0.95
_MISSING = 0.02
_MARGIN = 0.10
_MARGIN_SHOWN = re.compile(r"a loss of (\d+) points is ruled out")


@dataclass(frozen=True, slots=True)
class World:
    """A text, its tasks, and the lines that each needs."""

    skill: Skill
    suite: Suite
    needs: dict[str, frozenset[str]]
    flips: float
    seed: int

    @property
    def needed(self) -> frozenset[str]:
        """All lines that some task needs."""
        return frozenset().union(*self.needs.values())

    def passes(self, text: str, task: str, key: object) -> bool:
        """Draw how one run ends."""
        draw = Random(f"{self.seed}/{task}/{key}")
        lines = set(text.splitlines())
        passed = draw.random() < (_BASE if self.needs[task] <= lines else _MISSING)
        return passed ^ (draw.random() < self.flips)

    def rollout(self, request: RolloutRequest) -> Rollout:
        """Answer a request."""
        text = request.skill.text if request.skill else ""
        passed = self.passes(text, request.task.id, (request.digest, request.repeat))
        return scored(request, float(passed), "" if passed else "expected the house format, found something else")

    def run(self) -> list[Event]:
        """Shrink the text with the product's code."""
        return list(
            shrink(self.skill, self.suite, make_settings(("a world", {"seed": self.seed})), _Runner(self.rollout))
        )


@dataclass(frozen=True, slots=True)
class _Runner:
    """Answers rollouts by a world, and no prompts."""

    answer: Callable[[RolloutRequest], Rollout]

    def rollouts(self, requests: Sequence[RolloutRequest]) -> tuple[Rollout, ...]:
        return tuple(map(self.answer, requests))

    def replies(self, prompts: Iterable[str], schema: str = "", *, review: bool = False) -> tuple[Reply, ...]:
        raise TypeError(f"expected no question to a model, found {len(list(prompts))} of {schema!r}, {review=}")


def make_world(seed: int, *, lines: int = 40, needed: int = 10, tasks: int = 24, flips: float = 0.0) -> World:
    """Plant needed rules among lines; each task needs one to three of them, and each of them is needed."""
    draw = Random(seed)
    texts = [f"- Rule {number:02}: {_words(draw)}." for number in range(lines)]
    rules = draw.sample(texts, needed)
    needs = [set(draw.sample(rules, min(needed, draw.choice((1, 2, 3))))) for _ in range(tasks)]
    for rule in rules:
        if not any(rule in one for one in needs):
            draw.choice(needs).add(rule)
    body = "\n".join(["# Rules", "", *texts, ""])
    return _world(body, needs, flips, seed)


def make_agents(seed: int, flips: float = 0.0) -> World:
    """Make an AGENTS.md of about 300 lines in 12 sections, of which tasks exercise six, two rules in each."""
    draw = Random(seed)
    sections = [[f"- Part {part:02}, {line:02}: {_words(draw)}." for line in range(22)] for part in range(12)]
    body = "# Agents\n\n" + "\n\n".join(
        f"## Topic {chr(97 + part)}{_words(draw, 1)}\n\n" + "\n".join(lines) for part, lines in enumerate(sections)
    )
    rules = [rule for lines in sections[::2] for rule in draw.sample(lines, 2)]
    needs = [{rules[number % len(rules)], draw.choice(rules)} for number in range(24)]
    return _world(body + "\n", needs, flips, seed)


def _world(body: str, needs: Sequence[set[str]], flips: float, seed: int) -> World:
    tasks = [Task(f"task-{number:02}", f"Do job {number}.", VerifierSpec("exact")) for number in range(len(needs))]
    text = f"---\nname: planted\ndescription: Planted rules.\n---\n\n{body}"
    suite = Suite("planted", tuple((Split.VAL, task) for task in tasks))
    wanted = {task.id: frozenset(own) for task, own in zip(tasks, needs, strict=True)}
    return World(Skill("planted", SkillDocument(text)), suite, wanted, flips, seed)


def _words(draw: Random, count: int = 6) -> str:
    return " ".join(
        "".join(draw.choice("bdfgklmnprtvz") + draw.choice("aeiou") for _ in range(3)) for _ in range(count)
    )


@dataclass(frozen=True, slots=True)
class Row:
    """What shrinking one world came to."""

    saved: float
    lost: float
    deleted: float
    rollouts: int
    margin: float | None
    sections_kept: bool


def score_world(world: World) -> Row:
    """Shrink a world, and compare what is handed over with what was planted."""
    found = world.run()
    draft = newest_draft(found)
    versions = [event.text for event in found if isinstance(event, VersionAccepted)]
    text = versions[-1] if versions else draft.text if draft else world.skill.text
    before, after = (one.splitlines() for one in (world.skill.text, text))
    kept = {event.text for event in found if isinstance(event, TextScreened) and event.reason == UNEXERCISED}
    bloat = [line for line in before if line.startswith("- ") and line not in world.needed and line not in kept]
    gone = [line for line in before if line not in after]
    most = sum(map(estimate_tokens, bloat))
    ended = next(event for event in found if isinstance(event, RunEnded))
    reasons = [event.verdict.reason for event in found if isinstance(event, GateDecided)]
    return Row(
        sum(estimate_tokens(line) for line in gone if line in bloat) / most if most else 1.0,
        len(world.needed - set(after)) / len(world.needed),
        sum(line.startswith("- ") for line in gone) / sum(line.startswith("- ") for line in before),
        ended.rollouts,
        float(_MARGIN_SHOWN.findall(reasons[-1])[0]) / 100 if versions else None,
        len(kept) == 6 * 22 and not kept & set(gone),  # the six sections that no task exercises
    )


def _false_verdict(seed: int, flips: float) -> bool:
    """Judge a text without a rule that 15% of 40 tasks need, and nothing else; say whether nothing lost is claimed."""
    world = make_world(seed, tasks=40, flips=flips)
    rule = min(world.needed)
    needs = {task: (own - {rule}) | ({rule} if at < 6 else set()) for at, (task, own) in enumerate(world.needs.items())}  # noqa: PLR2004 - 15% of 40
    world = replace(world, needs=needs)
    short = world.skill.with_document(SkillDocument(world.skill.text.replace(f"{rule}\n", "")))
    tasks, spent = world.suite.tasks(Split.VAL), 0
    for error in LOSS_ERRORS:
        requests = [
            [RolloutRequest(one, task, spent + repeat) for repeat in range(3) for task in tasks]
            for one in (world.skill, short)
        ]
        before, after = (list(map(world.rollout, one)) for one in requests)
        verdict, margin = rule_out_loss(compare(Pairs(before, after), Metric.HARD), error, Terms())
        if verdict.outcome is Outcome.ACCEPT and margin <= _MARGIN:
            return True
        spent += 3
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each kind of world."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shrink", description=main.__doc__)
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    parser.add_argument("--seeds", type=int, default=300, help="worlds of each kind")
    chosen = parser.parse_args(arguments)
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    print("| world | bloat saved | rules lost | lines deleted | rollouts (90%) | nothing lost is shown, mean margin |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    kinds: dict[str, Callable[[int], World]] = {
        "10 of 40 lines needed, 24 tasks": make_world,
        "the same, 10% flips": lambda seed: make_world(seed, flips=0.1),
        "all 20 lines needed, 24 tasks": lambda seed: make_world(seed, lines=20, needed=20),
    }
    for name, make in kinds.items():
        rows = [score_world(make(seed)) for seed in seeds]
        print(f"| {name} {_cells(rows)}", flush=True)
    agents = [score_world(make_agents(seed)) for seed in seeds[: max(2, len(seeds) // 10)]]
    print(f"| AGENTS.md, 6 of 12 sections exercised {_cells(agents)}")
    print(f"\nthe 6 unexercised sections are listed and stay: {fmean(row.sections_kept for row in agents):.0%} of runs")
    for flips in (0.0, 0.1):
        wrong = fmean(_false_verdict(seed, flips) for seed in seeds)
        print(f'false "nothing lost" without a rule that 15% of 40 tasks need, {flips:.0%} flips: {wrong:.1%}')
    return 0


def _cells(rows: Sequence[Row]) -> str:
    used = [row.rollouts for row in rows]
    most = quantiles(used, n=10)[-1]
    figures = (fmean(getattr(row, name) for row in rows) for name in ("saved", "lost", "deleted"))
    shares = " | ".join(f"{figure:.1%}" for figure in figures)
    margins = [row.margin for row in rows if row.margin is not None]
    shown = f"{len(margins) / len(rows):.0%}, margin {fmean(margins):.0%}" if margins else "0%"
    return f"| {shares} | {fmean(used):.0f} ({most:.0f}) | {shown} |"


if __name__ == "__main__":
    sys.exit(main())
