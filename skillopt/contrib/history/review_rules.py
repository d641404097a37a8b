"""Make tasks with a check, and an edit, of review remarks that say one rule.

A check is a pattern that tells what stood before several remarks from what came after. It is tried on both files.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.contrib.history.redaction import Redaction
from skillopt.contrib.history.remark_groups import shared_words
from skillopt.contrib.history.remarks import Remark
from skillopt.safety.plurals import count_noun
from skillopt.tasks import File, Task, VerifierSpec, digest_of

_LONGEST_RULE: Final = 300
_LONGEST_REQUEST: Final = 1_500
_MOST_TIMES: Final = 4
"""How often a pattern may stand in a file; more often makes the search slow."""

_LONGEST_RUN: Final = 4
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_NIT: Final = re.compile(
    r"^\W*(?:(?:femto|super|minor|small)?[ -]?nit(?:pick)?|minor|suggestion|style)\b\W*", re.IGNORECASE
)
_UNFINISHED: Final = (
    "This change is under way. `{path}` is as its author offered it for review. Finish it, so that reviewers of this "
    "repository have nothing to say against it. Change nothing else."
)


@dataclass(frozen=True, slots=True)
class SettledRemark:
    """A remark with the lines that were removed and added in its place."""

    remark: Remark
    gone: str
    come: str


@dataclass(frozen=True, slots=True)
class _Check:
    """A pattern that the file of some remarks has less often after the remark than before, or else more often."""

    tokens: tuple[str, ...]
    absent: bool

    @property
    def pattern(self) -> str:
        pieces = [re.escape(token) for token in self.tokens]
        joints = (
            r"\s+" if one[-1].isidentifier() and other[0].isidentifier() else r"\s*"
            for one, other in zip(self.tokens, self.tokens[1:], strict=False)
        )
        first, last = ((r"\b" if token[0].isidentifier() else "") for token in (self.tokens[0], self.tokens[-1]))
        return first + "".join(piece + joint for piece, joint in zip(pieces, (*joints, ""), strict=True)) + last

    def options(self, remark: Remark) -> dict[str, object] | None:
        """Return options of a verifier that fails on the file before and passes after; None where none does."""
        before, after = (len(re.findall(self.pattern, text or "")) for text in (remark.before, remark.after))
        times = (after if self.absent else before) + 1
        if (before <= after if self.absent else after <= before) or times > _MOST_TIMES:
            return None
        repeated = self.pattern if times == 1 else f"(?:{self.pattern}[\\s\\S]*?){{{times}}}"
        return {"pattern": repeated, "file": remark.path, **({"absent": True} if self.absent else {})}


class ReviewRule:
    """A rule that reviewers said over several pull requests; secrets and people are taken out of all that it gives."""

    def __init__(self, settled: Sequence[SettledRemark], redaction: Redaction) -> None:
        remarks = [one.remark for one in settled]
        redaction.learn(*(text for one in remarks for text in (one.text, one.before or "", one.after or "")))
        in_time = sorted(settled, key=lambda one: (one.remark.at, one.remark.id))
        logins = {re.escape(name) for one in remarks for name in (one.author, one.pull_author) if name}
        people = re.compile(rf"@(?:{'|'.join(sorted(logins)) or '$.'})\b")
        self._settled = [replace(one, remark=_redacted(one.remark, redaction, people)) for one in in_time]
        self._remarks = [one.remark for one in self._settled]
        self._words = shared_words([one.text for one in self._remarks])
        self.text = min((one.text for one in self._remarks), key=lambda text: (-self._share(text), len(text), text))
        words = re.findall(r"[a-z]+", self.text.casefold())[:3]
        self.id = "-".join(("rule", *words, digest_of(*sorted(one.id for one in remarks))[:6]))
        self._check = _find_check(self._settled)

    @property
    def why(self) -> str:
        """Say how often it was said, by how many people, and where; the links are of the forge itself."""
        people, pulls = ({getattr(one, name) for one in self._remarks} for name in ("author", "pull"))
        links = ", ".join(one.url or f"pull request {one.pull}" for one in self._remarks)
        return (
            f"said {count_noun(len(self._remarks), 'time')} by {count_noun(len(people), 'person', 'people')} over "
            f"{count_noun(len(pulls), 'pull request')} ({links})"
        )

    @property
    def edit(self) -> Mapping[str, object]:
        """The rule as an edit that `skillopt propose` tries."""
        return {"op": "add", "content": f"- {self.text}", "rationale": f"Reviewers: {self.why.partition(' (')[0]}."}

    def tasks(self) -> Iterator[tuple[Task, Sequence[str]]]:
        """Yield a task of each remark, named by its day, oldest first, with what a person should know of it."""
        for number, remark in enumerate(self._remarks, 1):
            verifier, note = self._verifier(remark)
            about = (self._without_hints(text) for text in (remark.title, remark.description))
            prompt = "\n\n".join(filter(None, (*about, _UNFINISHED.format(path=remark.path))))
            files = (File(remark.path, (remark.before or "").encode()),)
            name = "-".join(filter(None, (remark.at[:10], self.id, str(number))))
            yield Task(name, prompt, verifier, files, ("reviews", self.id)), (f"said: {remark.text}", note)

    def _verifier(self, remark: Remark) -> tuple[VerifierSpec, str]:
        options = self._check.options(remark) if self._check else None
        if options is None:
            criterion = f"The result heeds what a reviewer said of {remark.path}: {remark.text}"
            return _spec("rubric", criteria=[criterion]), "no pattern tells before from after: a judge is needed"
        lines = min(len((text or "").splitlines()) for text in (remark.before, remark.after)) // 2
        rest = {"pattern": f"(?:[^\\n]*\\n){{{lines}}}", "file": remark.path}
        checks = [{"kind": "regex", "name": "heeds the rule", "options": options}]
        checks += [{"kind": "regex", "name": "keeps the rest", "options": rest}] if lines else []
        return _spec("checks", checks=checks), "the check fails on the file before and passes on the file after"

    def _without_hints(self, text: str) -> str:
        """Leave out lines that tell what the reviewer will say."""
        return "\n".join(line for line in text.splitlines() if self._share(line) <= 1).strip()

    def _share(self, text: str) -> int:
        return len(self._words & shared_words([text]))


def _redacted(remark: Remark, redaction: Redaction, people: re.Pattern[str]) -> Remark:
    said, title, description = (
        people.sub("[name]", redaction.text(text)) for text in (remark.text, remark.title, remark.description)
    )
    flat = " ".join(_NIT.sub("", said).split())[:_LONGEST_RULE]
    texts = {"text": f"{flat[:1].upper()}{flat[1:]}", "title": title, "description": description[:_LONGEST_REQUEST]}
    files = {name: redaction.file(getattr(remark, name) or "") for name in ("before", "after", "url")}
    return remark.model_copy(update={**texts, **files})


def _spec(kind: str, **options: object) -> VerifierSpec:
    return VerifierSpec(kind, json.dumps(options, ensure_ascii=False))


def _find_check(settled: Sequence[SettledRemark]) -> _Check | None:
    """Find what most of the changes took away, or brought, with a name in it that reviewers said: else it is chance."""
    said = {word for one in settled for word in _TOKEN.findall(one.remark.text) if shared_words([word])}
    found: dict[_Check, set[int]] = {}
    for one in settled:
        gone, come = _runs(one.gone), _runs(one.come)
        for runs, absent in ((gone - come, True), (come - gone, False)):
            for tokens in runs:
                found.setdefault(_Check(tokens, absent), set()).add(one.remark.pull)
    ranked = []
    for check, pulls in found.items():
        named = sum(token in said for token in check.tokens)
        told = [one.remark.pull for one in settled if check.options(one.remark)] if named and len(pulls) > 1 else []
        if len(set(told)) > 1:
            ranked.append((-len(told), -named, not check.absent, len(check.tokens), check.tokens, check))
    return min(ranked)[-1] if ranked else None


def _runs(lines: str) -> set[tuple[str, ...]]:
    """Return the runs of tokens on each line."""
    rows = [_TOKEN.findall(line) for line in lines.splitlines()]
    return {
        tuple(row[at : at + size])
        for row in rows
        for size in range(1, _LONGEST_RUN + 1)
        for at in range(len(row) - size + 1)
    }
