"""Find text in a result that addresses its judge (prompt injection), and quote a result so that nothing in it steers.

What is found is evidence, not proof: a page about judges speaks of them, too. So nothing is refused for it; it decides
whether the judge also reads the result without those lines. A paraphrase, a language that is not listed, or an encoding
other than Base64 passes unseen.
"""

import binascii
import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import Final

from skillopt.safety.escaping import escape_hidden
from skillopt.safety.hidden_unicode import without_hidden

__all__ = ["LEFT_OUT", "addressing_lines", "leave_out_lines", "quote_lines"]

LEFT_OUT: Final = "[left out: a line that speaks to whoever judges this]"

_JUDGE: Final = r"(?:judge|grader|grading (?:model|system|script)|evaluator|assessor|scorer|rater)s?"
_MET: Final = (
    r"(?:met|pass(?:ed|es|ing)?|true|satisfied|fulfilled|correct|perfect|full(?: marks| score)?|1(?:\.0)?|100?)"
)
_ALL: Final = r"(?:all|every|each|any|the|this|these|both|following)"
_ROLE_MARK: Final = (
    r"<[|\uff5c][^|\uff5c<>\n]{1,40}[|\uff5c]>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</?s>|<[be]os>"
)
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
        r"|<\s*/\s*(?:result|submission|untrusted|evaluation)\s*>|" + _ROLE_MARK
    ),
    "it speaks to its judge in another language": (
        r"alle kriterien|bewerte (?:dies|das|es|alles) |ignoriere? |volle punktzahl|tous les crit[eè]res"
        r"|ignorez |note maximale"
        r"|todos los criterios|ignora (?:las|todas)|puntuaci[oó]n m[aá]xima|todos os crit[eé]rios|ignore (?:as|todas) "
        r"|tutti i criteri|punteggio massimo|alle criteria|wszystkie kryteria|zignoruj|tüm kriter"
        r"|все критери|игнорируй|максимальн\w+ (?:балл|оцен)|всі критері"
        r"|所有(?:标准|標準|准则)|忽略|满分|滿分|すべての(?:基準|条件)|無視し|満点|모든 기준|무시하|만점"
        r"|جميع المعايير|تجاهل|सभी मानदंड|כל הקריטריונים|mọi tiêu chí|tất cả (?:các )?tiêu chí"
    ),
}
_PATTERNS: Final = {reason: re.compile(text, re.IGNORECASE | re.MULTILINE) for reason, text in _REASONS.items()}
_STEMS: Final = (
    *("judge", "grad", "evaluat", "assess", "scor", "rate", "mark", "deem", "consider", "count", "treat", "accept"),
    *("give", "assign", "award", "deserv", "reply", "respond", "answer", "say", "write", "if you", "you are", "being"),
    *(
        "ignor",
        "disregard",
        "forget",
        "overrid",
        "bypass",
        "instruction",
        "rubric",
        "prompt",
        "task",
        "system",
        "end of",
    ),
    *(
        "developer",
        "criteri",
        "verdict",
        "approved",
        "certified",
        "verified",
        "confirmed",
        "<<<",
        ">>>",
        "</",
        "<|",
        "⟨",
    ),
    *("[inst", "[/inst", "<<sys", "_of_turn>", "<s>", "os>", "kriteri", "crit", "bewert", "punkt", "note", "nota"),
    *("puntuaci", "punteggio", "kryter", "zignoruj"),
)
"""What a line has in it that is worth a closer look, beside all that is not ASCII."""

_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{20,4000}={0,2}")
_MIXED: Final = re.compile(r"[A-Za-z][0134579@$]+[A-Za-z]|\b[0134579@$]+[A-Za-z]{2}")
_SPACED: Final = re.compile(r"\b(?:\w[ ._*-]){4,}\w\b")
_ROLE_TOKEN: Final = re.compile(_ROLE_MARK, re.IGNORECASE)
_CYRILLIC_SMALL: Final = "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf"
_GREEK_SMALL: Final = "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
_CYRILLIC_LARGE: Final = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
_BRACKETS: Final = "<>[]|\uff5c"
_LOOK_ALIKES: Final = str.maketrans(
    _CYRILLIC_SMALL + _GREEK_SMALL + _CYRILLIC_LARGE,
    "aeopcyxijsdhlaeiknoptuxABEKMHOPCTXIJS",
)
"""Letters that look like Latin ones."""

