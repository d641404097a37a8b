"""Find on one line what gives an agent more reach: remote commands, paths outside, permissions, included files.

Commands, paths and includes can be meant well, so they are marked for a person; permission keys are refused.
"""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.disguised_text import as_read
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_commands", "find_piped_command"]

# Every pattern starts at a fixed word and repeats within bounds, so that matching takes linear time.
_NETWORK: Final = re.compile(
    r"(?:(?<![\w./-])|(?<=bin/))(?:(?:curl|wget|ncat|netcat|socat|telnet|s?ftp|ssh|rclone|iwr|irm|invoke-webrequest)"
    r"[ \t]+[-\"'`$@<\w./~{(]|(?:nc|scp|rsync|nslookup|dig|ping)[ \t][^\n|`]{0,80}(?:[\w-]\.\w|[\w.-]:|\$))"
    r"|/dev/(?:tcp|udp)/|\bnew (?:WebSocket|XMLHttpRequest|EventSource)\(|(?<![\w.])fetch\([\"'`]"
    r"|\b(?:requests|httpx|urllib3?|aiohttp|axios|smtplib|ftplib|paramiko|socket)\.\w{2,30}\(|\burlopen\(",
    re.IGNORECASE,
)
_OF_THIS_MACHINE: Final = re.compile(
    r"(?<![\w./-])(?:curl|wget)(?:[ \t]+-[a-zA-Z-]{1,20}){0,6}[ \t]+[\"']?(?:https?://)?(?:localhost|127\.0\.0\.1"
    r"|\[::1\])(?::\d{1,5})?(?:/[\w./?=&%-]{0,100})?[\"']?(?=[ \t]*(?:$|[`).,]))"
)
_SPLIT: Final = re.compile(r"(?<=\w)(?:''|\"\"|\\(?=\w)|\$@|\$\{\w{0,10}\})(?=\w)")
"""What a shell drops inside of a word."""

_PATH: Final = re.compile(  # hidden folders, hidden files of the home folder, and folders of the system
    r"(?:~|\$\{?HOME\}?|%USERPROFILE%|\$env:USERPROFILE|/(?:home|Users)/[\w.-]{1,40})[/\\]\.\w"
    r"|(?<![\w.*>}])\.(?:(?!github[/\\]?(?!\w))[a-z][\w-]{1,40}[/\\]|(?:env|[a-z]{2,12}rc|[a-z]{2,10}_history)\b(?!\.\w|\())"
    r"|(?<![\w.])/(?:etc|proc|root|run|var/run|boot|sys|private)/[\w$*<.-]",
    re.IGNORECASE,
)
_SIGN: Final = r"[\"'`\]]{0,2}[ \t]{0,5}[:=]"
_STEM: Final = r"(?:permissions?|approv(?:e|al|als)|allowed|allow-?all|skip-permissions)"
_PERMISSION: Final = re.compile(
    rf"(?<![\w-])-{{1,2}}[a-z-]{{0,20}}\b(?:{_STEM}|yolo|full-auto)\b|(?<![\w.-])(?:dis)?allowed[-_]?tools"
    r"|\b(?:permissions?|bypass|sandbox|approvals?|danger(?:ously)?)[-_][a-z]{2,12}(?:[-_][a-z]{2,12}){0,6}"
    r"|\b(?:bypass|permission|accept|trust|allow|approval)s?[A-Z]\w{2,40}|\bpermissions\.(?:allow|deny|ask)\b"
    rf"|(?<![\w-])(?:default|permission)[-_]?[mM]ode{_SIGN}|\bdisable[-_]?\w{{0,8}}[-_]?[sS]hell"
    rf"|[\"'](?:permissions|hooks|mcp_?servers){_SIGN}|(?<![\w.-])mcpServers{_SIGN}"
    # A key of a settings file stands first on its line and has a value, not a sentence.
    r"|\A[ \t]{0,12}(?:permissions|hooks|mcp_servers)[ \t]{0,5}[:=][ \t]{0,5}(?:[\[{\"']|all\b|none\b|true\b|\d"
    r"|[\w-]+:|\*|$)"
    r"|\[(?:permissions|hooks|mcp_servers)[\].]|(?<![\w-])mcp_servers\.\w"
)
_INCLUDE: Final = re.compile(
    r"(?:\A|(?<=[\s(\"':>`]))@(?:~?/|\.{1,2}/|\$)?(?:[\w.*{}$-]{1,60}/){0,8}[\w.*-]{1,60}(?:\.[a-z]{2,4}|(?<=/[\w]))"
    r"(?![\w/@])"
    r"|(?<![\w@/])[@!#](?:include|import|file|folder|INC)\b[: \t(]{1,3}[\"'`<(]?[\w./~]+[./]"
    r"|\{[{%][ \t]{0,3}(?:>|#?(?:include|import|extends|embed|file|read)\b)|-{1,4}8<-{1,4}"
    r"|(?:::[ \t]{0,2}|\b)include::|!\[\[",
    re.IGNORECASE,
)
_LONGEST: Final = 10_000
_LEAD: Final = r"(?:sudo\s{1,5})?(?:/(?:usr/)?bin/)?(?:env\s{1,5})?"
_SHELL: Final = rf"{_LEAD}(?:ba|z|da|k|a|fi|c|tc)?sh"
_PROGRAM: Final = r"(?:python[\d.]{0,5}|perl|ruby|node|php|pwsh|powershell|iex|invoke-expression)"
_INTERPRETER: Final = rf"(?:{_SHELL}|{_LEAD}{_PROGRAM})"
_FETCH: Final = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|base64|openssl|xxd)"
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


def find_commands(line: str) -> Iterator[TextMatch]:
    """Find network commands, secret paths, included files and permission keys, at most one of each on a line."""
    joined = _SPLIT.sub("", line)
    without_own = _OF_THIS_MACHINE.sub(lambda own: " " * len(own[0]), joined)
    found = _NETWORK.search(without_own)
    command = joined[found.start() :].strip() if found else find_piped_command(line)
    if command:
        yield TextMatch(LintClass.NETWORK_COMMAND, command, 0, command, "a command that reaches the network")
    for pattern, what in ((_PATH, "a path to secrets or settings"), (_INCLUDE, "another file put in its place:")):
        if match := pattern.search(line):
            text = line[match.start() :].strip()
            yield TextMatch(LintClass.SENSITIVE_PATH, text, 0, text, what)
    if match := _PERMISSION.search(line):
        yield TextMatch(LintClass.PERMISSION_KEY, " ".join(line.split()).lower(), 0, match[0], "the permission key")


def find_piped_command(line: str) -> str:
    """Find the command on a line whose input is run as a program; empty where there is none."""
    flat = as_read(line[:_LONGEST])
    found = _PIPED_FETCH.search(flat) or _RUN_FETCH.search(flat)
    if found is None and not (flat.lstrip().startswith("|") and flat.count("|") >= _ROW_BARS):
        found = _PIPED.search(flat)
    return found[0].strip() if found else ""
