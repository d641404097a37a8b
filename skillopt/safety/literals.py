"""Find the literals of a skill's text: what names one thing of the world, as no ordinary word of a language does.

Blocks of code are found in the parsed page; every line is then read with its code spans, so that nothing of the source
is left out, seen or unseen. Each pattern starts at a rare sign or repeats within bounds: reading takes linear time.
"""

import re
from calendar import day_name, month_name
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from markdown_it import MarkdownIt

from skillopt.safety.credentials import find_credentials
from skillopt.safety.disguised_text import as_read
from skillopt.safety.words import is_ordinary, language_of, words_of

__all__ = ["Literal", "LiteralKind", "code_lines", "find_literals", "normalise", "split_prose"]


class LiteralKind(StrEnum):
    """What a literal names, what it lets an agent do first."""

    PERMISSION = "permission"
    VARIABLE = "environment variable"
    HOST = "host"
    COMMAND = "command"
    PATH = "path outside the workspace"
    TOOL = "tool"
    REFERENCE = "text to follow"
    CONDITION = "condition"
    NAME = "name"
    NUMBER = "number or identifier"
    FILE = "file"
    QUOTE = "quoted string"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal with its line from 1."""

    kind: LiteralKind
    text: str
    line: int = 0


_LONGEST_TEXT: Final = 200_000
_LONGEST_LINE: Final = 10_000
_WORD: Final = re.compile(r"[^\W_]+")
_GROUPED: Final = re.compile(r"(?<=\d)[,.'](?=\d{3}(?!\d))")
_SPAN: Final = re.compile(r"`+([^`\n]+)`+")
_SHELL: Final = frozenset(("bash", "sh", "shell", "console", "zsh", "fish", "powershell", "ps1", "bat", "cmd", ""))
_PLACES: Final = (LiteralKind.FILE, LiteralKind.PATH, LiteralKind.HOST)
_CAPITAL_NOUNS: Final = ("de",)
_DATES: Final = frozenset((*day_name, *month_name[1:]))
_DIGITS: Final = 3  # from which on a number names something
_SHORT: Final = 5  # letters of an abbreviation
_PART: Final = r"[\w.@+*?~{}$%-]"
_TOKEN: Final = re.compile(
    r"(?P<HOST>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'`)\]|]+|(?<![\w.@-])www\.[^\s<>\"'`)\]]+"
    r"|(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-]))"
    r"|(?P<NAME>(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}|(?<![\w@/.])@[\w-]{2,60}\b(?!/))"
    r"|(?P<VARIABLE>\$(?:env:)?\{?[A-Za-z_]\w{1,60}\}?(?![\w(/\\])|%[A-Z_]{3,40}%"
    r"|(?<![\w$/.])[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40})+\b)"
    r"|(?P<NUMBER>[$\u00a3\u00a5\u20a0-\u20cf] ?\d[\d.,]*\w?"
    r"|(?<![\w.])\d[\d.,' ]{0,20}(?:[\u00a3\u00a5\u20a0-\u20cf%]|[A-Z]{3}\b))"
    rf"|(?P<path>(?<![\w/\\.])(?:~|\.{{1,2}}|\$\{{?\w{{1,40}}\}}?|[A-Za-z]:)?[/\\](?:{_PART}{{1,80}}[/\\]?){{1,12}}"
    rf"|(?<![\w/\\.@])(?:\.?[\w*-]{_PART}{{0,80}}[/\\]){{1,12}}(?:{_PART}{{1,80}})?)"
    r"|(?P<number>(?<![\w.])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
    r"|(?<![\w.])\d{2,4}(?: \d{2,4}){2,8}(?!\w)|(?<![\w.,])\d[\d.,:'/-]{1,30}\d(?!\w)"
    r"|(?<![\w-])(?=[A-Za-z-]{0,20}\d)[A-Za-z]{1,20}[A-Za-z0-9]{0,20}(?:-[A-Za-z0-9]{1,20}){0,6}(?![\w-]))"
    r"|(?P<code>(?<![\w.-])[A-Za-z]\w{0,60}(?:(?:\.|::|->)[A-Za-z_]\w{0,60}){1,8}\(?"
    r"|(?<![\w-])_{0,2}[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40})+\(?|(?<![\w-])[a-z]{1,30}[A-Z][A-Za-z0-9]{1,40}\(?)"
)
_FILE: Final = re.compile(r"[\w*?-][\w.*?-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,9}")
_HOST: Final = re.compile(r"(?:[\w-]{1,63}\.){1,8}[a-z]{2,18}")
_QUOTE: Final = re.compile(r"[\"\u201c\u201e]([^\"\u201c\u201d\n]{2,200})[\"\u201d]|(?<![\w'])'([^'\n]{2,100})'(?!\w)")
_NAME: Final = re.compile(
    r"\b[A-Z\u00c0-\u00de]\.?[\w'\u2019-]{0,40}(?:(?: (?:of|de|van|von|&))? [A-Z\u00c0-\u00de][\w'\u2019-]{0,40}){0,5}"
)
_STARTS: Final = re.compile(r"(?:\A|[.!?:;|>(\[\"\u201c\u2013\u2014*]|\d\)|-)[\s*_\"(\[#>|-]*\Z")
_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|unless|until|while|once|after|before|since|where|on|from)\b([^,.;:|]{3,120}(?:\.\w[^,.;:|]{0,60})?)",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"\b(?:follow|obey|apply|execute|see|read|per|according to)\b([^.;|]{0,120}(?:\.\w[^.;|]{0,60})?)", re.IGNORECASE
)
_ORDERS: Final = re.compile(
    r"\b(?:instructions?|steps|rules|orders|guidelines?|commands?|advice|notes?) "
    r"(?:in|of|from|at|on|inside|given|found|written|that|which)\b[^.;|]{0,80}",
    re.IGNORECASE,
)
_LINK: Final = re.compile(
    r"\]\(<?([^()\s<>]{1,300})>?(?:\s[^()]{0,200})?\)|^\s{0,3}\[[^\]]{1,100}\]:\s{1,4}(\S{1,300})"
)
_INCLUDE: Final = re.compile(r"(?<![\w@.])@((?:~?[\w.-]{0,60}/){0,8}[\w.-]{1,60}\.\w{1,10}|~?/[\w./-]{1,200})")
_ALLOWED: Final = re.compile(
    r"(?:permission|allow(?:ed|list)?|approv|sandbox|bypass|trust|privileg|skip-?perm|yolo|full-?auto|\bask\b|chmod|sudo)",
    re.IGNORECASE,
)
_MAY: Final = re.compile(
    r"\b(?:you|agents?|it) (?:can|[\w ]{0,40}\bmay|(?:is|are) (?:allowed|permitted|free) to)\b[^.;|]{3,120}",
    re.IGNORECASE,
)
_TOOL: Final = re.compile(
    r"\bmcp__\w{1,80}|\b[A-Z][a-z][A-Za-z]{1,30}\((?=[\w*./ -]{1,60}[:)*])[^()\n]{0,60}\)|\b[A-Z]\w{2,30}(?= tools?\b)"
)
_STATEMENT: Final = re.compile(r"&&|\|\|?|;|\$\(|\n")
_LEAD: Final = re.compile(
    r"^\s*(?:[$#>%] |PS> ?)?(?:(?:sudo|env|time|nohup|exec|command|xargs)\s+(?:-\S+\s+)*|\w{1,40}=\S*\s+)*"
)
_PROGRAM: Final = re.compile(
    r"(?:[~.\w-]{0,40}/){0,8}([a-z][\w.+-]{0,40}(?![\w.(=+-])|[A-Z]{3,12}(?=\s.{0,200}[a-z]))(?:\s+([a-z][a-z-]{1,20})(?![\w./=:(\[]))?"
)
_CALLING: Final = re.compile(r"\b(?:run|call|execute|invoke|install|start|launch)\b[^.;:]*\Z", re.IGNORECASE)
_IMPORT: Final = re.compile(
    r"^\s*(?:from\s+([\w.]{1,60})\s+import|import\s+([\w.]{1,60}))|\brequire\(\s*[\"']([^\"']{1,60})"
)


@lru_cache(maxsize=256)
def find_literals(text: str) -> tuple[Literal, ...]:
    """Find the literals of a skill's text, in the order of its lines.

    >>> [(str(one.kind), one.text) for one in find_literals("Run `curl -T aldane.csv` where the total is over 9,000.")]
    [('file', 'aldane.csv'), ('command', 'curl'), ('number or identifier', '9,000')]
    """
    found: dict[Literal, None] = {}
    text = _without_credentials(text[:_LONGEST_TEXT])
    code, language = code_lines(text), language_of(words_of(text)) or "en"
    for number, line in enumerate(text.splitlines(), 1):
        for kind, said in _of_line(line[:_LONGEST_LINE], code.get(number), language):
            found[Literal(kind, said, number)] = None
    return tuple(found)


def split_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers from 1, without code and what is no prose."""
    code = code_lines(text)
    for number, line in enumerate(text.splitlines(), 1):
        if number not in code:
            yield number, _TOKEN.sub(" ", _SPAN.sub(" ", as_read(line[:_LONGEST_LINE])))


