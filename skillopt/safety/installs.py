"""Find commands that install or run packages of a registry: whoever owns a name there runs code on that machine."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_installs"]

_INSTALL: Final = re.compile(
    r"(?<![\w./-])(?:(?:python[\d.]{0,4}[ \t]+-m[ \t]+)?pip[\d.]{0,4}[ \t]+(?:install|download)"
    r"|uv[ \t]+(?:pip[ \t]+install|add|tool[ \t]+(?:run|install))|uvx|pipx[ \t]+(?:run|install)|easy_install"
    r"|(?:poetry|pdm|rye|pixi)[ \t]+add|(?:conda|mamba|micromamba)[ \t]+install|npx|bunx|(?:npm|pnpm"
    r"|bun)[ \t]+(?:i|install|add|x|dlx|exec)"
    r"|yarn[ \t]+(?:global[ \t]+)?(?:add|dlx)|gem[ \t]+install|cargo[ \t]+(?:install|add)|go[ \t]+(?:install|get)"
    r"|brew[ \t]+install|(?:apt|apt-get|dnf|yum|apk|zypper)[ \t]+(?:-\w+[ \t]+){0,3}(?:install|add)"
    r"|pacman[ \t]+-S\w{0,3}"
    r"|(?:snap|choco|winget|scoop|composer|cpanm?|luarocks|opam)[ \t]+(?:install|require)|cpanm"
    r"|deno[ \t]+(?:install|add)"
    r"|install\.packages(?=\())(?![\w.-])[(\"']{0,2}[ \t]*(?P<arguments>[^\n`|;&#)]{0,200})",
    re.IGNORECASE,
)
_VALUED: Final = frozenset(
    {"-c", "--channel", "-n", "--name", "-p", "--package", "-t", "--target", "--python", "--prefix", "-C", "--extra"}
)
_NAME: Final = re.compile(r"@?[A-Za-z][\w.@/+-]{0,100}")
_PROSE: Final = frozenset(
    (
        "to",
        "if",
        "when",
        "and",
        "or",
        "the",
        "a",
        "for",
        "in",
        "on",
        "first",
        "it",
        "is",
        "before",
        "with",
        "as",
        "then",
    )
)
_VERSION: Final = re.compile(r"(?<=[\w-])(?:@[\w.^~*-]+|\[[\w,-]*\]|[=<>~!^].*)$")
_MOST_NAMES: Final = 20


def find_installs(line: str) -> Iterator[TextMatch]:
    """Find the packages that commands on one line install or run; a file of requirements or a folder is none.

    >>> [found.key for found in find_installs("Run `pip install -q pypdf==5.1 rich` and `npx --yes prettier .` first.")]
    ['pypdf', 'rich', 'prettier']

    Args:
        line: A line as a reader takes it.
    """
    for match in _INSTALL.finditer(line):
        runs = re.match(
            r"(?:npx|bunx|uvx)\b|.*\b(?:dlx|run|exec|x)\b",
            match[0][: match.start("arguments") - match.start()],
            re.IGNORECASE,
        )
        for name in _names(match["arguments"])[: 1 if runs else _MOST_NAMES]:
            text = match[0].strip()
            what = f"an installation of {name}, a package that the skill does not name,"
            yield TextMatch(LintClass.NEW_PACKAGE, name.casefold(), match.start(), text, what)


def _names(arguments: str) -> list[str]:
    """List the packages among the arguments of an installation, without versions; a sentence's words end them."""
    names: list[str] = []
    skipped = False
    for word in arguments.split()[: 2 * _MOST_NAMES]:
        plain = word.strip("\"'`,.")
        if skipped or plain.startswith("-"):
            skipped = plain in _VALUED and plain not in {"-p", "--package"}
            skipped = skipped or plain in {"-r", "--requirement"}
            continue
        if plain.casefold() in _PROSE:
            break
        name = _VERSION.sub("", plain)
        if _NAME.fullmatch(name):
            names.append(name)
        if word.endswith((",", ".")):
            break
    return names
