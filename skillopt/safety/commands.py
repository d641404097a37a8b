"""Find on one line what gives an agent more reach: network commands, secret paths, permissions, included files.

Programs, paths and keys are found by their names, whatever the sentence around them says. Network commands, paths
and includes can be meant well, so they are marked for a person; permission keys are refused.
"""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.disguised_text import as_read
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_commands", "find_piped_command"]

# Every pattern starts at a fixed word and repeats within bounds, so that matching takes linear time.
_COMMAND: Final = r"(?:(?<![\w./-])|(?<=bin/))"
_ARGUMENT: Final = r"[ \t]+[-\"'`$@<\w./~{(]"
_HOST: Final = r"(?:(?:[\w-]{1,63}\.){1,6}[a-z]{2,18}\b|(?:\d{1,3}\.){3}\d{1,3}|localhost|\$\{?\w|[^\s]{0,20}\$\()"
_NETWORK: Final = re.compile(
    rf"{_COMMAND}(?:curl|wget|aria2c|lwp-request|xh|ncat|netcat|socat|telnet|tftp|lftp|rclone|ngrok|cloudflared"
    rf"|smbclient|sshfs|httpie|grpcurl|websocat|sendmail|mailx|mutt|w3m|elinks){_ARGUMENT}"
    rf"|{_COMMAND}(?:nc|nslookup|dig|host|ping|ftp|whois|lynx|mail)[ \t]+(?:-[a-z]|{_HOST})"
    rf"|{_COMMAND}ssh[ \t]+(?:-[a-z]|[^\s|]{{1,100}}@)|{_COMMAND}(?:scp|sftp|rsync)[ \t]+[^\n|]{{1,200}}?[\w.-]:"
    r"|(?:(?<![\w`])`|\$\(|[;|&][ \t]{1,3})ssh[ \t]+[-\w\"'/.@]"
    rf"|{_COMMAND}http[ \t]+(?:GET|POST|PUT|PATCH|DELETE)\b|/dev/(?:tcp|udp)/|\bhttp\.server\b|\bopenssl[ \t]+s_client"
    rf"|{_COMMAND}(?:iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer|certutil|bitsadmin)\b"
    rf"|{_COMMAND}(?:node|deno|bun|perl|ruby|php)[ \t]+-(?:-?eval|p|r|M|[\w:/]{{0,30}}[eE])"
    rf"|{_COMMAND}(?:docker|podman)[ \t]+(?:run|pull|push)[ \t]|{_COMMAND}kubectl[ \t]+(?:cp|exec|port-forward)\b"
    rf"|{_COMMAND}(?:aws[ \t]+s3|gsutil|az[ \t]+storage|gh[ \t]+gist)[ \t]+\w"
    rf"|{_COMMAND}git[ \t]+(?:remote[ \t]+(?:add|set-url)|push[ \t]+(?:[^\s]{{0,80}}://|git@|--mirror"
    r"|(?!origin\b|-|upstream\b|\w{0,3}[`\"')|])[a-z]\S{0,80}))"
    r"|(?<![\w-])(?:pip[\d.]{0,4}|uv|uvx|poetry|pdm|npm|npx|pnpm|yarn|bun|gem|cargo|go)\b[^\n]{0,80}?(?:--(?:extra-)?"
    r"index-url|--find-links|--registry|--source|--git|--index|[ \t]-[if][ \t]|git\+|(?<=[\w/])@latest)"
    r"|(?:requests|httpx|urllib3?|aiohttp|session|axios)\.(?:post|put|patch)\(|\burl(?:open|retrieve)\("
    r"|\bsocket\.(?:create_connection|connect)\b|\bnavigator\.sendBeacon\b|(?<![\w.])fetch\((?:[\"'`]|[^)\n]{0,100}?"
    r"\bmethod\b)|\bnew (?:WebSocket|XMLHttpRequest|EventSource)\(|\b(?:smtplib|ftplib|paramiko|TCPSocket|HttpClient)\b"
    r"|\bDownload(?:String|File)\s?\(|\bNet::(?:HTTP|FTP|SMTP|SSH|SCP)\b"
    r"|\brequire\([\"'](?:node:)?(?:net|http|https|http2|dgram|tls|dns|child_process)[\"']\)",
    re.IGNORECASE,
)
_OF_THIS_MACHINE: Final = re.compile(
    r"(?<![\w./-])(?:curl|wget)(?:[ \t]+-[a-zA-Z-]{1,20}){0,6}[ \t]+[\"']?(?:https?://)?(?:localhost|127\.0\.0\.1"
    r"|\[::1\])(?::\d{1,5})?(?:/[\w./?=&%-]{0,100})?[\"']?(?=[ \t]*(?:$|[`).,]))"
)
_SPLIT: Final = re.compile(r"(?<=\w)(?:''|\"\"|\\(?=\w)|\$@|\$\{\w{0,10}\})(?=\w)")
"""What a shell drops inside of a word."""