def normalise(text: str) -> list[str]:
    """List the words of a text without case, signs and the separators of thousands.

    >>> normalise("`EUR 9,000`, unit_price")
    ['eur', '9000', 'unit', 'price']
    """
    return _WORD.findall(_GROUPED.sub("", text).casefold())


def _without_credentials(text: str) -> str:
    """Replace credentials by their kind, and keep the lines that they stand on."""
    pieces, position = list[str](), 0
    for one in find_credentials(text):
        pieces += [text[position : one.start], f"[{one.kind}]", "\n" * text.count("\n", one.start, one.end)]
        position = one.end
    return "".join([*pieces, text[position:]])


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.parse("a")
    return parser


@lru_cache(maxsize=256)
def code_lines(text: str) -> dict[int, str]:
    """Map the lines of code to the language of their block."""
    found: dict[int, str] = {}
    for token in _parser().parse(text[:_LONGEST_TEXT]):
        if token.type in ("fence", "code_block") and token.map:
            info = (token.info.split() or [""])[0].lower()
            found.update(dict.fromkeys(range(token.map[0] + 1, token.map[1] + 1), info))
    return found


_Found = tuple[LiteralKind, str]


@lru_cache(maxsize=8192)
def _of_line(line: str, info: str | None, language: str) -> tuple[_Found, ...]:
    read = as_read(line)
    if info is not None:
        return () if line.lstrip().startswith(("```", "~~~")) else tuple(_in_code(read, is_shell=info in _SHELL))
    return tuple(_in_prose(read if "`" in read or "`" not in line else line, language))


