"""Capability difference: what a new text drops, changes, and lets or tells an agent do that the old text did not.

It is exact, by lines, code, hosts, files, tools and permissions. What a sentence means is left to whoever reads it.
Each pattern starts at a rare sign or repeats within bounds: reading takes linear time.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from skillopt.safety.credentials import mask
from skillopt.safety.disguised_text import as_read, find_mixed_words
from skillopt.safety.escaping import count_noun, escape_terminal, truncate
from skillopt.safety.text_classes import LONGEST_LINE, LONGEST_TEXT
from skillopt.safety.unseen_text import located, page_parser
from skillopt.skills.document import SkillDocument


class DifferenceKind(StrEnum):
    """What differs, in the order in which people are told."""

    REMOVED = "removed line"
    CHANGED = "changed line"
    FRONTMATTER = "frontmatter"
    PERMISSION = "permission"
    HOST = "host"
    PROGRAM = "program"
    TOOL = "tool"
    FILE = "file"
    MARKUP = "HTML"
    LOOK_ALIKE = "word in letters of two scripts"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class NewCapability:
    """One thing that differs, with its line from 1 (of a removed one in the old text), and whether a person must look.

    It is known by its key, and waits only where the text before begins no command with its program.
    """

    kind: DifferenceKind
    text: str
    line: int
    waits: bool = False
    key: str = field(default="", compare=False)
    program: str = field(default="", compare=False)


NOTHING: Final = "no line is removed or changed, and no code, host, file, tool or permission is new."
"""What is said where nothing is listed: that rules were added in plain words is no part of the difference."""

_MOST_LINES: Final = 12  # so that the difference, the verdict and the diff's first lines fit one screen
_LONGEST_SHOWN: Final = 120  # a line of a terminal
_ALIKE: Final = 0.5  # share of words in common: half, so that no line has two likenesses
_MOST_PAIRS: Final = 250_000  # about half a second; of more, all old lines count as removed

_UNIT: Final = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s|#{1,6} |\||>|`{3}|~{3})")
_ITEM: Final = re.compile(r"\A\s*(?:[-*+]|\d{1,9}[.)])\s")
_WORD: Final = re.compile(r"[^\W_]+")
_EDGES: Final = ".,;:!?()*\"'`"
_CODE_TAG: Final = re.compile(r"</?(?:code|pre|kbd|samp|tt|var)>", re.IGNORECASE)
_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
_STATEMENT: Final = re.compile(r"&&|\|\|?|;|\$\(|\n| -exec ")
_PROGRAM: Final = re.compile(  # what installs, sends, deploys, deletes or takes rights; some only with an argument
    r"\s{0,20}(?:[$#>%] |PS> ?)?(?:\w{1,40}=\S{0,80}\s+){0,5}"
    r"(?:(?:env|nohup|time|exec|command|xargs)\s(?:-\S{1,20}\s){0,4}){0,3}"
    r"(?:[~.\w-]{0,40}/){0,8}("
    r"(?:curl|wget|n(?:et)?cat|nc|socat|telnet|s?ftp|ssh|scp|rsync|rclone|nslookup|iwr|irm|invoke-(?:webrequest|restmethod)"
    r"|npx|bunx|uvx|pipx|aws|gcloud|gsutil|kubectl|terraform|tofu|pulumi|ansible(?:-playbook)?|gpg2?|openssl|sudo|doas"
    r"|chmod|chown|dd|mkfs[.\w]*|shred|rm|pkill|killall|crontab|systemctl|launchctl|reboot|shutdown|sendmail|twine|ngrok)"
    r"(?![\w.-]|\s?[=(,:])"
    r"|(?:at|az|dig|helm|kill|mail|mount|su|vault)(?=\s+[^\s=<>+*/%&|-])(?!\s(?:in|is|of|or|and)\s)"
    r"|(?:git|gh|glab|docker|podman|npm|pnpm|yarn|pip3?|uv|cargo|gem|go|brew|conda|apk|apt(?:-get)?|dnf|yum|make|just|claude"
    r"|codex)(?:\s+-\S{1,40})*(?:\s+(?:pip|run|mcp|remote|repo|secret))?\s+"
    r"(?:push|pull|clone|fetch|config|login|publish|release|deploy|destroy|delete|uninstall|remove|exec"
    r"|(?:install|add|i)(?!\s+(?:-r|--requirement|\.))(?=\s+(?:-\S{1,40}\s+){0,5}[\w@]))(?![\w-]))",
    re.IGNORECASE,
)

_FETCH: Final = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|base64|openssl|xxd)"
_LEAD: Final = r"(?:sudo\s{1,5})?(?:/(?:usr/)?bin/)?(?:env\s{1,5})?"
_SHELL: Final = rf"{_LEAD}(?:ba|z|da|k|a|fi|c|tc)?sh"
_INTERPRETER: Final = (
    rf"(?:{_SHELL}|{_LEAD}(?:python[\d.]{{0,5}}|perl|ruby|node|php|pwsh|powershell|iex|invoke-expression))"
)
_RUN_UNREAD: Final = re.compile(
    rf"(?:\b{_FETCH}\s[^|]{{1,400}}\|&?\s{{0,20}}{_INTERPRETER}|(?:[^|\s]|^)\s{{0,20}}\|&?\s{{0,20}}{_SHELL})"
    r"(?=\s*(?:$|[`\"';&)<]|-|/dev/stdin))"
    rf"|(?:\b(?:{_INTERPRETER}|eval|source|exec)\b|(?<![^\s;&|(`])\.\s)[^|;]{{0,40}}(?:<\(|\$\(|`|\()\s{{0,10}}{_FETCH}\s",
    re.IGNORECASE,
)
_ROW_BARS: Final = 2  # from which on a line that begins with one is the row of a table
_REST: Final = r"[^\s<>\"'`)\]|]"
_HOST: Final = re.compile(
    rf"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{{1,20}}:(?://|\\\\){_REST}+|(?<![\w.@-])www\.{_REST}+"
    rf"|(?<![\w:/.])//[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}(?:/{_REST}*)?|localhost:\d{{1,5}}{_REST}*"
    rf"|(?<![\w-])(?:xn--|https?:\\|(?:javascript|vbscript|mailto|data):){_REST}+|\[[0-9a-f:]{{2,45}}\]:\d{{1,5}}"
    rf"|(?<![\w.@-])[\w.-]{{1,64}}@(?:[\w-]{{1,63}}\.){{1,8}}[a-z]{{2,18}}:[\w~/]{_REST}*"
    r"|(?<![\w./@-])(?:[\w-]{1,63}\.){1,8}(?:com|org|net|io|dev|xyz|biz|site|online|onion|live|click|website)"
    rf"(?![\w.(]?\w|\()(?:/{_REST}*)?"
    rf"|(?<![\w./@-])(?:[\w-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,18}}(?::\d{{1,5}}\b(?!:)|(?=/\w))(?:/{_REST}*)?"
    rf"|(?<![\w.-])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?:[:/]\w{_REST}*)?(?!\w|[.-]\w)"
)
_PROSE_HOST: Final = re.compile(
    r"(?<![\w./@-])(?:[\w-]{1,63}\.){1,8}(?:ai|app|page|co|me|info|cloud|tech|shop|store|us|uk|de|ru|cn)(?![\w(])"
)
_LINK: Final = re.compile(
    r"\]\(<?([^()\s<>]{1,300})>?(?:\s[^()]{0,200})?\)|^\s{0,3}\[[^\]]{1,100}\]:\s{1,4}(\S{1,300})"
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,30}:(?![\\/]?\Z)", re.IGNORECASE)
_SHARED: Final = re.compile(  # hosts of many owners: another owner is another host
    r"(?:[\w-]{1,40}\.)*(?:github|githubusercontent|gitlab|bitbucket|huggingface|npmjs|pypi)\.\w{2,3}"
)
_LARGE: Final = 100  # most addresses have a number from there on, and no version
_PART: Final = r"[\w.@+*?~{}$%-]"
_PATH: Final = re.compile(
    rf"(?<![\w/\\.<])(?:(?:~|\.{{1,2}}|\$\{{?\w{{1,40}}\}}?|[A-Za-z]:)[/\\]|/)(?:{_PART}{{1,80}}[/\\]?){{1,12}}"
    r"|(?<![\w.*>})/-])\.(?:env|[a-z]{2,12}rc|[a-z]{2,10}_history)\b(?![.(]\w|/)"
    rf"|(?<![\w/\\.])(?<!\w@)(?:\.?[\w*-]{_PART}{{0,80}}/){{1,12}}(?:{_PART}{{1,80}}+(?!\())?"
)
_FILE: Final = re.compile(r"(?<![\w./-])[\w*?-]{2,80}(?:\.[\w-]{1,20}){0,3}\.[a-z][a-z0-9]{0,4}(?![\w(./])")
_ENDING: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_MARKUP: Final = re.compile(
    r"</?(?:details|[\w.:-]{1,60}(?=\s[^<>]{0,300}=)|(?<=/)[\w.:-]{1,60})(?![\w.:-])[^<>]{0,300}>", re.IGNORECASE
)
_TOOL: Final = re.compile(r"\bmcp__\w{1,80}|\b[A-Z][a-z][A-Za-z]{1,30}\((?=[\w*./ -]{0,60}[:*/])[^()\n]{0,60}\)")
_ALLOWED: Final = re.compile(
    r"(?:permission|allow(?:ed|list)?|approv|sandbox|bypass|trust|privileg|yolo|full-|\bask\b"
    r"|mcpServers|defaultMode|ShellExecution)",
    re.IGNORECASE,
)
_KEY: Final = re.compile(r"(?<![\w-])-{0,2}[A-Za-z]+(?:[-_.][A-Za-z]+)+|(?<![\w-])--?[a-z]{3,20}\b|\b[a-z]+[A-Z]\w+")
_JOINED: Final = re.compile(r"\S*(?:[-_.]|[a-z][A-Z])\S*")

_PATH_SIGNS: Final = re.compile(r"[\w./\\~*?$%{}@+-]+")
_FILE_ENDING: Final = re.compile(r"\.(?:md|txt|py|[jt]sx?|json|ya?ml|csv|toml|html?|css|sh|d|git)\Z")
_WAITING: Final = frozenset(
    {DifferenceKind.FRONTMATTER, DifferenceKind.PERMISSION, DifferenceKind.HOST, DifferenceKind.PROGRAM}
)


@lru_cache(maxsize=256)
def capability_difference(before: str, after: str) -> tuple[NewCapability, ...]:
    """List what the text after drops and changes, then what it has and the text before has not, each once.

    >>> [one.text for one in capability_difference("- Give 15 mg/kg.", "- Give 25 mg/kg with `tar`.")]
    ['15 → 25 mg/kg; + with `tar', 'tar']
    """
    before, after = (mask(_CODE_TAG.sub("`", text), keep_lines=True) for text in (before, after))
    old = _named(before)
    known, programs = Counter((one.kind, one.key) for one in old), {one.program for one in old} - {""}
    found: dict[tuple[DifferenceKind, str], NewCapability] = {}
    for one in _named(after) if before != after else ():
        if known[one.kind, one.key]:
            known[one.kind, one.key] -= one.kind is DifferenceKind.PERMISSION  # one more is one more grant
        elif before.strip() or one.kind is not DifferenceKind.FRONTMATTER:
            found.setdefault((one.kind, one.key), replace(one, waits=one.waits and one.program not in programs))
    order = list(DifferenceKind)
    return (*_lost(before, after), *sorted(found.values(), key=lambda one: order.index(one.kind)))


def describe_difference(found: Sequence[NewCapability]) -> list[str]:
    """Write at most twelve lines for people and one that counts the rest; what waits for a person is among them.

    >>> describe_difference(capability_difference("- Ask.", "Run `curl box` and `tar`."))
    ['1 line removed: `- Ask.`', 'new program: `curl box`', 'new code: `tar`']
    """
    lines, removed = list[tuple[bool, str, int]](), sum(one.kind is DifferenceKind.REMOVED for one in found)
    for one in found:
        flat = escape_terminal(" ".join(mask(one.text).replace("`", "'").split()))
        said, text = f"new {one.kind.value}", f"`{truncate(flat, _LONGEST_SHOWN)}`"
        if one.kind is DifferenceKind.REMOVED:
            said = "removed" if lines else f"{count_noun(removed, 'line')} removed"
        elif one.kind is DifferenceKind.CHANGED:
            said = f"line {one.line} changed"
        _, last, items = lines[-1] if lines else (True, "", 0)
        if not one.waits and last.startswith(f"{said}: ") and len(last) + len(text) < _LONGEST_SHOWN:
            lines[-1] = False, f"{last}, {text}", items + 1
        else:
            lines.append((one.waits, f"{said}: {text}", 1))
    shown = sorted(sorted(range(len(lines)), key=lambda at: not lines[at][0])[:_MOST_LINES])
    rest = len(found) - sum(lines[at][2] for at in shown)
    return [*(lines[at][1] for at in shown), *([f"and {rest} more (`diff`)"] if rest else [])]


# What went, and what changed within a line.


def _lost(before: str, after: str) -> Iterator[NewCapability]:
    old, new = _units(before), _units(after)
    gone, come = _without(old, new), _without(new, old)
    pairs = _pair(gone, come)
    # The lines in whose place there is none: a rule that another one replaces is told, and need not wait.
    blocks = SequenceMatcher(None, [unit[2] for unit in old], [unit[2] for unit in new], autojunk=False).get_opcodes()
    dropped = {old[at][0] for tag, a, b, c, d in blocks if tag != "equal" and d - c < b - a for at in range(a, b)}
    for line, text, _ in (one for at, one in enumerate(gone) if at not in pairs):
        waits = line in dropped and _ITEM.match(text) is not None
        yield NewCapability(DifferenceKind.REMOVED, text, line, waits=waits)
    for at in sorted(pairs):
        line, text, _ = come[pairs[at]]
        yield NewCapability(DifferenceKind.CHANGED, _changes(_words(gone[at][1]), _words(text)), line)


_Unit = tuple[int, str, tuple[str, ...]]
"""A list item, paragraph, heading, row or line of code: its line, its text, and the words by which it is the same."""


def _units(text: str) -> list[_Unit]:
    """Cut a text at blank lines and at what begins a block, so that lines that are broken anew are the same."""
    head, found, fresh = SkillDocument(text).body_start, list[tuple[int, str]](), True
    code = _code_lines(text)
    for number, line in enumerate(text[head:].splitlines(), 1 + text.count("\n", 0, head)):
        if line.strip() and (fresh or number in code or _UNIT.match(line)):
            found.append((number, line.rstrip()))
        elif line.strip():
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        fresh = number in code or not line.strip()
    return [(number, said, words) for number, said in found if (words := tuple(map(_plain, _words(said))))]


def _words(unit: str) -> list[str]:
    return [word for word in _ITEM.sub("", unit).split() if _plain(word)]


def _plain(word: str) -> str:
    return word.casefold().strip(_EDGES)


def _without(units: Sequence[_Unit], others: Sequence[_Unit]) -> list[_Unit]:
    left, kept = Counter(words for *_, words in others), list[_Unit]()
    for unit in units:
        left[unit[2]] -= 1
        kept += [unit] if left[unit[2]] < 0 else []
    return kept


def _pair(gone: Sequence[_Unit], come: Sequence[_Unit]) -> dict[int, int]:
    """Pair lines that went with those that came and share half of their words, the most alike first."""
    if len(gone) * len(come) > _MOST_PAIRS:
        return {}
    old, new = ([frozenset(words) for *_, words in units] for units in (gone, come))
    alike = [
        (1.0 if a <= b else 2 * len(a & b) / (len(a) + len(b)), i, j)
        for i, a in enumerate(old)
        for j, b in enumerate(new)
    ]
    pairs, taken = dict[int, int](), set[int]()
    for share, i, j in sorted(alike, key=lambda one: (-one[0], one[1], one[2])):
        if share >= _ALIKE and i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


def _changes(old: Sequence[str], new: Sequence[str]) -> str:
    """Say which words changed, a number with its unit: `15 → 25 mg/kg`, `+ unless asked`, and what went."""
    one, other, said = list(map(_plain, old)), list(map(_plain, new)), list[str]()
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        was, now = " ".join(old[a:b]).strip(_EDGES), " ".join(new[c:d]).strip(_EDGES)
        if tag == "replace":
            lead = f"{old[a - 1]} " if a and old[a - 1].isdecimal() else ""
            rest = f" {old[b].strip(_EDGES)}" if b < len(old) and any(map(str.isdigit, was)) else ""
            said.append(f"{lead}{was} → {lead}{now}{rest}")
        elif tag != "equal":
            said.append(f"\N{MINUS SIGN} {was}" if was else f"+ {now}")
    return "; ".join(said)


# What a text names.


@lru_cache(maxsize=256)
def _code_lines(text: str) -> frozenset[int]:
    """Return the numbers of the lines of code, without the fences."""
    blocks = (token for token in page_parser(inline=False).parse(text[:LONGEST_TEXT]) if token.map)
    spans = ((*(one.map or (0, 0)), one.type == "fence") for one in blocks if one.type in ("fence", "code_block"))
    return frozenset(line for first, last, fence in spans for line in range(first + 1 + fence, last + 1 - fence))


@lru_cache(maxsize=256)
def _named(text: str) -> tuple[NewCapability, ...]:
    """Find all that a text names, in the order of its lines."""
    lines = [line[:LONGEST_LINE] for line in text[:LONGEST_TEXT].splitlines()]
    code, head = _code_lines(text), SkillDocument(text).body_start
    shown = ("" if at in code or line.lstrip().startswith(("```", "~~~")) else line for at, line in enumerate(lines, 1))
    found = [
        _new(DifferenceKind.FRONTMATTER, line.strip(), number)
        for number, line in enumerate(text[:head].splitlines(), 1)
        if line.strip("- ")
    ]
    for span, number in located(_SPAN, "\n".join(shown), 1):
        found += _of_code(" ".join(span[2].split()), number)
    block = list[str]()
    for number, line in [*enumerate(lines, 1), (len(lines) + 1, "")]:
        if number in code:
            block.append(line)
        elif block:
            found += _of_code("\n".join(block), number - len(block) - 1)
            block = []
    for number, line in enumerate(lines, 1):
        found += [replace(one, line=number) for one in _of_line(line, in_code=number in code)]
    return tuple(found)


def _new(kind: DifferenceKind, text: str, line: int = 0, key: str = "", program: str = "") -> NewCapability:
    known_by = key or " ".join(_WORD.findall(text.casefold())) or text
    return NewCapability(kind, text, line, kind in _WAITING, key=known_by, program=program)


def _of_code(code: str, line: int) -> Iterator[NewCapability]:
    """Find a span or block of code as it stands, and the lines of it that begin with a known program."""
    programs = False
    for number, text in enumerate(code.split("\n"), line):
        if match := next(filter(None, map(_PROGRAM.match, _STATEMENT.split(as_read(text)))), None):
            programs, said = True, text.strip()
            yield _new(DifferenceKind.PROGRAM, said, number, said, " ".join(match[1].casefold().split()))
    if not programs or "\n" in code:
        is_file = _ENDING.search(code) and _PATH_SIGNS.fullmatch(code)
        yield _new(DifferenceKind.FILE, code, line) if is_file else _new(DifferenceKind.CODE, code, line, code)


@lru_cache(maxsize=8192)
def _of_line(line: str, *, in_code: bool) -> tuple[NewCapability, ...]:
    """Find hosts, files, tools, HTML and keys on a line, in code and outside of it."""
    read = as_read(line)
    prose = "" if in_code else re.sub(r"`[^`]*`", " \x1a ", read)
    linked = [match[1] or match[2] for match in _LINK.finditer(prose)]
    named = (match[0].rstrip(".,;:!?") for match in (*_HOST.finditer(read), *_PROSE_HOST.finditer(prose)))
    hosts = (*filter(_is_host, named), *filter(_SCHEME.match, linked))
    found = [_new(DifferenceKind.HOST, said, 0, _owner(said)) for said in hosts]
    paths = (match[0].rstrip(".,;:!?") for match in _PATH.finditer(prose))
    files = [said for said in paths if _ENDING.search(said) or said[0] in "~/." or said[-1] in "/\\"]
    files += [match[0] for match in _FILE.finditer(prose)]
    files += [said for said in linked if said[0] != "#" and not _SCHEME.match(said)]
    found += [_new(DifferenceKind.FILE, said) for said in files]
    found += [_new(DifferenceKind.MARKUP, match[0].strip("</>")) for match in _MARKUP.finditer(prose)]
    found += [_new(DifferenceKind.LOOK_ALIKE, word) for word in find_mixed_words(line)]
    found += [_new(DifferenceKind.TOOL, match[0], 0, match[0]) for match in _TOOL.finditer(read)]
    if command := find_piped_command(line) if "|" in line or "(" in line else "":
        found.append(_new(DifferenceKind.PROGRAM, command, 0, command))
    keys = (match[0] for match in _KEY.finditer(read) if _ALLOWED.search(match[0]) and _JOINED.fullmatch(match[0]))
    return (*found, *(_new(DifferenceKind.PERMISSION, key) for key in keys))


def find_piped_command(line: str) -> str:
    """Find the command on a line whose input is run as a program; empty where there is none."""
    flat = as_read(line[:LONGEST_LINE])
    is_row = flat.lstrip().startswith("|") and flat.count("|") >= _ROW_BARS
    found = None if is_row else _RUN_UNREAD.search(flat)
    return found[0].strip() if found else ""


def _is_host(said: str) -> bool:
    """Tell an address from this machine, a file, and four numbers of an address from those of a version or a mask."""
    host = _owner(said).partition("/")[0]
    try:
        number = ip_address(host.strip("[]"))
    except ValueError:
        return host != "localhost" and not (_FILE_ENDING.search(host) and "//" not in said)
    is_other = number.is_loopback or number.is_unspecified or host.startswith("255.")
    return not is_other and (said != host or max(number.packed) >= _LARGE)


def _owner(said: str) -> str:
    """Return what an address is known by: its host, with the owner where many share it; another page is nothing new."""
    rest = re.sub(r"^[A-Za-z][\w+.-]*:(?=[/\\])", "", said).replace("\\", "/").lstrip("/")
    host, _, path = rest.partition("/")
    host = re.sub(r"^.*@|(?<=[^:\[]):\w*\Z|\?.*", "", host).lower().removeprefix("www.")
    return f"{host}/{path.split('/', 1)[0].lower()}" if _SHARED.fullmatch(host) else host or said
