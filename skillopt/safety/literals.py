"""Find the literals of a skill's text: what names one thing of the world.

Blocks of code are found in the parsed page; every line is then read with its code spans, so that nothing of the source
is left out, seen or unseen. What shows a form, as `12.50` after "such as", is none. Each pattern starts at a rare sign
or repeats within bounds: reading takes linear time.
"""

import builtins
import keyword
import re
import typing
from calendar import day_name, month_name
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from skillopt.safety.credentials import mask
from skillopt.safety.disguised_text import as_read
from skillopt.safety.told_answers import write_numbers
from skillopt.safety.unseen_text import page_parser


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
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_WORD: Final = re.compile(r"[^\W_]+")
_GROUPED: Final = re.compile(r"(?<=\d)[,.'](?=\d{3}(?!\d))|(?<=\d)[.,]00?(?!\d)")
_SPAN: Final = re.compile(r"`+([^`\n]+)`+")
_SHELL: Final = frozenset(("bash", "sh", "shell", "console", "zsh", "fish", "powershell", "ps1", "bat", "cmd", "sql"))
_PLACES: Final = (LiteralKind.FILE, LiteralKind.PATH, LiteralKind.HOST)
_FORMS: Final = (LiteralKind.NUMBER, LiteralKind.QUOTE, LiteralKind.CODE)
_DATES: Final = frozenset((*day_name, *month_name[1:]))
_DIGITS: Final = 3  # from which on a number names something
_ACCOUNT: Final = re.compile(r"\d{6}|(?:\d\D?){9}")  # no example has so many digits
_COUNT: Final = 4  # digits of a number of things
_PLACEHOLDER: Final = 2  # letters that `YYYY` or `xx` has at most
_SHORT: Final = 5  # letters of an abbreviation
_SYLLABLE: Final = 3  # letters that a short word has at most
_SAID: Final = 4  # words of a quoted sentence; a label has fewer
_STATUS: Final = re.compile(r"10{2,3}(?:\.0)?|20[0-6]|30[1-8]|40[0-9]|41[0-8]|42[2-9]|50[0-4]")
_FILES: Final = re.compile(
    r"(?:md|mdx|txt|rst|pyi?|ipynb|m?[jt]sx?|jsonl?|ya?ml|toml|ini|cfg|conf|env|lock|xml|html?|s?css|svg|png|jpe?g|gif|ico"
    r"|webp|pdf|docx?|xls[xm]?|pptx?|[ct]sv|sql|sh|bash|zsh|ps1|bat|cmd|r[bs]|go|java|kt|swift|cc?|cpp|h|cs|php|pl|lua|r|vue"
    r"|tf|proto|gradle|log|bak|tmp|out|bin|exe|dll|so|tar|t?gz|zip|bz2|xz|whl|deb|mp[34]|wav|webm|ttf|woff2?|db|sqlite3?"
    r"|parquet|arrow|np[yz]|pkl|pt|onnx|h5|patch|diff|pem|crt|key|pub|git)"
)
_SURROUNDINGS: Final = ("os", "glob", "socket", "process", "navigator")  # ordinary words by which code leaves itself
_PYTHON: Final = frozenset(
    name.strip("_").casefold()
    for names in (
        *map(dir, (str, bytes, int, float, list, dict, set, tuple, re.Pattern, re.Match)),
        *(typing.__all__, [name for name, value in vars(builtins).items() if isinstance(value, type)]),
        *(
            keyword.kwlist,
            ("datetime", "isoformat", "fromisoformat", "strftime", "json", "csv", "math", "decimal", "enum", "async"),
        ),
    )
    for name in names
)
"""Names of the language of which nothing but a value comes."""
NETWORK: Final = (
    r"(?:curl|wget|nc|ncat|netcat|socat|telnet|s?ftp|ssh|scp|rsync|rclone|nslookup|dig|ping|iwr|irm|invoke-webrequest"
    r"|requests|httpx|urllib3?|aiohttp|axios|smtplib|ftplib|paramiko|socket|fetch|urlopen|sendBeacon|WebSocket"
    r"|XMLHttpRequest|EventSource)(?![\w-])"
)
"""Programs and names that reach other machines."""
_PART: Final = r"[\w.@+*?~{}$%-]"
_MONEY: Final = r"(?:per ?cent|dollars?|euros?|pounds?|cents?|pence|yen|francs?|thousand|million|billion)\b"
_TOKEN: Final = re.compile(
    r"(?P<HOST>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}:(?://|\\\\)[^\s<>\"'`)\]|]+|(?<![\w.@-])www\.[^\s<>\"'`)\]]+"
    r"|(?<![\w:/.])//[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:/[^\s<>\"'`)\]]*)?"
    r"|localhost:\d{1,5}[^\s<>\"'`)\]]*|(?<![\w-])(?:xn--|https?:\\|(?:javascript|vbscript|mailto|data):)[^\s<>\"'`)\]]+|\[[0-9a-f:]{2,45}\]:\d{1,5}"
    r"|(?<![\w.@-])[\w.-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,18}:[\w~/][^\s<>\"'`)\]]*"
    r"|(?<![\w./@-])(?:[\w-]{1,63}\.){1,8}(?:com|org|net|io|dev|xyz|biz|site|online|onion|live|click|website)(?![\w.(]?\w|\()"
    r"|(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?:[:/]\w[^\s<>\"'`)\]]*)?(?![\w.-]))"
    r"|(?P<NAME>(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}|(?<![\w@/.])@[\w-]{2,60}\b(?!/))"
    r"|(?P<VARIABLE>\$(?:env:)?\{?[A-Za-z_]\w{1,60}\}?(?![\w(/\\])|%[A-Z_]{3,40}%"
    r"|(?<=environ\[['\"])\w{2,60}|(?<=getenv\(['\"])\w{2,60}|(?<=process\.env\.)\w{2,60}|(?<=export )[A-Z]\w{1,60}"
    r"|(?<![\w$/.])[A-Z][A-Z0-9_]{0,60}_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|CREDENTIALS?)\b)"
    r"|(?P<NUMBER>[$\u00a3\u00a5\u20a0-\u20cf] ?\d[\d.,]*\w?"
    rf"|(?<![\w.])\d[\d.,' ]{{0,20}}(?:[\u00a3\u00a5\u20a0-\u20cf%]|[A-Z]{{3}}\b|{_MONEY}))"
    rf"|(?P<path>(?<![\w/\\.])(?:(?:~|\.{{1,2}}|\$\{{?\w{{1,40}}\}}?|[A-Za-z]:)[/\\]|/)(?:{_PART}{{1,80}}[/\\]?){{1,12}}"
    r"|(?<![\w.*>})/-])\.(?:env|[a-z]{2,12}rc|[a-z]{2,10}_history)\b(?![.(]\w|/)"
    rf"|(?<![\w/\\.@])(?:\.?[\w*-]{_PART}{{0,80}}/){{1,12}}(?:{_PART}{{1,80}}+(?!\())?)"
    r"|(?P<number>(?<![\w.])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
    r"|(?<![\w.])\d{2,4}(?: \d{2,4}){2,8}(?!\w)|(?<![\w.,])\d[\d.,:'/-]{1,30}\d(?!\w)"
    r"|(?<![\w-])(?=[A-Za-z-]{0,20}\d)[A-Za-z]{1,20}[A-Za-z0-9]{0,20}(?:-[A-Za-z0-9]{1,20}){0,6}(?![\w-]))"
    r"|(?P<code>(?<![\w.-])[A-Za-z]\w{0,60}(?:(?:\.|::|->)[A-Za-z_]\w{0,60}){1,8}(?::\d{1,5}\b|\()?"
    r"|(?<![\w-])_{0,2}[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40})+\(?|(?<![\w-])[a-z]{1,30}[A-Z][A-Za-z0-9]{1,40}\(?)"
)
_STANDARD: Final = re.compile(r"\b(?:ISO|RFC|IEEE|PEP|UTF|SHA)[ -]?\d{1,5}(?:-\d{1,3})?(?![\w-])", re.IGNORECASE)
_SLOT: Final = re.compile(r"(?<!\$)\{{1,2} ?\w* ?\}{1,2}|<\w+>")
_FILE: Final = re.compile(r"[\w*?-][\w.*?-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,9}")
_HOST: Final = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,18}(?::\d{1,5})?")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,30}:(?![\\/]?\Z)", re.IGNORECASE)
_SHARED: Final = re.compile(
    r"(?:[\w-]{1,40}\.)*(?:github|githubusercontent|gitlab|bitbucket|huggingface|npmjs|pypi)\.\w{2,3}"
)
_LARGE: Final = 100  # most addresses have a number from there on, and no version
_OUTSIDE: Final = re.compile(
    r"~|\$\{?(?:HOME|USERPROFILE|env:)|[A-Za-z]:|(?:.{0,400}[/\\])?\.(?!github\b)[.\w]"
    r"|[/\\](?:bin|boot|dev|etc|home|lib|media|mnt|opt|private|proc|root|run|sbin|srv|sys|tmp|usr|var|Users|Volumes)\b"
)
_QUOTE: Final = re.compile(r"[\"\u201c\u201e]([^\"\u201c\u201d\n]{2,200})[\"\u201d]|(?<![\w'])'([^'\n]{2,100})'(?!\w)")
_EXAMPLE: Final = re.compile(
    r"(?:\b(?:such as|e\.g\.|for (?:example|instance)|as in|like|instead of|rather than)|\b(?:not|never)(?= [`'\"])"
    r"|:(?= [`'\"*])|\((?=[`'\"]))(?:[^.;)]|[.;)](?=\S)){0,200}",
    re.IGNORECASE,
)
_LETTERS: Final = r"(?:[^\W_]|['\u2019-]){0,40}+"
_NAME: Final = re.compile(
    rf"\b[A-Z\u00c0-\u00de]\.?{_LETTERS}(?:(?: (?:of|de|van|von|&))? [A-Z\u00c0-\u00de]{_LETTERS}){{0,5}}+(?![(_])"
)
_STARTS: Final = re.compile(r"(?:\A|[.!?:;|>(\[\"\u201c\u2013\u2014*]|\d\)|-)[\s*_\"(\[#>|-]*\Z")
_TITLE: Final = re.compile(r"^\s{0,3}#{1,6} .*|\*\*[^*\n]{1,80}\*\*|(?<!\w)'[^'\n]{1,80}'|\"[^\"\n]{1,80}\"")
_CONDITION: Final = re.compile(
    r"\b(?:if|when(?:ever)?|unless|until|while|once|after|before|since|where"
    rf"|(?:on|from)(?= (?:\d|{'|'.join(_DATES)})))"
    r"( (?:[^,.;:|]|\.(?=\w)){3,120})",
    re.IGNORECASE,
)
_COMPARED: Final = re.compile(r"\b(?:is|are|equals|called|named) `+([^`\n]+)`|`([^`\n]+)`+ (?:is|are|equals|exists)\b")
_FOLLOW: Final = re.compile(
    r"\b(?:follow|obey|apply|execute|carry out|do|take|read|see|per|according to)\b((?:[^.;|]|\.(?=\w)){0,120})",
    re.IGNORECASE,
)
_ORDERS: Final = re.compile(  # what another text says, to be done
    r"\b(?:instructions?|directions?|steps|rules|orders|guid(?:e|elines?)|advice|polic(?:y|ies))"
    r" (?:in|from|at|on|inside|under|given|found|written|that|which) [^.;|]{3,80}"
    r"|\b(?:do|follow|obey|carry out) what\b.{1,60}\b(?:says?|asks?|tells?|wants?|orders?|demands?)\b",
    re.IGNORECASE,
)
_LINK: Final = re.compile(
    r"\]\(<?([^()\s<>]{1,300})>?(?:\s[^()]{0,200})?\)|^\s{0,3}\[[^\]]{1,100}\]:\s{1,4}(\S{1,300})"
)
_INCLUDE: Final = re.compile(
    r"(?<![\w@.])@(?:(?:~?[\w.-]{0,60}/){0,8}[\w.-]{1,60}\.\w{1,10}|~?/[\w./-]{1,200}|include [\w./~-]{1,200})"
    r"|\{[{%>] {0,3}(?:include|import)\b:? ?[^}%]{1,100}"
)
_ALLOWED: Final = re.compile(
    r"(?:permission|allow(?:ed|list)?|approv|sandbox|bypass|trust|privileg|yolo|full-|\bask\b|chmod|sudo"
    r"|mcpServers|defaultMode|ShellExecution)",
    re.IGNORECASE,
)
_KEY: Final = re.compile(r"(?<![\w-])-{0,2}[A-Za-z]+(?:[-_.][A-Za-z]+)+|(?<![\w-])--?[a-z]{3,20}\b|\b[a-z]+[A-Z]\w+")
_GRANT: Final = re.compile(  # who may act, and for whom
    r"\b(?:(?:you|agents?) may|you are (?:free to|the|an?)|(?:act|speak|sign) (?:as|for)|on behalf of|in the name of"
    r"|pretend to be|yourself as)\b[^.;,|]{3,120}|\bsign(?:ed)?[ -]off\b|\breviewed\b|\bneed(?: not| to)* ask\b"
    r"|\b(?:dis|un)?(?:approv\w*|authori[sz]\w*|consent\w*|entitled|permitted|allowed to)"
    r"|\bwithout (?:an? |any |the )?(?:ask|review|check|confirm)\w*",
    re.IGNORECASE,
)
_TOOL: Final = re.compile(
    r"\bmcp__\w{1,80}|\b[A-Z][a-z][A-Za-z]{1,30}\((?=[\w*./ -]{1,60}[:)*])[^()\n]{0,60}\)|\b[A-Z]\w{2,30}(?= tools?\b)"
)
_GRANTS: Final = re.compile(r"\([^()]*[*:/~ ]")
_STATEMENT: Final = re.compile(r"&&|\|\|?|;|\$\(|\n")
_PROGRAM: Final = re.compile(
    r"\s*(?:[$#>%] |PS> ?)?(?:\w{1,40}=\S*\s+){0,5}(?:[~.\w-]{0,40}/){0,8}([a-z][a-z0-9.+-]{0,40}(?![\w.(=+-])"
    r"|(?:ALTER|ATTACH|CALL|COPY|CREATE|DELETE|DROP|GRANT|INSERT|LOAD|MERGE|PRAGMA|REPLACE|REVOKE|TRUNCATE|UPDATE)\b)"
    r"(?!\s*(?:[=!<>]=|=|[<>]\s*[\d'\"]|[-+*%?:,)\]}]\s))(?:\s+([a-z][a-z-]{1,20})(?![\w./=:(\[]))?"
)
_SHELL_SIGN: Final = re.compile(r"\A\s*git\s|\s-{1,2}\w|[|~$]|&&|;|[\w/]/|\.\w+\b|\s>>?\s")
_NO_PROGRAMS: Final = (
    *(*keyword.kwlist, "then", "do", "done", "case", "echo", "cd", "const", "let", "var", "new", "type"),
    *("set", "printf", "local", "read", "exit", "trap", "#"),
)
_CALLING: Final = re.compile(r"\b(?:run|execute|install|launch)\b[^.;:]*\Z", re.IGNORECASE)
_RUN: Final = re.compile(  # imports, and calls that run a text or reach the network
    rf"^\s*(?:from|import)\s+[\w.]{{1,60}}|\brequire\(\s*[\"'][^\"']{{1,60}}|\b(?:eval|exec|system|popen|Function)\("
    rf"|\b{NETWORK}(?:\.\w{{2,30}})?\("
)


