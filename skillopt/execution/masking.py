"""Masking of secrets in all that is recorded or printed: values of the environment, and what looks like a key."""

import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Final, TextIO, cast
from urllib.parse import quote

from skillopt.safety.credentials import mask

if TYPE_CHECKING:  # every command masks its output, and most need none of these
    from skillopt.rollouts import Rollout

_SECRET_NAME: Final = re.compile(
    r"(?:^|_|API|ACCESS|SECRET|PRIVATE)KEYS?(?:$|_)|TOKENS?(?:$|_)|SECRETS?(?:$|_)|PASS(?:WORD|WD|PHRASE)?(?:$|_)"
    r"|(?:^|_)PWD$|CREDENTIALS?(?:$|_)|(?:^|_)(?:PAT|AUTH)(?:$|_)",
    re.IGNORECASE,
)
_NO_SECRET: Final = re.compile(
    r"(?i)(?:_FILE|_PATH|_DIR|_URL|_SOCK|_COUNT|_LIMIT|_BYPASS)$|^(?:OLD)?PWD$|^MAX_|_MAX_|^GIT_CONFIG_KEY_"
)
_SHORTEST: Final = 8
"""Characters of a value below which masking it would hide ordinary words."""

_LINE_BREAK: Final = r"(?:\r?\n[ \t>|#*]{0,20}|\\n[ \t]{0,20})?"
"""The end of a line, as it is or as JSON writes it, and what stands before the next."""


@dataclass(frozen=True)
class Masking:
    """Replaces secrets in text."""

    secrets: frozenset[str] = frozenset()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Masking":
        """Take the values of all variables whose names say that they are secret."""
        return cls(frozenset(secret_variables(environment)))

    @cached_property
    def _known(self) -> re.Pattern[str] | None:
        forms = {form for secret in self.secrets for form in _forms(secret)}
        patterns = [re.escape(form) for form in sorted(forms, key=len, reverse=True)]
        long = (one for one in sorted(self.secrets) if len(one) >= 16)  # noqa: PLR2004 - lines may be wrapped in these
        patterns += [_LINE_BREAK.join(map(re.escape, one)) for one in long]
        joined = "|".join(patterns)
        return re.compile(joined) if joined else None

    def text(self, text: str) -> str:
        """Replace the secrets and all that looks like a credential; short texts that come again are looked up."""
        return self._looked_up(text) if len(text) <= 4_000 else self._masked(text)  # noqa: PLR2004 - kept in memory

    @cached_property
    def _looked_up(self) -> Callable[[str], str]:
        return lru_cache(maxsize=4096)(self._masked)

    def _masked(self, text: str) -> str:
        return mask(self._known.sub("[secret]", text) if self._known else text)

    def rollout(self, rollout: "Rollout") -> "Rollout":
        """Mask every text of a rollout; its score was given before, so masking changes none."""
        score = rollout.score
        if score is not None:
            said = score.judgement
            shown = said and replace(said, shown=self.text(said.shown), addressed=self.text(said.addressed))
            score = replace(score, feedback=self.text(score.feedback), judgement=shown)
        trajectory = rollout.trajectory.with_texts(self.text)
        return replace(rollout, trajectory=trajectory, score=score, reason=self.text(rollout.reason))


def secret_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the variables that hold a secret by their values; of several with one value, the last."""
    secret = (name for name in environment if _SECRET_NAME.search(name) and not _NO_SECRET.search(name))
    values = {environment[name].strip(): name for name in secret}
    return {value: name for value, name in values.items() if len(value) >= _SHORTEST}


@cache
def environment_masking() -> Masking:
    """Return the masking of the secrets that this process was started with."""
    return Masking.of(os.environ)


class MaskedStream:
    """A text stream that masks each text before it is written, and is the stream otherwise."""

    def __init__(self, stream: TextIO, masking: Masking) -> None:
        self._stream = stream
        self._masking = masking

    def write(self, text: str) -> int:
        """Write a text, masked; give the length that it had."""
        self._stream.write(self._masking.text(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, each masked."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a text stream has
        """Return what the stream itself has."""
        return getattr(self._stream, name)


@contextmanager
def masked_output(masking: Masking) -> Iterator[None]:
    """Mask what is printed inside."""
    before = (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = (cast("TextIO", MaskedStream(stream, masking)) for stream in before)  # it is one by duck
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _forms(secret: str) -> Iterable[str]:
    yield from (secret, repr(secret)[1:-1], escape(secret), secret.replace("/", "\\/"))
    yield from (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    for escaped in (quote(secret), quote(secret, safe="")):
        yield from (escaped, re.sub("%..", lambda code: code[0].lower(), escaped))
    lines = [line.strip() for line in secret.splitlines()] if "\n" in secret else []
    yield from (line for line in lines if len(line) >= _SHORTEST)
    raw = secret.encode("utf-8", "surrogateescape")
    for lead in range(3):
        # In base64 a text looks in one of three ways, by where it begins; its ends depend on what stands beside it.
        encoded = b64encode(b"\0" * lead + raw).decode()
        inner = encoded[(lead * 8 + 5) // 6 : (lead + len(raw)) * 8 // 6]
        if len(inner) >= _SHORTEST:
            yield from (inner, inner.replace("+", "-").replace("/", "_"))
    yield from (raw.hex(), raw.hex().upper())
