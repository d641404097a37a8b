"""Find keys that grant permissions, and orders to change how the user's agent or machine is set up."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_agent_config"]

_SIGN: Final = r"[\"'`\]]{0,2}[ \t]{0,5}[:=]"
_PERMISSION: Final = LazyPattern(
    r"(?:dis)?allowed[-_]?tools|permission[-_]?mode|permission[-_]?prompt[-_]?tool|bypass[-_]?permissions"
    r"|accept[-_]?edits"
    r"|dangerously[-_]?(?:skip|bypass|allow|disable)[\w-]{0,40}|danger[-_]?full[-_]?access|dont[-_]?ask(?![a-z])"
    r"|--(?:yolo|full-auto|allow-all[\w-]{0,20}|trust-plugin|ask-for-approval)\b"
    r"|disable[-_]?skill[-_]?shell[-_]?execution|enable[-_]?all[-_]?project[-_]?mcp[-_]?servers|api[-_]?key[-_]?helper"
    r"|sandbox[-_]?mode[\"'` \t]*[:=]|approval[-_]?policy|approvals[-_]?reviewer|tools[-_]?approval[-_]?mode"
    rf"|(?<![\w-])(?:auto[-_]?approve|always[-_]?allow|trust[-_]?level|default[-_]?mode|auto[-_]?run){_SIGN}"
    rf"|[\"'](?:permissions|hooks|mcp_?servers){_SIGN}|(?<![\w.-])mcpServers{_SIGN}"
    # A key of a settings file stands first on its line and has a value, not a sentence.
    r"|\A[ \t]{0,12}(?:permissions|hooks"
    r"|mcp_servers)[ \t]{0,5}[:=][ \t]{0,5}(?:[\[{\"']|all\b|none\b|true\b|\d|[\w-]+:|\*|$)"
    r"|\[(?:permissions|hooks|mcp_servers)[\].]|(?<![\w-])mcp_servers\.\w",
    re.IGNORECASE,
)
_CHANGE: Final = (
    r"\b(?:write|add|append|create|edit|set|change|put|update|modify|install|save|insert|configure|register"
    r"|enable|disable"
    r"|turn (?:on|off)|switch (?:on|off)|allow|grant|remove|delete|overwrite|replace|copy|move|turn)\b[^\n.]{0,60}?"
)
_KEEP: Final = (
    r"\b(?:(?:writ|add|append|creat|edit|updat|modify|insert|stor|sav|remember|extend|persist|record"
    r"|prepend|past|plac|inject"
    r"|includ|log|not|past|merg|chang|replac|copy|keep|carry|register|repeat|document)(?:e|es|ing"
    r"|ting)?|put(?:ting)?|have|make sure|ensure|see to it|leave)\b[^\n.]{0,60}?"
)
_RUN_LATER: Final = (
    r"(?:sitecustomize|usercustomize|conftest)\.py|(?:[`'\"*]|\b)\.pth\b|(?:post|pre)install\b|\.github/workflows"
    r"|skillopt\.toml|\bCODEOWNERS"
    r"|\.gitmodules|\.husky|\.devcontainer|\.pre-commit-config|\.bash_login|\.zprofile|\.zshenv|\.inputrc|\.vimrc"
    r"|\.pythonrc|\.pdbrc|\.gdbinit"
    r"|\.claude\b|\.codex\b|\.lldbinit|\.condarc|\.curlrc|\.wgetrc|\.yarnrc|\.config/autostart|tox\.ini|pytest\.ini"
)
_CONFIG: Final = LazyPattern(
    rf"{_CHANGE}(?:{_RUN_LATER})"
    r"|\b(?:set|export|define|point|assign|change)\b[^\n.]{0,20}?\b(?:LD_PRELOAD|LD_LIBRARY_PATH"
    r"|DYLD_INSERT_LIBRARIES|PYTHONSTARTUP|PYTHONPATH|NODE_OPTIONS"
    r"|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND|ANTHROPIC_BASE_URL|OPENAI_BASE_URL|HTTPS?_PROXY|PERL5OPT|RUBYOPT"
    r"|JAVA_TOOL_OPTIONS|GIT_EXTERNAL_DIFF|EDITOR|PAGER)\b"
    rf"|{_KEEP}\b(?:memory files?|(?:your|the|long-term|persistent|agent'?s?|project) memor(?:y|ies)|all projects"
    rf"|every project|(?:future|later|all|every|new) sessions?)\b"
    rf"|{_KEEP}(?:\b(?:in|into|to|of|at|through)\b[^\n.]{{0,30}}?|[`'\"]?)(?<![\w-])(?:(?:CLAUDE|AGENTS"
    r"|GEMINI)(?:\.local)?\.md"
    r"|(?<![\w-])(?:CLAUDE|AGENTS|GEMINI)\.md[\"'`]?[ \t]+(?:should|must|has to|needs to|shall)\b"
    r"|\.(?:cursor|windsurf|cline)rules|\.github/(?:copilot-)?instructions|\.github/copilot-instructions)"
    r"|(?<![\w/])\.(?:claude|codex|cursor|gemini|windsurf|aider)[/\\](?:settings|config|hooks|mcp|agents?"
    r"|commands|rules|plugins)"
    rf"|{_CHANGE}(?:(?<![\w/-])(?:CLAUDE|AGENTS|GEMINI)\.md|\.mcp\.json|\.cursorrules|\.vscode/(?:settings"
    rf"|tasks)|\.envrc|\.gitattributes"
    r"|\.gitconfig|\.npmrc|\.pypirc|pip\.conf|\.bashrc|\.zshrc|\.profile|\.bash_profile|crontab"
    r"|authorized_keys|sudoers)"
    r"|(?<![\w])\.git[/\\](?:hooks|config)\b|\bcore\.(?:hooksPath|sshCommand|fsmonitor|editor|pager|askpass)\b"
    r"|\bgit[ \t]+config[ \t]+(?:--global|--system|[a-z]+\.)|\b(?:credential\.helper|url\.[^\s]{1,100}\.insteadOf)\b"
    r"|\b(?:pre-commit|post-checkout|post-merge|pre-push|post-commit|post-rewrite)\b[ \t]+(?:git[ \t]+)?hook\b"
    r"|\b(?:claude|codex|gemini|cursor)[ \t]+(?:mcp|config|plugin|login|permissions|-p\b|--)[ \t]*(?:add|set"
    r"|install|remove|\w)"
    r"|\b(?:add|register|connect|install|start|use|call|enable|configure)\b[^\n.]{0,40}?\bMCP (?:server|tool"
    r"|connector)s?\b"
    r"|\b(?:edit|modify|rewrite|change|patch|overwrite|replace|update|touch|tamper with|weaken|fake)\b[^\n.]{0,30}?"
    r"\b(?:verifiers?|graders?|(?:this|the) SKILL\.md|this skill|checkers?|scoring|rewards?|check\.py"
    r"|test_\w{1,30}\.py)\b"
    r"|\b(?:call|invoke|use) the (?:tool|function|connector) [`\"']?\w|\b(?:launch ?agents?|plist|login items?"
    r"|startup folder)\b"
    r"|\b(?:PreToolUse|PostToolUse|SessionStart|UserPromptSubmit|PermissionRequest)\b"
    rf"|{_CHANGE}\b(?:permissions?|approvals?|sandbox(?:ing)?|confirmation prompts?|auto-?approve|yolo mode"
    rf"|safety checks?"
    r"|permission prompts?|hooks?)\b[^\n.]{0,40}?\b(?:off|on|disabled|enabled|true|all|every|everything|never"
    r"|skip|any)\b"
    r"|\b(?:disable|turn off|switch off|bypass|skip|leave|escape|exit|circumvent|weaken|work around"
    r"|run outside)\b[^\n.]{0,25}?"
    r"\b(?:sandbox(?:ing)?|permission (?:checks?|prompts?)|approvals?|safety (?:checks?|filters?)|guardrails"
    r"|firewall|antivirus"
    r"|signature (?:checks?|verification)|certificate (?:checks?|verification)|ssl verification|tls verification)\b"
    r"|\b(?:every|all|any|each) tools?\b[^\n.]{0,20}\b(?:is|are) (?:allowed|approved|permitted|granted)\b"
    r"|\b(?:allow|approve|permit|grant|enable|accept)\b[^\n.]{0,20}?\b(?:all|every|any|each) (?:tools?"
    r"|commands?|permissions?|edits?)\b"
    r"|(?<![\w-])(?:sudo|doas|su -)[ \t]+\w|\bchmod[ \t]+(?:-R[ \t]+)?(?:0?777|[ug]?\+s|4\d{3})|\bchown[ \t]+root"
    r"|--no-verify\b|--(?:no-)?(?:check-certificate|insecure|strict-ssl=false)\b|NODE_TLS_REJECT_UNAUTHORIZED"
    r"|GIT_SSL_NO_VERIFY"
    r"|\b(?:LD_PRELOAD|PYTHONSTARTUP|PYTHONPATH|NODE_OPTIONS|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND|ANTHROPIC_BASE_URL"
    r"|OPENAI_BASE_URL|HTTPS?_PROXY)[ \t]*=|\b(?:launchctl|systemctl[ \t]+(?:enable|--user)|schtasks"
    r"|crontab[ \t]+-|at[ \t]+now)\b"
    r"|\b(?:nohup|setsid|disown)\b|\brm[ \t]+-[a-z]*r[a-z]*f?[ \t]+(?:--no-preserve-root|[/~]|\$HOME|\*"
    r"|\.git\b)|:\(\)[ \t]?\{|\bmkfs\b|\bdd[ \t]+if="
    r"|\bgit[ \t]+(?:push[ \t]+[^\n]{0,40}?(?:--force|-f)\b|reset[ \t]+--hard|clean[ \t]+-[a-z]*f)",
    re.IGNORECASE,
)


def find_agent_config(line: str) -> Iterator[TextMatch]:
    """Find the first permission key and the first order to change a set-up on one line.

    >>> [found.kind.value for found in find_agent_config("Write .claude/settings.json with defaultMode: plan.")]
    ['permission-key', 'agent-config']

    Args:
        line: A line as a reader takes it.
    """
    match = _PERMISSION.search(line)
    if match:
        key = " ".join(line.split()).lower()
        yield TextMatch(LintClass.PERMISSION_KEY, key, 0, match[0], "the permission key")
    match = _CONFIG.search(line)
    if match:
        key = " ".join(line.split()).lower()
        yield TextMatch(LintClass.AGENT_CONFIG, key, 0, line[match.start() :].strip(), "an order to change a set-up")
