"""Shorten the description of a skill: leave out sentences and clauses that its trigger set does not need.

Training requests find what can go; held-out requests, which the search does not see, run with both texts and decide.
A clause that training requests are not about is kept unless asked otherwise: that no request is about it is no evidence
that none will be.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

from skillopt.contrib.triggers.description import check_description, with_description
from skillopt.contrib.triggers.loading import HeldOutTriggers, count_held_out, requests_of, trigger_rate, why_worse
from skillopt.contrib.triggers.queries import Query, request_key
from skillopt.contrib.triggers.training import DescriptionTraining, TrainedDescription
from skillopt.gate.comparison import Pairs, check_coverage, compare
from skillopt.gate.decide import LOSS_ERRORS, ONE_LOOK, Question, Terms, Verdict, decide, rule_out_loss
from skillopt.gate.grades import Against
from skillopt.prompts.descriptions import TriedDescription
from skillopt.rollouts import Stream
from skillopt.safety.escaping import count_noun
from skillopt.skills.document import Skill
from skillopt.skills.frontmatter import listed_description

MOST_SHORTENINGS: Final = 16
"""Texts that the search runs at most: all that can go, and each of four sentences of four clauses."""

_SENTENCES: Final = re.compile(r"(?<=[.!?] )(?<!e\.g\. )(?<!i\.e\. )(?<!etc\. )|(?<=[\u3002\uff01\uff1f])")
_CLAUSES: Final = re.compile(r"(?=[;,] |[\uff1b\uff0c\u3001]| [\u2013\u2014] )")
_ENDS: Final = " .!?\u3002\uff01\uff1f"
_BRACKETS: Final = ("()", "[]", "\u201c\u201d", "\uff08\uff09", "\u300c\u300d")

_Place = tuple[int, int]
"""Number of a sentence, and of a clause in it."""


def cut_description(text: str) -> list[tuple[str, ...]]:
    """Cut a description of one line into sentences, and these into clauses and what ends them; joined they are it.

    >>> cut_description("Merges forms, and fills them in. Not for scans.")[0]
    ('Merges forms', ', and fills them in', '. ')
    """
    sentences = [(one, one.rstrip(_ENDS)) for one in _SENTENCES.split(text) if one]
    return [(*_CLAUSES.split(clauses), one[len(clauses) :]) for one, clauses in sentences]


def _without(sentences: Sequence[tuple[str, ...]], gone: Collection[_Place]) -> str:
    kept = ""
    for at, parts in enumerate(sentences):
        *clauses, end = (part for number, part in enumerate(parts) if (at, number) not in gone)
        kept += "".join([*clauses, end]) if clauses else ""
    return kept.strip()


def _removable(sentences: Sequence[tuple[str, ...]], kept: set[_Place]) -> list[frozenset[_Place]]:
    """List what may be left out, what saves most first: all that can go, sentences, and clauses but for the first."""
    places = [{(at, number) for number in range(len(parts) - 1)} for at, parts in enumerate(sentences)]
    whole = [frozenset(own) for own in places[1:] if not own & kept]
    single = [frozenset([place]) for own in places for place in own - kept if place[1]]
    groups = {frozenset(chain(*whole, *single)), *whole, *single}
    texts = {group: _without(sentences, group) for group in sorted(groups, key=sorted) if group}
    closed = [group for group, text in texts.items() if all(text.count(a) == text.count(b) for a, b in _BRACKETS)]
    return sorted(closed, key=lambda group: len(texts[group]))


def _unexercised(sentences: Sequence[tuple[str, ...]], requests: Sequence[Query]) -> set[_Place]:
    """Return the clauses of whose own words, which no other clause has, requests say less than half."""
    words = {(at, number): _words(part) for at, one in enumerate(sentences) for number, part in enumerate(one[:-1])}
    counts = Counter(chain(*words.values()))
    said = set(chain(*(_words(request.text) for request in requests)))
    own = {place: {word for word in found if counts[word] == 1} for place, found in words.items()}
    return {place for place, found in own.items() if 2 * len(found & said) < len(found)}


def _words(text: str) -> set[str]:
    found = request_key(text).split()
    return {word.removesuffix("s") for word in found if len(word) > 2 or not word.isascii()}  # noqa: PLR2004 - short words say nothing


def shorten_description(start: Skill, training: DescriptionTraining, *, drop: bool = False) -> TrainedDescription:
    """Leave out what no training request needs, and compare both texts on the held-out requests.

    Where that loses something, a second look is at a text in which each word stands that training requests say.
    """
    was = listed_description(start.document)
    sentences, best = cut_description(" ".join(was.split())), start
    kept = set[_Place]() if drop else _unexercised(sentences, training.train)
    training.told(f"{len(training.train)} training requests with the description as it is")
    rows = [row for row in training.measure(start, training.train) if row.runs]
    right = {row.query for row in rows if row.right}
    asked = [one for one in training.train if one.text in right]
    gone, tried, rate = frozenset[_Place](), list[TriedDescription](), trigger_rate(len(right), len(rows))
    own, loads = (sum(one.expected == start.name for one in queries) for queries in (training.train, asked))
    enough = 2 * loads >= own > 0
    for group in _removable(sentences, kept)[:MOST_SHORTENINGS] if enough else ():
        if not group <= gone:
            best, passed = _tried(best, _without(sentences, gone | group), asked, training, tried)
            gone = gone | group if passed else gone
    few = f"{loads} of {own} training requests that should load it do, too few to see a loss by"
    reason = "nothing else can go" if enough else f"{few}; next: skillopt trigger {start.name} --train"
    verdict, held_out = _judged(start, best, training, 0) if gone else (None, None)
    again = _unsaid(sentences, gone, training.train)
    if verdict and not verdict.accepted and again:
        short, passed = _tried(start, _without(sentences, again), asked, training, tried)
        if passed:
            best, (verdict, held_out) = short, _judged(start, short, training, 1)
    clauses = [sentences[at][one].strip(" ,;") for at, one in sorted(kept - {(0, 0)})]
    said = f"; kept, because no training request is about it: {' | '.join(clauses)}" if clauses else ""
    reason = f"{verdict.reason if verdict else reason}{said}"
    now = listed_description(best.document)
    return TrainedDescription(
        was, now, tuple(tried), rate, train_after=rate, verdict=verdict, held_out=held_out, reason=reason
    )


def _unsaid(
    sentences: Sequence[tuple[str, ...]], gone: frozenset[_Place], requests: Sequence[Query]
) -> frozenset[_Place]:
    """Return which of some clauses can go so that each word of the text stands that some request says."""
    needed = set(chain(*(_words(request.text) for request in requests))) - _words(_without(sentences, gone))
    some = {(at, one) for at, one in gone if not _words(sentences[at][one]) & needed}
    heads = {(at, 0) for at, parts in enumerate(sentences) if not {(at, one) for one in range(len(parts) - 1)} <= some}
    return frozenset(some - heads)


def _tried(
    best: Skill, text: str, asked: Sequence[Query], training: DescriptionTraining, tried: list[TriedDescription]
) -> tuple[Skill, bool]:
    """Return a skill with a text, where that may be used and no request goes wrong, else as it was; note what came."""
    requests = [query.text for query in (*training.train, *training.held_out)]
    problem = next((one.outcome for one in training.refused if one.text == text), "")
    problem = problem or check_description(best.document, text, requests, training.settings.allow)
    outcome = f"refused: {problem}" if problem else ""
    candidate = best if problem else best.with_document(with_description(best.document, text))
    # A text that loses something mostly loses its own requests, and then takes no others.
    for own in (True, False):
        queries = [] if outcome else [one for one in asked if (one.expected == best.name) is own]
        if queries and (lost := sum(not row.right for row in training.measure(candidate, queries))):
            outcome = f"{count_noun(lost, 'training request')} would go wrong"
    tried.append(TriedDescription(text, outcome or "no training request goes wrong"))
    training.told(f"{len(text)} characters: {tried[-1].outcome}")
    return (best, False) if outcome else (candidate, True)


def _judged(start: Skill, short: Skill, training: DescriptionTraining, look: int) -> tuple[Verdict, HeldOutTriggers]:
    """Run the held-out requests with both texts: no recall may be lost, no false trigger added."""
    first = Stream.SHRINK.repeat(look * training.repeats)
    sides = [requests_of(one, training.held_out, range(first, first + training.repeats)) for one in (start, short)]
    training.told(f"{len(training.held_out)} held-out requests, with the description before and the shorter one")
    pairs = Pairs.halves(training.runner.rollouts([*sides[0], *sides[1]]))
    check_coverage("held-out requests", pairs.rollouts, training.settings.coverage)
    seen = count_held_out(start.name, training.held_out, pairs)
    before, after, worse = seen.recall_before, seen.recall_after, why_worse(seen)
    if after.hits < before.hits or not after.hits:
        worse = f"{after.hits} of {after.of} held-out requests that should load it do, {before.hits} before"
    found = compare(pairs, training.settings.metric, training.settings.coverage)
    terms = Terms(unless=worse, refuses=bool(worse), against=Against.LONGER)
    verdict, _ = rule_out_loss(found, LOSS_ERRORS[look], terms)
    if not verdict.accepted:  # so few requests cannot bound the loss on others
        verdict = decide(found, Question.NOT_WORSE, 1.0, ONE_LOOK, terms)
    return verdict, seen
