"""Find and mask credentials in text.

What is found by its shape: keys with a known prefix, tokens, private keys, passwords in addresses, and random
values assigned to a telling name. Nothing is ever tried out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

# Every pattern starts at a fixed prefix and repeats one class within bounds, so matching is linear.
_SHAPES = {
    "AWS access key": re.compile(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    "GitHub token": re.compile(r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    "GitLab token": re.compile(r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[\w-]{16,}"),
    "Anthropic key": re.compile(r"sk-ant-[\w-]{8,}"),
    "OpenAI key": re.compile(r"(?<![A-Za-z0-9])sk-(?!ant-)(?=[A-Za-z_-]{0,60}[0-9])[\w-]{20,}"),
    "Slack token": re.compile(r"xox[a-z]-[\w-]{10,}|xapp-\d-[\w-]{10,}"),
    "Google key": re.compile(r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"),
    "Stripe key": re.compile(r"[rsw][kh](?:_live_|_test_|sec_)[A-Za-z0-9]{16,}"),
    "package index token": re.compile(r"npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}"),
    "SendGrid key": re.compile(r"SG\.[\w-]{16,40}\.[\w-]{16,60}"),
    "key of a vendor": re.compile(
        r"(?<![\w-])(?:dop_v1|doo_v1|shpat|shpss|shpca|sq0atp|sq0csp|r8|key|pk|tok|lin_api|nvapi|gsk|xai|pplx|fly|ntn"
        r"|secret|hf|dapi|rnd|sntrys|sbp|vercel|figd|pat|atlasv1|hvs|tfp|cfut)[-_](?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}"
    ),
    "split AWS access key": re.compile(r"(?:AKIA|ASIA)(?:[\s\"'`+,.|-]{1,6}[A-Z0-9]{2,16}){1,8}(?![A-Za-z0-9])"),
    "part of a key": re.compile(
        r"(?<![A-Za-z0-9])(?:sk-(?:proj|svcacct|live|test|or)-|gh[pousr]_|glpat-|github_pat_|xox[abp]-|hf_|npm_)"
        r"(?=[A-Za-z_-]{0,30}[0-9])(?=[0-9_-]{0,30}[A-Za-z])[\w-]{8,}"
    ),
    "JSON web token": re.compile(r"eyJ[\w-]{8,400}\.eyJ[\w-]{8,}(?:\.[\w-]*)?"),
    "private key": re.compile(  # to its end, or to its last line where it is cut off
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:(?!-----)[\s\S]){0,20000}-----END [A-Z0-9 ]{0,60}-----|(?:(?:\s|\\[nr]){0,8}[A-Za-z0-9+/=]{16,})*)"
    ),
    "bearer token": re.compile(r"(?i)\b(?:bearer|basic)[ \t]{1,5}(?=[A-Za-z_.~+/-]{0,60}[0-9])[\w.~+/-]{16,}={0,2}"),
    "password in an address": re.compile(r"(?<=://)[^\s/@:<>{}$]{0,100}:[^\s/@<>{}$]{3,200}@"),
}
_ASSIGNMENT = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|auth)"
    r"[\w-]{0,20}[\"'`]{0,2}[ \t]{0,5}(?::=|=>|[:=])[ \t]{0,5}[\"'`]{0,2}(?P<value>[^\s\"'`<>{}$()\[\],;]{12,200})"
)
_PASSWORD = re.compile(  # in words: a value of letters and digits, or several words with hyphens
    r"(?i)\b(?:passw(?:or)?d|passphrase|passcode)\b[\"'`*]{0,3}(?:[ \t]{0,3}[:=]|[ \t]{1,3}(?:is|was))?[ \t]{0,3}"
    r"[\"'`*]{0,3}(?!sha|md5|argon|base64|len)(?P<value>"
    r"(?=[^\s\d\"'`<>{}$()\[\],;]{0,60}\d)(?=[^\sA-Za-z]{0,60}[A-Za-z])[^\s\"'`<>{}$()\[\],;]{6,60}"
    r"|[a-z0-9]{2,20}(?:-[a-z0-9]{2,20}){2,5})(?![\w(])"
)
_MIXED = re.compile(r"(?=[^0-9]{0,200}[0-9])(?=[^A-Za-z]{0,200}[A-Za-z])")
_SHORTEST_RANDOM = 8  # characters: a word with a number is shorter
_ENTROPY = 3.0
"""Bits a character above which a value looks random."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What looks like a credential: its kind and where it stands."""

    kind: str
    start: int
    end: int


def find_credentials(text: str) -> Iterator[Credential]:
    """Find everything shaped like a credential, in order; of shapes that overlap, the first or longest."""
    found = [Credential(kind, *match.span()) for kind, pattern in _SHAPES.items() for match in pattern.finditer(text)]
    found += [
        Credential("secret value", *match.span("value"))
        for match in _ASSIGNMENT.finditer(text)
        if _looks_random(match["value"])
    ]
    found += [Credential("password", *match.span("value")) for match in _PASSWORD.finditer(text)]
    position = 0
    for credential in sorted(found, key=lambda credential: (credential.start, -credential.end)):
        if credential.start >= position:
            yield credential
            position = credential.end


def mask(text: str, *, keep_lines: bool = False) -> str:
    """Replace credentials by their kind; the lines that they stand on may be kept."""
    pieces, position = [], 0
    for credential in find_credentials(text):
        breaks = text.count("\n", credential.start, credential.end) if keep_lines else 0
        pieces += [text[position : credential.start], f"[{credential.kind}]", "\n" * breaks]
        position = credential.end
    return "".join([*pieces, text[position:]])


def _looks_random(value: str) -> bool:
    """Distinguish random values from words, paths, dates and placeholders."""
    if not any(len(part) >= _SHORTEST_RANDOM and _MIXED.match(part) for part in re.split(r"[-_./+]", value)):
        return False
    counts = Counter(value).values()
    return -sum(count / len(value) * log2(count / len(value)) for count in counts) >= _ENTROPY
