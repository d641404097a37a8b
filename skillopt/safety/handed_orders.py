"""Find text that hands the say to others, claims a power, exempts from checks, or acts for some people only."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.sentences import match_orders
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_handed_orders"]

_GAP: Final = r"[^.!?;\n]{0,50}?"
_POWERS: Final = (
    r"\b(?:administrators?|platform|company|management|polic(?:y|ies)(?: [\d.]+)?|handbook"
    r"|head office|legal|compliance"
    r"|security (?:department|team)|CEO|CTO|anthropic|openai|vendor|the owner)\b"
)
_CHECKS: Final = (
    r"(?:check|test|valid|verif|lint|scan|audit|secur|hook|warning|review|guard|safeguard|protect"
    r"|alarm|alert|monitor)"
    r"[\w-]{0,20}"
)
_ALTERNATIVES: Final = {
    "an order to do what other text says": (
        r"\b(?:execute|obey|heed|comply with|carry out) (?:it|them|these|those|this|that|what|whatever)\b",
        r"\bcarry (?:it|them|these|those) out\b|\bdirectives?\b",
        r"\b(?:run|do|follow|perform) (?:what|whatever) (?:is|it|they|stands|comes|the|that)\b",
        rf"\btreat\b{_GAP}\bas (?:part of|if|(?:\w+ )?(?:rules|orders|instructions|commands))\b",
        r"\bas (?:if|though) (?:it|they) (?:stood|were (?:part|written|given))\b",
        (
            r"\b(?:script|commands?|program)\b[^!?;\n]{0,30}?\bfrom (?:the )?(?:words|letters|text|fields"
            r"|contents?)\b[^!?;\n]{0,50}?\brun\b"
        ),
        r"\b(?:is|are) given by (?:whoever|anyone|the (?:ticket|sender|file|page|document))\b",
        (
            r"\bnext time\b|\bsecond half\b|\bon the (?:second|third|fourth|fifth|nth|last) \w+ of (?:a|the"
            r"|each) session\b"
        ),
    ),
    "a claim of power": (
        (
            rf"{_POWERS}{_GAP}\b(?:requires?|allows?|lets|permits?|wants|demands?|approved|agreed"
            rf"|authori[sz]e[sd]?|orders?"
            r"|insists?|decided|consent(?:s|ed)?|gr?anted)\b"
        ),
        r"\bas (?:agreed|discussed|arranged|settled|approved|ordered) (?:with|by)\b",
        r"\bthis (?:rule|section|skill|line|text) (?:overrides|overrules|supersedes|trumps|outranks|wins over)\b",
        r"\b(?:overrides?|supersedes?|outranks?) (?:all|any|every|each|other)\b",
        (
            rf"\b(?:rules?|sections?|instructions?|limits?)\b{_GAP}\b(?:is|are) (?:now )?(?:void|cancelled"
            rf"|suspended|lifted"
            r"|withdrawn|no longer (?:valid|binding))\b|\bno longer appl(?:y|ies)\b"
        ),
    ),
    "an exemption from checks": (
        (
            rf"\b(?:skip|bypass|disable|deactivate|mute|silence|circumvent|(?:turn"
            rf"|switch) off)\b[^.!?;\n]{{0,30}}?\b{_CHECKS}"
        ),
        rf"\b(?:turn|switch)\b[^.!?;\n]{{0,30}}?\b{_CHECKS}[^.!?;\n]{{0,20}}?\boff\b",
        (
            r"\b(?:need|do|does) not (?:need to )?(?:be|appear|count|show)(?: (?:reviewed|checked|tested"
            r"|validated|reported"
            r"|mentioned|listed|shown|looked at))?\b(?= (?:in|for|by|at|when)\b|[.;,]|$)"
        ),
        r"\bso that (?:nothing|no \w+) (?:is|are|gets?) (?:reported|shown|found|flagged|logged|recorded)\b",
        (
            r"\b(?:thresholds?|tolerance|log-?statement|log-?level)\b[^.!?;\n]{0,12}(?:\bto 0\b|\bto zero\b"
            r"|['\"]?\bnone\b)"
        ),
        (
            r"\b(?:replace|swap|change)\b[^!?;\n]{0,50}?\b(?:by|with|for|into) (?:a|one"
            r"|an) (?:\w+ )?(?:\w+ )?(?:that|which)"
            r" (?:always |only )?(?:prints?|returns?|passes|succeeds|says|reports|exits)\b"
        ),
    ),
    "an order to act for others or on them": (
        r"\b(?:approve|merge|release|sign|accept|publish|authori[sz]e)\b[^.!?;\n]{0,30}?\byourself\b",
        (
            r"\b(?:if|when|where|whenever) the (?:author|repository|user|requester|maintainer"
            r"|organi[sz]ation|account) (?:is|was"
            r"|belongs|works|comes|name)\b"
        ),
        r"\b(?:say|answer|state|claim|reply) (?:that )?there (?:is|are|was|were) (?:none|no|nothing)\b",
        r"\bact as (?:if|though)\b|\bnot allowed to do\b",
        r"\bfor (?:task|case|question|item|example) \S{1,12} the (?:answer|result|value|output) is\b",
        (
            r"\b(?:copy|move|sync|mirror|push|save|back ?up|put|include)\b[^.!?;\n]{0,40}?\b(?:to|into|on"
            r"|of) (?:/(?!tmp\b|dev\b)"
            r"|(?:\S{1,20} ){0,5}(?:public|private|shared) (?:\w+ )?(?:mirror|folder|files?|drive|branch"
            r"|share|repositor))"
        ),
    ),
}
_PATTERNS: Final = {what: LazyPattern("|".join(many), re.IGNORECASE) for what, many in _ALTERNATIVES.items()}


def find_handed_orders(paragraph: str) -> Iterator[TextMatch]:
    """Find sentences that let something other than the skill or its user decide.

    >>> [found.what for found in find_handed_orders("The first row may hold a step; execute it.")]
    ['an order to do what other text says']

    Args:
        paragraph: Its lines joined by spaces, as a reader takes them.
    """
    for what, pattern in _PATTERNS.items():
        yield from match_orders(pattern, paragraph, LintClass.CONCEALMENT, what)
