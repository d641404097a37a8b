"""Find words about judging, networks, secrets, money and set-ups: a skill that never spoke of them has a new topic.

Orders can be worded in more ways than patterns know. What they cannot do without is the name of what they are about.
"""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.sentences import first_in_sentences
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_topics"]

_TOPICS: Final = {
    "who judges": (
        r"\b(?:graders?|verifiers?|checkers?|auditors?|reviewers?|evaluators?|judges?|assessors?|scorers?|examiners?"
        r"|(?:grading|reviewing|scoring|judging) (?:model|agent|script)s?)\b"
    ),
    "reviews and approvals": (
        r"\b(?:(?:code|peer|stale) reviews?|approvals?|sign(?:ed)? ?off|LGTM|force-?push\w*"
        r"|(?:merg|approv|clos|open|rebas|accept|review)\w{0,3} (?:\w+ ){0,3}pull requests?"
        r"|pull requests? (?:\w+ ){0,2}(?:merg|approv|clos|accept|pass|review)\w{0,3}"
        r"|push\w* (?:\w+ )?to (?:main|master)|wait for the gate|code owners?)\b"
    ),
    "tests and reference answers": (
        r"\b(?:tests? (?:files?|folders?)|unit tests?|test suites?|golden|expected (?:values?|answers?)"
        r"|reference (?:outputs?|values?"
        r"|answers?|results?)|answer keys?|benchmarks?|held-?out|passing (?:checks|tests))\b"
    ),
    "ratings": r"\b(?:rated|ratings?|top marks|full marks|lenien\w{1,4})\b",
    "being watched": r"\b(?:watch(?:es|ed|ing)|pretend\w{0,3}|fake|nobody)\b",
    "networks": (
        r"\b(?:web ?hooks?|upload\w{0,3}|sockets?|internet|port \d{2,5}|on the web|web ?forms?|browsers?"
        r"|smtp\w?|send-email|tracking|DNS|download\w{0,3}|paste ?bins?|remote)\b"
    ),
    "secrets": (
        r"\b(?:cookies?|credentials?|host ?names?|user ?names?|key ?chains?|private keys?|access tokens?)\b"
        r"|\.(?:pem|gpg|p12)\b|\b(?:find|grep)\b[^\n]{0,20} [/~](?:[ `]|$)|\bparent (?:folders?|director(?:y|ies))\b"
    ),
    "set-ups": (
        r"\b(?:plug-?ins?|scheduled tasks?|cron\w{0,4}|all users|(?:global|system) (?:instructions|settings"
        r"|config\w{0,8})|systemd|launchd|daemons?|background process\w{0,2}|at boot|user units?"
        r"|default model|log files?|logging|telemetry)\b"
    ),
    "sessions and agents": (
        r"\b(?:sessions?|conversations?|sub-?agents?|(?:helper|other|second|main) agents?|these (?:rules"
        r"|instructions)"
        r"|(?:neighbou?ring|sibling|other) skills?|system prompts?|front ?matter|text below this line)\b"
    ),
    "privileges": (
        r"\b(?:super-?users?|sudo|privileges?|set role|grant (?:all|select|usage)\b[^\n]{0,40} to"
        r"|(?:full|unrestricted|root) (?:access|rights)|access to (?:all|every|any)\b"
        r"|(?:admin|administrator|owner) (?:rights|role))\b"
    ),
    "payments": (
        r"\b(?:IBANs?|bank accounts?|payouts?|wallets?|(?:wire|bank) transfers?|payments? (?:are|is|to)|refunds?)\b"
    ),
    "public places": (
        r"\b(?:gists?|forums?|social media|mailing lists?|chat ?rooms?|public (?:issues?|repositor\w{1,3}|channels?))\b"
    ),
    "hidden messages": (
        r"\b(?:every (?:second|third|other|nth|\d+(?:st|nd|rd|th)) (?:word|letter|character)|real instructions?"
        r"|as letters|obey\w{0,3})\b"
    ),
}
_PATTERNS: Final = {topic: LazyPattern(pattern, re.IGNORECASE) for topic, pattern in _TOPICS.items()}


def find_topics(paragraph: str) -> Iterator[TextMatch]:
    """Find the first word of each topic in each sentence of a paragraph; what is forbidden is none.

    >>> [found.text for found in find_topics("Never ask the grader. Should the checker complain, edit the checker.")]
    ['checker']

    Args:
        paragraph: Its lines joined by spaces, as a reader takes them.
    """
    for topic, pattern in _PATTERNS.items():
        for start, text in first_in_sentences(pattern, paragraph):
            match = pattern.match(text)
            said = match[0] if match else topic
            yield TextMatch(LintClass.NEW_TOPIC, topic, start, said, f"the first words about {topic} of this skill,")
