"""Draft a task's prompt from the message of a merged change, without what gives the answer away.

Kept is what was asked for: the message, what the changelog says, and the names that the tests need. Left out, and
listed, are code of the change, names that only its code has, and how it was done.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from skillopt.contrib.history.changed_lines import (
    DEFINITION,
    NAME,
    ChangedLines,
    defined_names,
    new_names,
    side_of,
    squeezed,
)

_FENCE: Final = re.compile(r"^(?:```|~~~)")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\"'])")
_TRAILER: Final = re.compile(
    r"^(?:[a-z]+(?:-[a-z]+)+(?=: )|cc|change-id|git-svn-id|refs?|references|piperorigin-revid)\b ?:.*$|^[-*=]{3,}$"
    r"|^\(cherry picked.*|^\W*generated with .*|^\[[^\]]+\]: \S+$",
    re.IGNORECASE,
)
_ISSUE: Final = re.compile(
    r"\s*[([]?(?:\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|re|issue|pr|pull request|bug)[\s:_]*)?"
    r"(?:\bgh-\d+|(?:[\w.-]+/[\w.-]+)?#\d+|\bissue[ _]?\d+"
    r"|https?://\S*/(?:issues|pulls?|merge_requests)/\d+[^\s)\]]*)[)\]]?",
    re.IGNORECASE,
)
_MERGE: Final = re.compile(
    r"^(?:Merge (?:pull request|branch|remote|tag|commit|in|PR|MR|'|[0-9a-f]{7}).*|See merge request .*"
    r"|Merged .* into .*)$",
    re.IGNORECASE,
)
_LISTED: Final = {
    name: "|".join(patterns)
    for name, patterns in tomllib.loads(
        files(__package__ or "").joinpath("change_words.toml").read_text(encoding="utf-8")
    ).items()
}
"""Words in messages by what they say, as patterns."""

_CHORE: Final = re.compile(rf"^\W*(?:{_LISTED['chores']})", re.IGNORECASE)
_NOISE: Final = re.compile(rf"\b(?:{_LISTED['noise']})\b", re.IGNORECASE)
_ASIDE: Final = re.compile(rf"\b(?:{_LISTED['asides']})\b|^verified\b", re.IGNORECASE)
_ORDERS: Final = rf"(?:{_LISTED['orders']})"
_MEANS: Final = re.compile(
    r",? (?:by|via) (?:\w+ly )?\w+ing\b.*$|,? instead of (?:using|calling|relying|checking|walking)\b.*$"
    rf"|[;,] (?:so |and |we |then )*{_ORDERS} .*$",
    re.IGNORECASE,
)
_HOW: Final = re.compile(
    r"^\W*(?:the (?:fix|solution|approach|implementation|patch)\b"
    r"|(?:this|we|it|now|this (?:fix|patch|change|commit|pr)) "
    r"(?:(?:fixes|solves|does|is done|is fixed|works) (?:\w+ ){0,4}by|uses?|replaces?|moves?|refactors?|extracts?)\b"
    rf"|(?:fix: |also |instead,? |rather,? |then |simply |so )*{_ORDERS}[ds]?\b)|\b(?:the|this) (?:fix|patch)\b",
    re.IGNORECASE,
)
_REWORKED: Final = re.compile(rf"^\W*(?:(?:{_LISTED['reworks']})[ds]?|using)\b", re.IGNORECASE)
_CREDIT: Final = re.compile(
    r"\(?[:{](?:issue|pr|gh|user|pull|commit)[:}]`[^`]*`[,)]?|\[[^\]]+\]: \S+|\bThanks\b.*$|\b(?:by|from|and) @[\w-]+"
)
_RELEASE: Final = re.compile(r"\W*(?:[\d.v]+\b|unreleased|version\b|\(?released)", re.IGNORECASE)
_OF_FUNCTION: Final = re.compile(r"^\s*[-*+] `{0,2}\w*(?:[._]\w+)+`{0,2}(?:\(\))?(?: / \w+)? ?:")
_CALLED: Final = re.compile(r"\b([a-z]\w*(?:\.\w+)*)\(")
_DOTTED: Final = re.compile(r"`~?([a-z]\w*(?:\.\w+)+)(?:\(\))?`")
_LONGEST_NOISE: Final = 12
"""Words up to which an entry that names documents or tools is about these alone."""

_MOST_MIXED: Final = 3
"""Commits that a merge without a title of its own brings at most: more are several changes."""

_LEAST_WORDS: Final = 6
"""Different words without which nobody knows what is asked for."""

_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_MOST_LINES: Final = 300
"""Lines of code that a change adds at most: what is larger is no task of one sitting."""

_LONGEST_BODY, _LONGEST_MESSAGE = 2_500, 20_000
_LEAST_CODE, _LEAST_NAME = 10, 4
_NEWS_HEAD: Final = "The changelog will say:"
_NAMES_HEAD: Final = "Tests use these, which are new or take other arguments than now:"
_INTRODUCES: Final = "Change the code of this repository accordingly; tests will be run against it."


@dataclass(frozen=True, slots=True)
class DraftedPrompt:
    """A prompt, what was left out of the message, and why there can be none."""

    text: str
    left_out: tuple[str, ...] = ()
    problem: str = ""


def draft_prompt(messages: Sequence[str], changed: Sequence[ChangedLines]) -> DraftedPrompt:
    """Draft a prompt from the messages of a change, the one of its merge first."""
    answer = _Answer(changed)
    if _is_mixed(messages):
        return DraftedPrompt("", problem="a merge of several changes")
    subjects, body = _plain(messages)
    if not subjects or _CHORE.match(subjects[0]):
        return DraftedPrompt("", problem="a chore by its message: no behaviour is asked for")
    if answer.lines > _MOST_LINES:
        return DraftedPrompt("", problem="too large")
    news, left = answer.sift(list(answer.news()), titles=True)
    explained = bool(news) and bool(_REWORKED.match(subjects[0]))
    asked, left_out = ([], subjects[:1]) if explained else answer.sift(subjects[:1], titles=True)
    # A title of a commit in a merge tells what was asked for, where the changelog does not, and how it was done.
    more, others = answer.sift([one for one in subjects[1:] if not _is_noise(one)], titles=not news)
    said, how = answer.sift(body)
    if not asked and not news:
        return DraftedPrompt("", problem="its message says only how it was done")
    kept, left_out = list(dict.fromkeys((*asked, *more, *said))), [*left_out, *others, *how, *left]
    text = _framed("\n\n".join(kept)[:_LONGEST_BODY], news, list(answer.names())[:12])
    if not text:
        return DraftedPrompt("", problem="its message says too little")
    return DraftedPrompt(text, tuple(left_out))


def _framed(said: str, news: Sequence[str], names: Sequence[tuple[str, str]]) -> str:
    """Write a prompt of its parts; empty where they say too little."""
    docs = " ".join(doc for _, doc in names)
    if len(set(_WORDS.findall(f"{said} {' '.join(news)} {docs}".casefold()))) < _LEAST_WORDS:
        return ""
    parts = [said]
    if news := [line for line in news if line not in said]:
        parts.append("\n".join((_NEWS_HEAD, *(f"- {line}" for line in news))))
    if names:
        listed = (f"- {name}{f': {doc}' if doc else ''}" for name, doc in names)
        parts.append("\n".join((_NAMES_HEAD, *listed)))
    return "\n\n".join(part for part in (*parts, _INTRODUCES) if part)


def without_frame(prompt: str) -> str:
    """Return a prompt without the sentences that all of them have, to compare it with others."""
    for part in (_NEWS_HEAD, _NAMES_HEAD, _INTRODUCES):
        prompt = prompt.replace(part, "")
    return prompt


def _is_mixed(messages: Sequence[str]) -> bool:
    """Whether a merge has no title of its own and brings commits of several people's minds."""
    titled = any(line.strip() and not _MERGE.match(line.strip()) for line in messages[0].splitlines()[:4])
    return not titled and len(messages) > _MOST_MIXED + 1