@lru_cache(maxsize=256)
def find_literals(text: str) -> tuple[Literal, ...]:
    """Find the literals of a skill's text, in the order of its lines.

    >>> [(str(one.kind), one.text) for one in find_literals("Run `curl -T aldane.csv` where the total is over 9,000.")]
    [('file', 'aldane.csv'), ('command', 'curl'), ('number or identifier', '9,000')]
    """
    found: dict[Literal, None] = {}
    lines = _LINE_END.split(mask(_shorten(text), keep_lines=True))
    code = code_lines(text)
    for number, line in enumerate(lines, 1):
        for kind, said in _of_line(line, code.get(number)):
            found[Literal(kind, said, number)] = None
    return tuple(found)


def split_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers from 1, without code and what is no prose."""
    code = code_lines(text)
    for number, line in enumerate(_LINE_END.split(_shorten(text)), 1):
        if number not in code:
            yield number, _TOKEN.sub(" ", _SPAN.sub(" ", as_read(line)))


def _shorten(text: str) -> str:
    return "\n".join(line[:_LONGEST_LINE] for line in _LINE_END.split(text[:_LONGEST_TEXT]))


def normalise(text: str) -> list[str]:
    """List the words of a text without case, signs and the separators of thousands.

    >>> normalise("`EUR 9,000`, unit_price")
    ['eur', '9000', 'unit', 'price']
    """
    return _WORD.findall(_GROUPED.sub("", text).casefold())


@lru_cache(maxsize=256)
def code_lines(text: str) -> dict[int, str]:
    """Map the lines of code to the language of their block."""
    found: dict[int, str] = {}
    for token in page_parser(inline=False).parse(text[:_LONGEST_TEXT]):
        if token.type in ("fence", "code_block") and token.map:
            info = (token.info.split() or [""])[0].lower()
            found.update(dict.fromkeys(range(token.map[0] + 1, token.map[1] + 1), info))
    return found


_Found = tuple[LiteralKind, str]


@lru_cache(maxsize=8192)
def _of_line(line: str, info: str | None) -> tuple[_Found, ...]:
    read = as_read(line)
    if info is not None:
        return () if line.lstrip().startswith(("```", "~~~")) else tuple(_in_code(read, is_shell=info in _SHELL))
    read = read if "`" in read or "`" not in line else line
    found = tuple(_in_prose(read))
    shown = _EXAMPLE.sub(" ", read)
    if shown == read:
        return found
    said = set(_in_prose(shown))
    return tuple(one for one in found if one in said or one[0] not in _FORMS or _ACCOUNT.search(one[1]))


def _in_prose(line: str) -> Iterator[_Found]:
    for span in _SPAN.finditer(line):
        is_run = _CALLING.search(line[: span.start()][-60:]) is not None
        yield from _in_code(span[1], is_shell=is_run, is_span=True)
    plain = _SPAN.sub(" \x1a ", line)
    yield from _tokens(plain)
    yield from (one for one in _tokens(write_numbers(plain)) if re.search(_MONEY, one[1]))
    yield from _permissions(plain)
    yield from _quotes(plain)
    yield from _names(plain)
    yield from ((LiteralKind.PERMISSION, match[0].strip()) for match in _GRANT.finditer(plain))
    yield from _references(line, plain)
    for match in _CONDITION.finditer(line):
        if line.count("`", 0, match.start()) % 2 == 0:  # not in code
            yield from ((LiteralKind.CODE, span[1] or span[2]) for span in _COMPARED.finditer(match[1]))
            if "`" in match[1] or any(True for _ in (*_tokens(match[1]), *_names(f"x {match[1]}"))):
                yield LiteralKind.CONDITION, match[0].strip()


def _references(line: str, plain: str) -> Iterator[_Found]:
    """Find other texts that are linked, read or followed."""
    for match in _LINK.finditer(plain):
        target = match[1] or match[2]
        if not target.startswith("#"):
            yield (LiteralKind.HOST if _SCHEME.match(target) else LiteralKind.REFERENCE), target
    included = (match for match in _INCLUDE.finditer(line) if re.search(r"[/{ ]", match[0]) or _is_file(match[0][1:]))
    yield from ((LiteralKind.REFERENCE, match[0].strip()) for match in (*included, *_ORDERS.finditer(line)))
    for match in _FOLLOW.finditer(line):
        yield from ((LiteralKind.REFERENCE, said) for kind, said in _tokens(match[1]) if kind in _PLACES)


def _tokens(text: str) -> Iterator[_Found]:
    """Find hosts, variables, paths, numbers and identifiers."""
    text = _STANDARD.sub(" ", text)
    for match in _TOKEN.finditer(text):
        said = match[0].rstrip(".,;:!?")
        if match.lastgroup == "path":
            yield from _path(said)
        elif match.lastgroup == "code":
            yield from _dotted(said)
        elif match.lastgroup == "HOST":
            yield from [(LiteralKind.HOST, said)] if _is_host(said) else []
        elif match.lastgroup != "number" or (
            _digits(said) >= _DIGITS and not _counts_things(said, text[match.end() :])
        ):
            yield LiteralKind[(match.lastgroup or "").upper()], said


def _digits(said: str) -> int:
    return sum(map(str.isdigit, said))


def _counts_things(said: str, rest: str) -> bool:
    """Return whether a number says how many, as in `300 dpi`, is a power of ten or a status of HTTP."""
    unit = re.match(r"(?: (?:and|to|or) \d+)?[ -]([a-z]{1,20})\b", rest)
    is_counted = unit is not None and len(unit[1]) > _SYLLABLE and not re.match(_MONEY, unit[1])
    return _STATUS.fullmatch(said) is not None or (is_counted and said.isdigit() and len(said) <= _COUNT)


def _is_host(said: str) -> bool:
    """Tell an address from this machine, and four numbers of an address from those of a version or a mask."""
    host = _host(said)
    try:
        number = ip_address(host.strip("[]"))
    except ValueError:
        return host != "localhost"
    is_mask = number.version == 4 and number.is_reserved  # noqa: PLR2004 - of IP
    return not (number.is_loopback or number.is_unspecified or is_mask) and (
        said != host or max(number.packed) >= _LARGE
    )


def _host(said: str) -> str:
    """Return what an address is known by: its host, with the owner where many share it."""
    rest = re.sub(r"^[A-Za-z][\w+.-]*:(?=[/\\])", "", said).replace("\\", "/").lstrip("/")
    host, _, path = rest.partition("/")
    host = re.sub(r"^.*@|(?<=[^:\[]):\w*\Z|\?.*", "", host).lower().removeprefix("www.")
    return f"{host}/{path.split('/', 1)[0].lower()}" if _SHARED.fullmatch(host) else host or said


def key_of(literal: Literal) -> tuple[str, ...]:
    """Return what a literal is known by: another page of a host is nothing new."""
    words = [_host(literal.text)] if literal.kind is LiteralKind.HOST else normalise(literal.text)
    return literal.kind, *(words or [literal.text])


def _path(said: str) -> Iterator[_Found]:
    parts = [part for part in re.split(r"[/\\]", said) if part]
    if all(map(str.isdigit, parts)):
        yield from [(LiteralKind.NUMBER, said)] if _digits(said) >= _DIGITS else []
    elif _OUTSIDE.match(said):
        yield LiteralKind.PATH, said
    elif len(parts) > 1 and _HOST.fullmatch(parts[0]) and not _is_file(parts[0]) and said[0] not in "/\\":
        yield from [(LiteralKind.HOST, said)] if _is_host(said) else []
    elif (
        _is_file(parts[-1])
        or (said[0] in "/\\" and len(said) <= _DIGITS)
        or not all(map(_is_common, parts))
        or (said[-1] in "/\\" and parts[1:])
    ):
        yield LiteralKind.FILE, said


def _is_file(said: str) -> bool:
    return _FILE.fullmatch(said) is not None and _FILES.fullmatch(said.rpartition(".")[2].lower()) is not None


def _dotted(said: str) -> Iterator[_Found]:
    name = said.rstrip("(")
    if re.match(r"[A-Za-z]\.\D", said):
        return  # `e.g` and `o.id`
    if ":" in said and _HOST.fullmatch(said) and not _is_file(said):
        yield LiteralKind.HOST, said
    elif _is_file(said):
        yield LiteralKind.FILE, said
    elif not _is_common(name) or name.partition(".")[0] in _SURROUNDINGS:
        yield LiteralKind.CODE, name


def _is_common(said: str) -> bool:
    """Return whether a quoted word or an identifier is made of short words, placeholders and names of values."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\da-zA-Z_]+", _SLOT.sub(" ", said))
    return _digits(said) < _DIGITS and all(map(_is_word, words))


