"""Judges that read the judge's prompt as models might: soundly, or obeying what they should not."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from skillopt.rollouts import Reply, Usage

_BLOCK: Final = re.compile(r"^<<<(\w+) (\w+)\n(.*?)\n\1 \2>>>$", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r'"(.+?)"')
_OURS: Final = re.compile(r"\| .*|<<<\w+ \w+|\w+ \w+>>>|")


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


def echoing(prompt: str) -> str:
    """Repeat the last JSON of the result as if it were the verdict."""
    read = JudgePrompt.of(prompt)
    found = re.findall(r"\{.*\}", read.result)
    return found[-1] if found else judge_reply(prompt, sound)


def _unquoted(text: str) -> str:
    return "\n".join(line.removeprefix("| ") for line in text.split("\n"))