def _is_noise(entry: str) -> bool:
    """Whether an entry of a list, or a title in a merge, is about documents, style or tools alone."""
    text = entry.strip().lstrip("-*+ ")
    return bool(_CHORE.match(text)) or (len(text.split()) <= _LONGEST_NOISE and bool(_NOISE.search(text)))


def _plain(messages: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the subjects and the other paragraphs of messages, without trailers and numbers of issues."""
    subjects, paragraphs = list[str](), list[str]()
    for message in messages:
        lines = [
            line
            for line in message[:_LONGEST_MESSAGE].splitlines()
            if not _MERGE.match(line.strip()) and not _TRAILER.match(line)
        ]
        subject, _, rest = _ISSUE.sub("", "\n".join(lines)).strip().partition("\n")
        subjects.append(re.sub(r"^(?:feat|fix|perf|bugfix)(?:\([^)]*\))?!?: ", "", subject.strip()))
        paragraphs += [part.strip("\n") for part in re.split(r"\n\s*\n", rest)]
    both = ([part for part in dict.fromkeys(each) if _WORDS.search(part)] for each in (subjects, paragraphs))
    first, others = both
    return first, others


class _Answer:
    """What a change did, so that the prompt does not say it."""

    def __init__(self, changed: Sequence[ChangedLines]) -> None:
        self._code = [one for one in changed if side_of(one.path) == "code"]
        self._news = [one for one in changed if side_of(one.path) == "news"]
        self._tests = "\n".join(line for one in changed if side_of(one.path) == "test" for line in one.added)
        self._tested = set(NAME.findall(self._tests))
        self._added = [line for one in self._code for line in one.added]
        self._removed = [line for one in self._code for line in one.removed]
        self.lines = len(self._added)
        self._lines = {flat for line in self._added if len(flat := squeezed(line)) >= _LEAST_CODE}
        self._known = squeezed(self._tests) + squeezed("\n".join(self._removed))
        before = set(NAME.findall("\n".join(self._removed)))
        known = before | self._tested
        called = {name for line in self._added for name in _CALLED.findall(line) if not DEFINITION.match(line)}
        self._calls = {name for name in called if name.rpartition(".")[2] not in known | defined_names(self._added)}
        self._own = {
            name for name in defined_names(self._added) if name not in self._tested | before and _is_code(name)
        }

    def sift(self, paragraphs: Sequence[str], *, titles: bool = False) -> tuple[list[str], list[str]]:
        """Part what may be said from what gives the answer away; a title says what is wanted, as an order."""
        kept, left_out = list[str](), list[str]()
        for paragraph in paragraphs:
            said = []
            for sentence in _sentences(paragraph):
                shown = _MEANS.sub("", sentence) if not _FENCE.match(sentence) else sentence
                if not _WORDS.search(sentence):
                    continue
                if self._tells(shown, title=titles) or not _WORDS.search(shown):
                    left_out.append(sentence)
                    continue
                if shown != sentence:
                    left_out.append(sentence.removeprefix(shown).strip(" ,"))
                said.append(shown)
            if said:
                kept.append("\n".join(said) if _is_list(said) else " ".join(said))
        return kept, left_out

    def _tells(self, sentence: str, *, title: bool) -> bool:
        """Whether a sentence says how it was done, where, or only that tests were added."""
        words = set(NAME.findall(sentence))
        quoted = [squeezed(part) for part in re.findall(r"`+([^`]{3,200})`+", sentence)]
        signs = [part for part in quoted if not part.replace(".", "").isidentifier() and part not in self._known]
        whole = [part for line in sentence.splitlines() if len(part := squeezed(line)) >= _LEAST_CODE * 2]
        in_code = any(part in line for part in (*signs, *whole) for line in self._lines)
        paths = any(one.path in sentence or f"{one.path.rpartition('/')[2]}:" in sentence for one in self._code)
        named = {*_CALLED.findall(sentence), *_DOTTED.findall(sentence)}
        entry = _is_list([sentence]) and (
            _is_noise(sentence) or bool(_OF_FUNCTION.match(sentence) or _REWORKED.match(sentence))
        )
        order = not title and not _is_list([sentence]) and _HOW.match(sentence)
        shown = in_code or paths or words & self._own or named & self._calls
        return bool(shown or entry or order or _ASIDE.search(sentence))

    def news(self) -> Iterator[str]:
        """Yield what the change adds to a changelog."""
        for one in self._news:
            text = "\n".join(line.strip() for line in one.added)
            for entry in re.split(r"\n(?=[-*] )|\n\n", text):
                flat = " ".join(entry.lstrip("-* ").split())
                flat = _ISSUE.sub("", _CREDIT.sub("", flat)).strip(" ,;")
                if len(_WORDS.findall(flat)) >= _LEAST_WORDS // 2 and not _RELEASE.match(flat):
                    yield flat

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield what tests use and the code lacks, with the first words about it."""
        for one in self._code:
            yield from (
                (f"`{shown}` in `{one.path}`", said) for shown, said in new_names(one, self._tested, self._removed)
            )


def _sentences(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; the entries of a list, and lines of code, one a line."""
    lines = paragraph.splitlines()
    if _is_list(lines) or any(_FENCE.match(line) or line.startswith("    ") for line in lines):
        block = list[str]()
        for line in lines:
            if block and not re.match(r"^\s*[-*+] |^\s*\d+[.)] ", line) and line.startswith("  "):
                block.append(line)
                continue
            if block:
                yield "\n".join(block)
            block = [line]
        yield "\n".join(block)
        return
    yield from _SENTENCE.split(" ".join(line.strip() for line in lines))


def _is_list(lines: Sequence[str]) -> bool:
    return sum(bool(re.match(r"^\s*(?:[-*+]|\d+[.)]) ", line)) for line in lines) >= max(1, len(lines) // 3)


def _is_code(name: str) -> bool:
    return len(name) >= _LEAST_NAME and ("_" in name or name not in {name.lower(), name.capitalize()})