@lru_cache(maxsize=8192)
def _is_word(word: str) -> bool:
    folded = word.casefold()
    return (
        len(set(folded)) <= _PLACEHOLDER
        or len(folded) <= _SYLLABLE
        or _is_plain(word)
        or folded in _PYTHON
        or _FILES.fullmatch(folded) is not None
    )


def _quotes(text: str) -> Iterator[_Found]:
    for said in (match[1] or match[2] for match in _QUOTE.finditer(text)):
        words = [word for word in said.split() if word[1:]]
        if len(words) >= _SAID + (said[0].isupper() and said[-1] != ".") * 2 or not _is_common(
            _STANDARD.sub(" ", said)
        ):
            yield LiteralKind.QUOTE, said


def _permissions(text: str, *, is_program: bool = False) -> Iterator[_Found]:
    """Find tools, and flags and keys that grant something; a call in a program and a first word are no tools."""
    for match in _TOOL.finditer(text):
        calls, word = "(" in match[0], match[0].partition("(")[0]
        begins = not calls and word.istitle() and _STARTS.search(text[max(0, match.start() - 20) : match.start()])
        if not begins and not (calls and is_program and not _GRANTS.search(match[0])):
            yield LiteralKind.TOOL, match[0]
    yield from ((LiteralKind.PERMISSION, match[0]) for match in _KEY.finditer(text) if _ALLOWED.search(match[0]))