_HOME: Final = r"(?:~|\$\{?HOME\}?|%USERPROFILE%|\$env:USERPROFILE|/(?:root|home/[\w.-]{1,40}|Users/[\w.-]{1,40}))[/\\]"
_PATH: Final = re.compile(
    rf"{_HOME}\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|config[/\\](?:gh|gcloud|git)|azure|password|claude|codex"
    r"|cursor|gemini|mozilla|\w{2,10}_history|profile|bashrc|zshrc)|C:\\Users\\[^\s\\]{1,40}\\\."
    r"|(?<![\w.])\.(?:ssh[/\\]|aws[/\\]|netrc\b|pypirc\b|npmrc\b|git-credentials\b|gnupg\b|kube[/\\]config"
    r"|docker[/\\]config|vault-token\b|pgpass\b|\w{2,10}_history\b|htpasswd\b|bashrc\b|zshrc\b|bash_login|zprofile"
    r"|zshenv|bash_profile|gitconfig|gitattributes|gitmodules|envrc\b|mcp\.json|husky|devcontainer|pre-commit-config"
    r"|cursorrules|windsurfrules|clinerules|vscode/(?:settings|tasks)|github/(?:workflows|copilot-instructions)"
    r"|git[/\\](?:hooks|config)\b|(?:claude|codex|cursor|gemini|windsurf|aider)[/\\]"
    r"(?:settings|config|hooks|mcp|agents?|commands|rules|plugins))"
    r"|(?<![\w-])id_(?:rsa|dsa|ecdsa|ed25519)\b|\b(?:authorized_keys|known_hosts|sudoers|CODEOWNERS|skillopt\.toml)\b"
    r"|\b(?:sitecustomize|usercustomize)\.py|\bcore\.(?:hooksPath|sshCommand|fsmonitor)\b|\bcrontab\b"
    r"|(?<![\w./])/proc/(?:self|\d{1,9}|\$\w{1,20}|\*|\$\$|thread-self|<?\w{1,10}>?)/"
    r"|(?<![\w.])/etc/(?:passwd|shadow|sudoers|hosts\b|ssh\b|cron|profile|environment|kubernetes|ssl/private)"
    r"|(?<![\w.])/(?:run/secrets|var/run/(?:secrets|docker\.sock)|root/|sys/class|boot/|private/etc)"
    r"|(?:[`@]|(?:cat|source|cp|base64)[ \t]|file |\.\./)\.env\b(?!\.(?:example|sample|template))"
    r"|\blogin\.keychain|\bLogin Data\b|\bCookies\.sqlite|\bwallet\.dat\b|\bcredentials\.(?:db|toml|json)\b"
    r"|\b(?:printenv|env[ \t]*\||set[ \t]*\||os\.environ\b[ \t]*(?:\)|$|\.items|\.copy)|process\.env[ \t]*(?:\)|$|,|`))"
    r"|`env`|\$\{?[A-Z]{2,30}(?:_[A-Z]{2,20}){0,3}_(?:KEY|TOKEN|SECRET|CREDENTIALS)\b"
    r"|(?<![\w-])(?:gpg2?[ \t][^\n`]{0,40}?--export-secret|security[ \t]+(?:find|dump)-[a-z-]{1,30}"
    r"|git[ \t]+credential[ \t]+(?:fill|get)|keyring[ \t]+get|pass[ \t]+show|op[ \t]+(?:read|item[ \t]+get)"
    r"|vault[ \t]+(?:kv[ \t]+get|read)|aws[ \t]+(?:configure[ \t]+(?:get|export)|secretsmanager[ \t]+get)"
    r"|gcloud[ \t]+auth[ \t]+print|az[ \t]+account[ \t]+get-access|gh[ \t]+auth[ \t]+token"
    r"|kubectl[ \t]+get[ \t]+secrets?|secret-tool[ \t]+lookup|npm[ \t]+token|docker-credential-\w|bw[ \t]+get)\b"
    r"|(?<![\w@])@(?:~|/|\.\.?/|\$)[\w./~*{$-]{1,200}",
    re.IGNORECASE,
)
_SIGN: Final = r"[\"'`\]]{0,2}[ \t]{0,5}[:=]"
_PERMISSION: Final = re.compile(
    r"(?:dis)?allowed[-_]?tools|permission[-_]?mode|permission[-_]?prompt[-_]?tool|bypass[-_]?permissions"
    r"|accept[-_]?edits|dangerously[-_]?(?:skip|bypass|allow|disable)[\w-]{0,40}|danger[-_]?full[-_]?access"
    r"|dont[-_]?ask(?![a-z])|--(?:yolo|full-auto|allow-all[\w-]{0,20}|trust-plugin|ask-for-approval)\b"
    r"|disable[-_]?skill[-_]?shell[-_]?execution|enable[-_]?all[-_]?project[-_]?mcp[-_]?servers|api[-_]?key[-_]?helper"
    r"|sandbox[-_]?mode[\"'` \t]*[:=]|approval[-_]?policy|approvals[-_]?reviewer|tools[-_]?approval[-_]?mode"
    rf"|(?<![\w-])(?:auto[-_]?approve|always[-_]?allow|trust[-_]?level|default[-_]?mode|auto[-_]?run){_SIGN}"
    rf"|[\"'](?:permissions|hooks|mcp_?servers){_SIGN}|(?<![\w.-])mcpServers{_SIGN}|\bpermissions\.(?:allow|deny|ask)\b"
    # A key of a settings file stands first on its line and has a value, not a sentence.
    r"|\A[ \t]{0,12}(?:permissions|hooks"
    r"|mcp_servers)[ \t]{0,5}[:=][ \t]{0,5}(?:[\[{\"']|all\b|none\b|true\b|\d|[\w-]+:|\*|$)"
    r"|\[(?:permissions|hooks|mcp_servers)[\].]|(?<![\w-])mcp_servers\.\w",
    re.IGNORECASE,
)
_INCLUDE: Final = re.compile(
    r"(?:\A|(?<=[\s(\"':>]))@(?:[\w.-]{1,60}/){0,8}[\w.-]{1,60}\.(?:md|mdc|mdx|txt|ya?ml|json|toml|env|ini|cfg|sh|py)"
    r"(?![\w/@])"
    r"|(?<![\w@/])@(?:include|import)\b[ \t]+[\"'`<(]?[\w./~]+\.\w"
    r"|\{\{[ \t]{0,3}(?:>|#?(?:include|import|embed|file|read|transclude)\b)|\{%[ \t]{0,3}(?:include|import|extends)\b"
    r"|(?<![\w!])!(?:include|INC|import)\b[ \t(]"
    r"|(?<!\w)#(?:file|folder|codebase|include|import)[: \t]+[\"'<]?[\w.~/]+[./]"
    r"|<<<[ \t]{0,3}@|-{1,4}8<-{1,4}|::[ \t]{0,2}(?:include|literalinclude)\b|!\[\[|\binclude::",
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