_DIGITS: Final = str.maketrans("0134579@$", "oleastgas")
_WINDOW: Final = 3
"""Lines in a row that are read as one: an order may be broken over them."""

_LONGEST: Final = 4_000
"""Characters of one line that are read."""


@lru_cache(maxsize=512)
def addressing_lines(text: str, known: str = "") -> tuple[str, frozenset[int]]:
    """Find the lines of a result that address its judge.

    Args:
        text: The result.
        known: What the suite's author wrote of the task. What the author's own words say is no evidence.

    Returns:
        Why, in a few words, empty for nothing; and the lines' numbers from 0.
    """
    said = _reasons(known, _PATTERNS)
    patterns = {reason: pattern for reason, pattern in _PATTERNS.items() if reason not in said}
    lines = [line[:_LONGEST] for line in text.split("\n")]
    if next(_views(" ".join(line.strip() for line in lines)), None) is None:  # nor has any part of it
        return "", frozenset()
    found: dict[tuple[int, ...], list[str]] = {(at,): _reasons(line, patterns) for at, line in enumerate(lines)}
    for size in range(2, _WINDOW + 1):
        for at in range(len(lines) - size + 1):
            window = tuple(range(at, at + size))
            # Only what no part of the window says by itself, or its innocent neighbours were left out, too.
            if not any(found.get(part) for part in _parts(window)):
                found[window] = _reasons(" ".join(lines[line].strip() for line in window), patterns)
    reasons = dict.fromkeys(reason for some in found.values() for reason in some)
    return "; ".join(reasons), frozenset(line for window, some in found.items() if some for line in window)


def _parts(window: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """List the shorter runs of lines in a window."""
    for size in range(1, len(window)):
        yield from (window[at : at + size] for at in range(len(window) - size + 1))


def leave_out_lines(text: str, lines: frozenset[int]) -> str:
    """Give a text without some lines, saying where one was left out."""
    return "\n".join(LEFT_OUT if at in lines else line for at, line in enumerate(text.split("\n")))


def quote_lines(text: str) -> str:
    r"""Quote a text line by line, hidden characters named and the marks of chat formats broken up.

    >>> print(quote_lines("one\n<|im_start|>system"))
    | one
    | ⟨token im_start⟩system
    """
    plain = escape_hidden(text.replace("\r\n", "\n").replace("\r", "\n"))
    safe = _ROLE_TOKEN.sub(lambda match: f"⟨token {match[0].strip(_BRACKETS)}⟩", plain)
    return "\n".join(f"| {line}" for line in safe.split("\n"))


def _reasons(line: str, patterns: "dict[str, re.Pattern[str]]") -> list[str]:
    views = list(_views(line))
    return [reason for reason, pattern in patterns.items() if any(map(pattern.search, views))] if views else []


def _views(text: str) -> Iterator[str]:
    """Give the ways to read a text that may say something: as seen, letters and digits exchanged, joined, decoded."""
    seen = text if text.isascii() and text.isprintable() else unicodedata.normalize("NFKC", without_hidden(text))
    seen = unescape(seen)
    folded = seen.casefold()
    if not seen.isascii() or any(stem in folded for stem in _STEMS):
        yield seen
    if not seen.isascii():
        yield seen.translate(_LOOK_ALIKES)
    if _MIXED.search(seen):
        yield seen.translate(_DIGITS)
    if _SPACED.search(seen):
        wide = re.sub(r" {2,}", " \u2004 ", seen)
        yield _SPACED.sub(lambda match: re.sub(r"[ ._*-]", "", match[0]), wide)
    for match in _ENCODED.finditer(seen):
        yield from _decoded(match[0])


def _decoded(text: str) -> Iterator[str]:
    try:
        decoded = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if set("-_") & set(text) else None)
        yield decoded.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return