def _names(text: str) -> Iterator[_Found]:
    """Find words with a capital that starts no sentence and stands in no title."""
    titles = [match.span() for match in _TITLE.finditer(text)]
    for match in _NAME.finditer(text):
        words = [word.rstrip("-'\u2019") for word in match[0].split() if word[0].isupper()]
        is_start = _STARTS.search(text[max(0, match.start() - 20) : match.start()]) is not None
        words = words[is_start:]
        in_title = any(start <= match.start() < end for start, end in titles)  # where each word may have a capital
        if not in_title and any(not _is_plain(word) for word in words):
            yield LiteralKind.NAME, " ".join(words)


def _is_plain(word: str) -> bool:
    """Tell a word in capitals, for stress or an abbreviation, from a name."""
    return word.isupper() and all(len(part) <= _SHORT or part.isalpha() for part in word.strip(".").split("-"))


def _is_prose(word: str) -> bool:
    """Return whether a span of code that starts with a word may be a phrase and no command."""
    return len(word) > _PLACEHOLDER and (_is_word(word) or _is_file(word))


def _in_code(code: str, *, is_shell: bool, is_span: bool = False) -> Iterator[_Found]:
    code = _SLOT.sub("_", code).removeprefix("#!/usr/bin/env ")
    yield from (one for one in _tokens(code) if one[1][0] != "@")
    yield from _permissions(code, is_program=not (is_shell or is_span))
    yield from _quotes(code)
    for match in _RUN.finditer(code):
        if match[0].rpartition(" ")[2] not in _PYTHON:
            yield LiteralKind.COMMAND, match[0].strip()
    statements = _STATEMENT.split(code) if is_shell or " " in code.strip() else []
    for statement in statements:
        found = _PROGRAM.match(statement)
        if found and found[1] not in _NO_PROGRAMS and (is_shell or _SHELL_SIGN.search(code) or not _is_prose(found[1])):
            yield LiteralKind.COMMAND, " ".join(filter(None, found.groups()))
    if is_span and not code.strip().isalpha():
        words = re.findall(
            r"(?<![\w.-])[A-Za-z][A-Za-z0-9-]{2,60}(?=\()|[A-Za-z]+-\w*\d\w*|(?<![\w-])--[a-z][\w-]{2,40}",
            _STANDARD.sub(" ", code),
        )
        yield from (
            (LiteralKind.CODE, word) for word in words if word[0] == "-" or not (word.isupper() or _is_common(word))
        )
