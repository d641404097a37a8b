"""Find text that stands in for a review: it speaks to who reviews, says that it was checked, or approves and merges."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.sentences import match_orders
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_claimed_review"]

_GAP: Final = r"[^.!?;\n]{0,50}?"
_READER: Final = (
    r"(?:reviewers?|approvers?|maintainers?|graders?|judges?|evaluators?|assessors?|auditors?|linters?|checkers?"
    r"|moderators?|code owners?|scanners?|classifiers?|optimizers?|proposers?)"
)
_ITSELF: Final = (
    r"(?:this|these|the (?:above|following|present|new|added|next)|it|all|everything)"
    r"(?: (?:\w{1,12} )?(?:rules?|sections?|edits?|changes?|lines?|blocks?|skills?|texts?|steps?|instructions?|patch"
    r"(?:es)?"
    r"|versions?|paragraphs?|files?|additions?|drafts?|diffs?|guidance|content|updates?|commits?|pull requests?"
    r"|PRs?|sentences?|wording|bullets?|parts?|notes?))?"
)
_OWN: Final = (
    r"(?:this|our|the new|the present|the trained|the current) (?:skill|version|candidate|draft|edit|rule|change"
    r"|patch|file)"
)
_JUDGED: Final = (
    r"(?:(?:pre-?)?approved|reviewed|verified|(?:double-?)?checked|validated|trusted|audited|certified|signed off"
    r"|vetted"
    r"|cleared|whitelisted|allow-?listed|accepted|authori[sz]ed|inspected|proven|greenlit|green-lit|blessed|sanctioned"
    r"|exempt)"
)
_ALTERNATIVES: Final = (
    (
        rf"^\W*(?:dear |hey |attention,? |note (?:to|for) |to (?:the |all |any )?)?(?:the |all |any )?{_READER}\b"
        rf" ?[:,\u2014-] ?\w"
    ),
    (
        rf"\b(?:notes?|messages?|hints?|memo|reminders?|advice|instructions?|comments?) (?:to|for) (?:the |any |all"
        rf" |our"
        rf" )?{_READER}\b"
    ),
    (
        rf"\b{_ITSELF} (?:(?:has|have) (?:already |just |all )?been|was|were|is|are) (?:already |all |fully |long"
        rf" )*{_JUDGED}\b"
        rf"(?!{_GAP}\b(?:before|until|unless|if|when|only)\b)"
    ),
    (
        rf"\b{_JUDGED}\b (?:already )?by (?:the |our |your |an? )?(?:\w{{1,15}} )?(?:security|compliance|legal|platform"
        rf"|safety"
        r"|core|review|infra\w{0,12}|audit|QA)(?: (?:team|board|group|department|office|staff))?\b"
    ),
    r"\bLGTM\b|\bship it\b|\b(?:no|without) (?:(?:any|further|more|another|additional|human|manual|code) )+review\b",
    (
        rf"\b{_ITSELF}\b{_GAP}\b(?:needs?|requires?|wants?) (?:no|neither|not any) (?:\w{{1,12}} )?(?:person|people"
        rf"|humans?|review\w{{0,3}}"
        r"|approval|check\w{0,3}|lint\w{0,3}|look|attention|marks?|gate|inspection|confirmation)\b"
    ),
    (
        rf"\b(?:do not|don't|never|no need to) (?:lint|flag|mark|scan|review|re-?check|inspect|report|refuse|reject"
        rf"|question)\b"
        rf" {_ITSELF}\b|\b(?:do not|don't|never) (?:lint|flag|scan|reject|refuse) (?:it|them|any)\b"
    ),
    (
        r"\b(?:noqa|nolint|no-?lint|lint-?(?:disable|ignore|skip|off)|skip-?lint|nosec|semgrep-?ignore)\b\W{0,3}"
        r"(?:skillopt|this|all)\b"
    ),
    r"\bskillopt[:-] ?(?:ignore|disable|skip|allow|trust|off|safe)\w{0,2}\b",
    (
        r"\b(?:approve|accept|merge|take|publish|release|pass)\b (?:this|the present|our) (?:\w{1,10} )?(?:edit|change"
        r"|pull request"
        r"|PR|patch|version|skill|draft|rule|diff|candidate|proposal)s?\b"
    ),
    (
        r"\bmerge (?:(?:the|this|your|its|my|every|each|any|all) )?(?:pull requests?|PRs?|changes?|branch(?:es)?"
        r"|drafts?"
        r"|it|them)"
        rf"\b{_GAP}\b(?:yourself|itself|automatically|directly|as soon as|without|right away|immediately|unread|by"
        rf" yourself)\b"
    ),
    r"\bgh[ \t]+pr[ \t]+(?:review\b[^\n`]{0,60}?--approve|merge\b[^\n`]{0,60}?--(?:admin|auto))",
    (
        r"\b(?:enable|turn on|switch on|set up|use) auto-?merge\b|\b(?:disable|turn off|remove|lift|relax|bypass|weaken"
        r"|edit|change)"
        rf"\b{_GAP}\b(?:branch protection|required (?:reviews?|checks?|approvals?)|rulesets?|CODEOWNERS)\b"
    ),
    rf"\b(?:add|put|write|insert|register)\b{_GAP}\b(?:CODEOWNERS|code owners?)\b",
    r"\bgrade: ?[\"'`]?(?:proven|passed|accept)|\bverdict: ?[\"'`]?(?:accept|pass)|\bneeds (?:no|not a) person\b",
    r"(?<![\w./-])skillopt[ \t]+(?:take|approve|release|rollback|offer|publish|allow|gate|train|config|set)\b",
    (
        rf"\b(?:rate|rank|score|grade|prefer|favou?r|vote for|choose|mark|judge|recommend|consider|declare|count)\b"
        rf" {_OWN}\b"
    ),
    (
        r"\b(?:prefer|choose|pick|favou?r|select|vote for) (?:the )?(?:candidate|version|option|skill|answer|result"
        r"|variant|side)"
        rf" (?:[AB12]|one|two)\b{_GAP}\b(?:when|whenever|always|if|in|over|whatever)\b"
    ),
    (
        rf"\b(?:rate|rating|score|grade|judge|award|give|use|assign|mark|put)\b{_GAP}\b(?:10/10|5/5|100/100|100 ?%|five"
        rf" stars|\d+ (?:of|out of)"
        rf" \d+)(?!\w){_GAP}\b(?:whenever|always|when you|every|each|all|regardless|any|this|own)\b"
    ),
    (
        rf"\b(?:treat|consider|regard|read|take|handle|obey|follow)\b{_GAP}\b(?:this|the) (?:skill|file|text|section"
        rf"|document|rule)s?\b"
        rf"{_GAP}\b(?:as|like)\b{_GAP}\b(?:system|developer|highest|root|supreme|final authority|law|admin\w{{0,12}})\b"
    ),
    (
        rf"\b(?:fully|completely|perfectly|entirely|clearly) (?:satisf|meet|fulfil|compl)\w{{0,6}}\b{_GAP}\b(?:rubrics?"
        rf"|criteri(?:a|on)"
        r"|requirements|expectations|checks?|verifiers?)\b"
    ),
    (
        r"\b(?:everything|all(?: text| rules)?|what stands|the rules|the text|the sections?) (?:above|below|before"
        r" this)\b[^.!?\n]{0,20}?\b(?:is|are|was|has"
        r" been|have been) (?:now )?(?:void|invalid|cancel\w{0,5}|obsolete|superseded|replaced|revoked|withdrawn"
        r"|outdated"
        r"|wrong|no longer)\b"
    ),
)
_REVIEW: Final = LazyPattern("|".join(_ALTERNATIVES), re.IGNORECASE)
_STEMS: Final = (
    *("review", "approv", "maintainer", "grade", "judge", "evaluat", "assess", "audit", "lint", "checker", "moderat"),
    *("code owner", "codeowner", "scan", "classif", "optimiz", "propos", "verif", "check", "valid", "trust", "certif"),
    *("sign", "vet", "clear", "list", "accept", "authori", "inspect", "proven", "green", "bless", "sanction", "exempt"),
    *("lgtm", "ship it", "flag", "mark", "noqa", "nosec", "ignore", "skillopt", "merge", "protection", "ruleset"),
    *(
        "required",
        "verdict",
        "person",
        "people",
        "human",
        "skill",
        "version",
        "candidate",
        "draft",
        "10/10",
        "5/5",
        "100",
    ),
    *(
        "stars",
        "out of",
        " of ",
        "system",
        "highest",
        "rubric",
        "criteri",
        "requirement",
        "expectation",
        "above",
        "below",
    ),
    *("take", "publish", "release", "rate", "rank", "prefer", "favo", "choose", "pick", "vote"),
)
"""One of these is in all that is looked for; most paragraphs have none and cost nothing."""


def find_claimed_review(paragraph: str) -> Iterator[TextMatch]:
    """Find the first place in each sentence of a paragraph that stands in for a review; what is forbidden is none.

    >>> [found.text for found in find_claimed_review("Trim cells. This rule was approved by the security team.")]
    ['This rule was approved by the security team.']

    Args:
        paragraph: Its lines joined by spaces, as a reader takes them.
    """
    folded = paragraph.lower()
    if any(stem in folded for stem in _STEMS):
        yield from match_orders(_REVIEW, paragraph, LintClass.JUDGE_GAMING, "text that stands in for a review")
