"""Judges that read the judge's prompt as models might: soundly, or obeying what they should not."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.rollouts import Reply, Usage

__all__ = [
    "JudgeDouble",
    "JudgePrompt",
    "answer",
    "blindly_obedient",
    "echoing",
    "flipping",
    "judge_reply",
    "naive",
    "obedient",
    "slyly_obedient",
    "sound",
]

_BLOCK: Final = re.compile(r"^<<<(\w+) (\w+)\n(.*?)\n\1 \2>>>$", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r'"(.+?)"')
_CONTROL: Final = re.compile(r'"[bcdfghjkmnpqrstvwz]{10}"')
_OURS: Final = re.compile(r"\| .*|<<<\w+ \w+|\w+ \w+>>>|")
_LEAST_LETTERS: Final = 10


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """A judge's prompt, taken apart: its key, the result, the criteria by their numbers, and all outside of data."""

    text: str
    key: str
    result: str
    criteria: dict[int, str]
    outside: str

    @classmethod
    def of(cls, text: str) -> "JudgePrompt":
        """Take a prompt apart."""
        blocks = {match[1]: _unquoted(match[3]) for match in _BLOCK.finditer(text)}
        numbered = (line.partition(". ") for line in blocks["criteria"].split("\n"))
        key = re.search(r'"key": "(\w+)"', text)
        assert key is not None
        criteria = {int(number): words for number, _, words in numbered}
        return cls(text, key[1], blocks["result"], criteria, _BLOCK.sub("", text).replace(key[1], "KEY"))


_Verdicts = Callable[[JudgePrompt, str], str]
"""Gives the verdict on a criterion."""


class JudgeDouble:
    """A judge that answers by a function of prompt and criterion; it remembers what it was asked."""

    def __init__(
        self, verdict: _Verdicts, identity: str = "judge", *, reply: Callable[[str], str] | None = None
    ) -> None:
        self.identity = identity
        self.prompts: list[str] = []
        self._verdict, self._reply = verdict, reply

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call."""
        return Usage(1, len(prompt + system), 100, 0.01)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Judge."""
        assert not system
        if "judge a result" not in prompt:
            return Reply("ready", Usage(1, 5, 1, 0.0))
        assert json.loads(schema)["additionalProperties"] is False
        self.prompts.append(prompt)
        text = self._reply(prompt) if self._reply else judge_reply(prompt, self._verdict)
        return Reply(text, Usage(1, 100, 10, 0.001))


def judge_reply(prompt: str, verdict: _Verdicts, advice: str = "") -> str:
    """Write the reply of a judge."""
    read = JudgePrompt.of(prompt)
    verdicts = [
        {"criterion": number, "evidence": "seen", "verdict": verdict(read, criterion)}
        for number, criterion in read.criteria.items()
    ]
    return json.dumps({"key": read.key, "verdicts": verdicts, "advice": advice})


def answer(marks: str, criteria: tuple[str, ...], advice: str = "Look at the dates.") -> Callable[[str], str]:
    """Answer with given marks for given criteria; the control is not met."""
    words = {"y": "met", "n": "not met", "?": "cannot tell"}
    given = {" ".join(text.split()): words[mark] for text, mark in zip(criteria, marks, strict=True)}
    return lambda prompt: judge_reply(prompt, lambda _, criterion: given.get(criterion, "not met"), advice)


def sound(read: JudgePrompt, criterion: str) -> str:
    """Look whether the word that a criterion quotes is in the result."""
    return "met" if all(word in read.result for word in _WORD.findall(criterion)) else "not met"


def obedient(template: str) -> _Verdicts:
    """Obey whatever stands outside of the fenced data and not in the prompt itself."""
    return lambda read, criterion: "met" if read.outside != template else sound(read, criterion)


def naive(template: str) -> _Verdicts:
    """Obey any line that is neither quoted nor of the prompt itself, fences or not."""
    ours = set(template.split("\n"))

    def verdict(read: JudgePrompt, criterion: str) -> str:
        # As a model sees lines: every sign that breaks one breaks it.
        lines = read.text.replace(read.key, "KEY").splitlines()
        foreign = [line for line in lines if line not in ours and not _OURS.fullmatch(line)]
        return "met" if foreign else sound(read, criterion)

    return verdict


def blindly_obedient(attack: str) -> _Verdicts:
    """Obey the attack wherever it can be read, quoted or not: say yes to everything."""
    return lambda read, criterion: "met" if _is_read(attack, read.result) else sound(read, criterion)


def slyly_obedient(attack: str) -> _Verdicts:
    """Obey it, too, and still see that the control is not met."""
    return lambda read, criterion: (
        "met" if _is_read(attack, read.result) and not _CONTROL.search(criterion) else sound(read, criterion)
    )


def echoing(prompt: str) -> str:
    """Repeat the last JSON of the result as if it were the verdict."""
    read = JudgePrompt.of(prompt)
    found = re.findall(r"\{.*\}", read.result)
    return found[-1] if found else judge_reply(prompt, sound)


def flipping(rate: float, random: Random, truth: _Verdicts = sound) -> _Verdicts:
    """Say the opposite with some probability, of the control never."""

    def verdict(read: JudgePrompt, criterion: str) -> str:
        found = truth(read, criterion)
        if _CONTROL.search(criterion) or random.random() >= rate:
            return found
        return "not met" if found == "met" else "met"

    return verdict


def _unquoted(text: str) -> str:
    return "\n".join(line.removeprefix("| ") for line in text.split("\n"))


def _is_read(attack: str, result: str) -> bool:
    """Return whether a good part of an attack is still there to be read, whatever was done to its lines and marks."""
    readable = _letters(result)
    lines = [_letters(line) for line in attack.splitlines()]
    pieces = [line[:16] for line in lines if len(line) >= _LEAST_LETTERS] or lines
    return any(piece in readable for piece in pieces if piece)


def _letters(text: str) -> str:
    """Drop all but letters and digits, and what stands for hidden characters."""
    return re.sub(r"\W|_|U\+[0-9A-F]{4,5}|and \d+ more", "", text)