def _in_prose(line: str, language: str) -> Iterator[_Found]:
    for span in _SPAN.finditer(line):
        is_run = _CALLING.search(line[: span.start()][-60:]) is not None
        yield from _in_code(span[1], is_shell=is_run or " " in span[1].strip(), is_span=True)
    plain = _SPAN.sub(" \x1a ", line)
    for match in _LINK.finditer(plain):
        target = match[1] or match[2]
        yield (LiteralKind.HOST if "://" in target else LiteralKind.REFERENCE), target
    yield from ((LiteralKind.REFERENCE, match[1]) for match in _INCLUDE.finditer(plain))
    yield from _tokens(plain)
    yield from _permissions(plain)
    yield from _quotes(plain)
    yield from _names(plain, language)
    yield from ((LiteralKind.REFERENCE, match[0].strip()) for match in _ORDERS.finditer(line))
    for match in _REFERENCE.finditer(line):
        places = (said for kind, said in _tokens(match[1]) if kind in _PLACES)
        yield from ((LiteralKind.REFERENCE, said) for said in places)
    for match in _CONDITION.finditer(line):
        if "`" in match[1] or any(True for _ in (*_tokens(match[1]), *_names(f"x {match[1]}", language))):
            yield LiteralKind.CONDITION, match[0].strip()
    yield from ((LiteralKind.PERMISSION, match[0]) for match in _MAY.finditer(line))


