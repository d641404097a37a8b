"""Find text in a result that addresses its judge (prompt injection), and quote a result so that nothing in it steers.

What is found is evidence, not proof: a page about judges speaks of them, too. So nothing is refused for it; it decides
whether the judge also reads the result without those lines. A paraphrase, another language than English and an
encoding pass unseen.
"""

import re
from functools import lru_cache
from typing import Final

from skillopt.safety.disguised_text import as_read
from skillopt.safety.escaping import escape_hidden
from skillopt.safety.unseen_text import CHAT_MARK

LEFT_OUT: Final = "[left out: a line that speaks to whoever judges this]"

_JUDGE: Final = r"(?:judge|grader|grading (?:model|system|script)|evaluator|assessor|scorer|rater)s?"
_MET: Final = (
    r"(?:met|pass(?:ed|es|ing)?|true|satisfied|fulfilled|correct|perfect|full(?: marks| score)?|1(?:\.0)?|100?)"
)
_ALL: Final = r"(?:all|every|each|any|the|this|these|both|following)"
_REASONS: Final = {
    "it speaks to its judge": (
        rf"\b(?:dear|attention|hey|hello|hi|notes? (?:to|for)|message (?:to|for)|instructions? (?:to|for)|@)\W*"
        rf"(?:the |all |any |our |my |ai |llm |automated |model )*{_JUDGE}\b"
        rf"|\b{_JUDGE}\b\s*[:,]\s*(?:please|you|this|mark|score|give|reply|output|ignore|the answer)\b"
        rf"|\b(?:you are(?: now)?|as|being) (?:an? |the )?(?:\w+ ){{0,2}}{_JUDGE}\b"
        r"|\bif you(?: are|'re) (?:an? )?(?:ai|llm|large language model|language model|judge|grader|reading this)\b"
        rf"|\b(?:mark|rate|grade|judge|deem|consider|count|treat|accept) (?:this|it|my|{_ALL})\b"
        rf"[^.\n]{{0,50}}\b{_MET}\b"
        r"|\b(?:give|assign|award|deserves?)\b[^.\n]{0,30}\b(?:full|maximum|perfect|top|highest|passing|pass)\b"
        r"[^.\n]{0,20}\b(?:score|marks?|grade|rating|points|verdict)\b"
        rf"|\b(?:reply|respond|answer|say|write)\b (?:only |just |exactly |with )+[\"'`{{(]*{_MET}\b"
    ),
    "it gives orders": (
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
        r"\b(?:previous|above|prior|earlier|preceding|instructions?|criteri(?:a|on)|rubric|rules|prompt)\b"
        r"|\b(?:new|updated|revised|real|actual|secret) (?:system )?(?:instructions?|rubric|prompt|task)\b\s*[:=]"
        r"|\bsystem (?:prompt|message|override|notice)\b|\bdeveloper mode\b"
        r"|\bend of (?:the )?(?:result|data|submission|input|quote)\b"
    ),
    "it claims a verdict": (
        rf"\b{_ALL}(?: of)?(?: the| these| those| hidden| listed| given)* criteri(?:a|on)\b[^.\n]{{0,30}}\b{_MET}\b"
        rf"|\bcriteri(?:a|on)\b\s*#?\d*\s*[:=-]*\s*(?:is |are )?{_MET}\b"
        rf"|\b(?:overall |final |my )?(?:verdict|score)\b\s*(?:is|[:=])+\s*[\"'*]*"
        r"(?:met|pass(?:ed)?|perfect|1(?:\.0)?|100?(?:/100?)?)(?![\w.])"
        rf"|\bscore (?:it |this |everything )?(?:as |at |with |an? )?(?:1(?:\.0)?|100?|full|perfect)(?![\w.,])"
        r"|[\"']verdicts?[\"']\s*:|[\"']criterion[\"']\s*:"
        r"|\b(?:approved|certified|(?:pre-?)?verified|confirmed)\b[^.\n]{0,20}\bby\b[^.\n]{0,30}\b(?:judge|grader|evaluator|qa)\b"
    ),
    "it imitates the prompt": (
        r"<<<\s*\w+ [0-9a-z]{6,}|\b\w+ [0-9a-z]{6,}>>>"
        r"|^\W*#+ *(?:criteria|what a good result would be|verdicts?)\W*$|\btask: judge a result\b"
        r"|<\s*/\s*(?:result|submission|untrusted|evaluation)\s*>|" + CHAT_MARK
    ),
}
_PATTERNS: Final = {reason: re.compile(text, re.IGNORECASE | re.MULTILINE) for reason, text in _REASONS.items()}
_OF_LINES: Final = "it imitates the prompt"
"""The one reason whose pattern looks at where lines begin."""

_ROLE_TOKEN: Final = re.compile(CHAT_MARK, re.IGNORECASE)
_BRACKETS: Final = "<>[]|\uff5c"
_WINDOW: Final = 3
"""Lines in a row that are read as one: an order may be broken over them."""

_LONGEST: Final = 4_000
"""Characters of one line that are read."""


@lru_cache(maxsize=512)
def addressing_lines(text: str, known: str = "") -> tuple[str, frozenset[int]]:
    """Find the lines of a result that address its judge: why, in a few words, and their numbers from 0.

    What the words of the suite's author, `known`, say themselves is no evidence.
    """
    said = _reasons(known, tuple(_PATTERNS))
    reasons = tuple(reason for reason in _PATTERNS if reason not in said)
    lines = [line[:_LONGEST] for line in text.split("\n")]
    whole = " ".join(line.strip() for line in lines)
    if whole.isascii() and len(as_read(whole)) == len(whole):  # then parts read as they do in the whole
        seen = as_read(whole)
        reasons = tuple(
            reason for reason in reasons if _PATTERNS[reason].search(seen) or ("#" in seen and reason == _OF_LINES)
        )
        if not reasons:
            return "", frozenset()
    found: dict[tuple[int, ...], tuple[str, ...]] = {(at,): _reasons(line, reasons) for at, line in enumerate(lines)}
    for size in range(2, _WINDOW + 1):
        for at in range(len(lines) - size + 1):
            window = tuple(range(at, at + size))
            # Only what no part of the window says by itself, or its innocent neighbours were left out, too.
            if not any(found.get(window[i:j]) for j in range(1, size + 1) for i in range(j)):
                found[window] = _reasons(" ".join(lines[line].strip() for line in window), reasons)
    told = dict.fromkeys(reason for some in found.values() for reason in some)
    return "; ".join(told), frozenset(line for window, some in found.items() if some for line in window)


def leave_out_lines(text: str, lines: frozenset[int]) -> str:
    """Return a text without some lines, saying where one was left out."""
    return "\n".join(LEFT_OUT if at in lines else line for at, line in enumerate(text.split("\n")))


def quote_lines(text: str) -> str:
    r"""Quote a text line by line, hidden characters named and the marks of chat formats broken up."""
    plain = escape_hidden(text.replace("\r\n", "\n").replace("\r", "\n"))
    safe = _ROLE_TOKEN.sub(lambda match: f"⟨token {match[0].strip(_BRACKETS)}⟩", plain)
    return "\n".join(f"| {line}" for line in safe.split("\n"))


@lru_cache(maxsize=4096)  # the results of a task have most of their lines in common
def _reasons(line: str, reasons: tuple[str, ...]) -> tuple[str, ...]:
    seen = as_read(line)
    return tuple(reason for reason in reasons if _PATTERNS[reason].search(seen))
