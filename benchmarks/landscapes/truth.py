"""The planted truth: the expected score of any document, in closed form.

Owns the chance of every part, the expected score and the best one. Nothing here is drawn, and
nothing here is ever shown to the loop. Does not own draws (target).
"""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from math import prod

from benchmarks.landscapes.lines import START, block_line, harm_line, memo_line, read, rule_line
from benchmarks.landscapes.tasks import FREE, HOPELESS, needed_rules
from benchmarks.landscapes.worlds import World
from skillopt.settings import Metric
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split

_TEMPTED = 0.3


def chances(world: World, text: str) -> tuple[float, ...]:
    """Return the chance that a part is done by the rule it needs, and last that of other parts."""
    reading = read(text)
    factor = 1.0 if world.harm is None else world.harm**reading.harms
    factor *= max(0.0, 1.0 - world.line_cost * _lines_added(world, text)) if world.line_cost else 1.0
    there = reading.rules - reading.blocked - (reading.reworded if world.clash else frozenset())
    there |= frozenset(range(world.given))
    place = {rule: at for at, rule in enumerate(reading.order)}
    there -= frozenset(below for above, below in world.order if place.get(above, -1) > place.get(below, len(place)))
    if world.contexts:  # the second half of the rules are the other contexts of the first half's topics
        half = world.rules // 2
        there |= frozenset(range(half, world.rules))
        there -= frozenset(half + topic for topic in reading.plain)
    for rule in reading.breaking:
        there &= frozenset((rule,))
    # Last what no rule brings about and what needs none, in the order of `HOPELESS` and `FREE` from the end.
    done = [*(_in_force(world, there, rule) for rule in range(world.rules)), False, True]
    rates = [*(world.rates or ((world.unknown, world.known),) * world.rules), *((world.unknown, world.known),) * 2]
    # Each line that goes too far does harm to the next two rules.
    tempted = (sum((rule - by) % world.rules in reading.tempting for by in (1, 2)) for rule in range(world.rules))
    harmed = [*(_TEMPTED**lines for lines in tempted), 1.0, 1.0]
    return tuple(min(1.0, factor * cut * rate[known]) for known, rate, cut in zip(done, rates, harmed, strict=True))


def chance_of(by_rule: Sequence[float], need: int) -> float:
    """Return the chance of a part by what it needs."""
    return by_rule[max(need, HOPELESS)]


def _lines_added(world: World, text: str) -> int:
    """Count the lines of a document that the first one does not have."""
    first = set(start_of(world).document.text.splitlines())
    return sum(bool(line.strip()) and line not in first for line in text.splitlines())


def _in_force(world: World, there: frozenset[int], rule: int) -> bool:
    partners = {other for pair in world.pairs if rule in pair for other in pair}
    return rule in there and partners <= there


def true_score(world: World, text: str, metric: Metric = Metric.SOFT) -> float:
    """Return the expected score of a document on the held-out tasks."""
    return _expected(world, chances(world, text), metric)


@lru_cache(maxsize=4096)
def _expected(world: World, by_rule: tuple[float, ...], metric: Metric) -> float:
    return _mean(world, _kinds(world), by_rule, metric)


def true_score_on(world: World, seed: int, tasks: Collection[str], text: str, metric: Metric = Metric.SOFT) -> float:
    """Return the expected score of a document on some tasks of a suite."""
    needs = needed_rules(world, seed)
    kinds = Counter(with_memos(text, task, needs[task][1]) for task in tasks)
    return _mean(world, kinds, chances(world, text), metric)


def with_memos(text: str, task: str, needs: tuple[int, ...]) -> tuple[int, ...]:
    """Return what a task needs under a document: one that it memorises needs nothing more."""
    return (FREE,) * len(needs) if memo_line(task) in text else needs


def _mean(world: World, kinds: Counter[tuple[int, ...]], by_rule: Sequence[float], metric: Metric) -> float:
    soft = hard = 0.0
    for needs, count in kinds.items():
        parts = [chance_of(by_rule, need) for need in needs]
        passed = (1 - world.together) * prod(parts) + world.together * min(parts)
        hard += count * passed
        soft += count * (passed if world.binary else sum(parts) / len(parts))
    soft, hard = (found * (1 - world.crash) / kinds.total() for found in (soft, hard))
    return {Metric.SOFT: soft, Metric.HARD: hard, Metric.MIXED: (soft + hard) / 2}[metric]


@cache
def _kinds(world: World) -> Counter[tuple[int, ...]]:
    return Counter(needs for split, needs in needed_rules(world).values() if split is Split.TEST)


def start_of(world: World) -> Skill:
    """Return the skill that training starts from."""
    spoilers = tuple(block_line(rule) for rule in range(world.spoiled))
    return START.with_document(SkillDocument(document_of(spoilers)))


def document_of(lines: tuple[str, ...]) -> str:
    """Write the plain first document, with lines added to its last section."""
    return START.document.text + "".join(f"- {line}\n" for line in lines)


@cache
def best_document(world: World) -> str:
    """Return the document with the greatest true score: as many rules as pay."""
    general = tuple(harm_line(number) for number in range(world.habits.choices)) if (world.harm or 0.0) > 1 else ()
    found = [document_of((*general, *map(rule_line, range(count)))) for count in range(world.rules + 1)]
    return max(found, key=lambda text: true_score(world, text))


@cache
def best_score(world: World, metric: Metric = Metric.SOFT) -> float:
    """Return the true score of the best document."""
    return true_score(world, best_document(world), metric)
