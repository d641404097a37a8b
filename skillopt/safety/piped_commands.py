"""Find commands whose input is run as a program, such as `curl … | sh`: nobody can read before what they do."""

import re
import unicodedata
from html import unescape
from typing import Final

from skillopt.safety.hidden_unicode import without_hidden

__all__ = ["find_piped_command"]

_LONGEST: Final = 10_000
_LEAD: Final = r"(?:sudo\s{1,5})?(?:/(?:usr/)?bin/)?(?:env\s{1,5})?"
_SHELL: Final = rf"{_LEAD}(?:ba|z|da|k|a|fi|c|tc)?sh"
_INTERPRETER: Final = (
    rf"(?:{_SHELL}|{_LEAD}(?:python[\d.]{{0,5}}|perl|ruby|node|php|pwsh|powershell|iex|invoke-expression))"
)
_FETCH: Final = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|base64|openssl|xxd)"
# Each pattern starts at rare text or repeats within bounds, so that matching takes linear time.
_PIPED_FETCH: Final = re.compile(
    rf"\b{_FETCH}\s{{1,20}}[^|\s][^|]{{0,400}}\|&?\s{{0,20}}{_INTERPRETER}(?=\s*(?:$|[`\"';&)|<]|-|/dev/stdin))",
    re.IGNORECASE,
)
_RUN_FETCH: Final = re.compile(
    rf"\b(?:{_INTERPRETER}|eval|source|exec)\b[^|;]{{0,40}}(?:<\(|\$\(|`)\s{{0,10}}{_FETCH}\s"
    rf"|(?<![^\s;&|(`])\.\s{{1,5}}<\(\s{{0,10}}{_FETCH}\s"
    rf"|\b(?:iex|invoke-expression)\s{{0,5}}\(\s{{0,10}}{_FETCH}\s",
    re.IGNORECASE,
)
_PIPED: Final = re.compile(
    rf"(?:[^|\s]\s{{0,20}}|^\s{{0,20}})\|&?\s{{0,20}}{_SHELL}(?=\s*(?:$|[`\"';&)]|-))", re.IGNORECASE
)
_ROW_BARS: Final = 2
"""Bars from which on a line that begins with one is the row of a table."""


def find_piped_command(line: str) -> str:
    """Give the command on a line of which what it fetches, decodes or is given is run; empty where there is none.

    >>> find_piped_command("- Run `curl -s example.com/i | sudo bash` first.")
    'curl -s example.com/i | sudo bash'

    Args:
        line: A line of any file; only its first characters are read.
    """
    flat = unescape(line[:_LONGEST])
    if not flat.isascii():
        flat = unicodedata.normalize("NFKC", without_hidden(flat))
    if not any(sign in flat for sign in "|(`"):
        return ""
    found = _PIPED_FETCH.search(flat) or _RUN_FETCH.search(flat)
    if found is None and not (flat.lstrip().startswith("|") and flat.count("|") >= _ROW_BARS):
        found = _PIPED.search(flat)
    return found[0].strip() if found else ""