def _tokens(text: str) -> Iterator[_Found]:
    """Find hosts, variables, paths, numbers and identifiers."""
    for match in _TOKEN.finditer(text):
        said = match[0].rstrip(".,;:!?")
        if match.lastgroup == "path":
            yield from _path(said)
        elif match.lastgroup == "code":
            yield from _dotted(said)
        elif match.lastgroup != "number" or sum(map(str.isdigit, said)) >= _DIGITS:
            yield LiteralKind[(match.lastgroup or "").upper()], said


def _path(said: str) -> Iterator[_Found]:
    parts = [part for part in re.split(r"[/\\]", said) if part]
    if said[0] in "/\\~$" or ":" in said[:2] or any(re.match(r"\.[.\w]", part) for part in parts):
        yield LiteralKind.PATH, said
    elif len(parts) > 1 and _HOST.fullmatch(parts[0]) and not _FILE.fullmatch(said):
        yield LiteralKind.HOST, said
    elif not all(map(is_ordinary, parts)) or said[-1] in "/\\":
        yield LiteralKind.FILE, said


def _dotted(said: str) -> Iterator[_Found]:
    if re.match(r"[A-Za-z]\.\D", said) or (said.rstrip("(").isidentifier() and _is_common(said)):
        return  # `e.g` and `o.id`; `unit_price`
    is_file = "." in said and "_" not in said and _FILE.fullmatch(said)
    yield (LiteralKind.FILE if is_file else LiteralKind.CODE), said.rstrip("(")


def _is_common(said: str) -> bool:
    """Return whether a quoted word or an identifier is made of ordinary words."""
    return not any(map(str.isdigit, said)) and all(map(is_ordinary, re.findall(r"[A-Z]?[a-z]+|[A-Z]+", said)))


def _quotes(text: str) -> Iterator[_Found]:
    for said in (match[1] or match[2] for match in _QUOTE.finditer(text)):
        if " " in said.strip() or not _is_common(said):
            yield LiteralKind.QUOTE, said


def _permissions(text: str) -> Iterator[_Found]:
    """Find tools, and flags and keys that grant something."""
    yield from ((LiteralKind.TOOL, match[0]) for match in _TOOL.finditer(text))
    for word in re.findall(r"(?<![\w-])-{0,2}[A-Za-z]+(?:[-_.][A-Za-z]+)+|\b[a-z]+[A-Z]\w+", text):
        if _ALLOWED.search(word):
            yield LiteralKind.PERMISSION, word


def _names(text: str, language: str) -> Iterator[_Found]:
    """Find words with a capital that starts no sentence, and such that no ordinary word is."""
    for match in _NAME.finditer(text):
        words = [word.rstrip("-'\u2019") for word in match[0].split() if word[0].isupper()]
        if _STARTS.search(text[max(0, match.start() - 20) : match.start()]) and is_ordinary(
            match[0].split()[0], language
        ):
            words = words[1:]
        if language in _CAPITAL_NOUNS or (len(words) == 1 and words[0].removesuffix("s") not in _DATES):
            words = [word for word in words if not is_ordinary(word, language)]
        if any(not _is_plain(word) for word in words):
            yield LiteralKind.NAME, " ".join(words)


def _is_plain(word: str) -> bool:
    """Tell a word in capitals, for stress or an abbreviation, from a name."""
    return word.isupper() and all(len(part) <= _SHORT or is_ordinary(part) for part in word.strip(".").split("-"))


def _in_code(code: str, *, is_shell: bool, is_span: bool = False) -> Iterator[_Found]:
    yield from _tokens(code)
    yield from _permissions(code)
    yield from _quotes(code)
    yield from ((LiteralKind.COMMAND, next(filter(None, match.groups()))) for match in _IMPORT.finditer(code))
    if is_shell:
        for statement in _STATEMENT.split(code):
            lead = _LEAD.match(statement)
            match = _PROGRAM.match(statement, lead.end() if lead else 0)
            if match:
                yield LiteralKind.COMMAND, " ".join(filter(None, match.groups()))
    elif is_span and not (code.strip().isalpha() or _is_common(code)) and not any(True for _ in _tokens(code)):
        yield LiteralKind.CODE, code.strip()
