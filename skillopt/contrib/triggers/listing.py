"""The listing budget: how much of a library's descriptions each client shows its model, and which skills fall silent.

The rules are those of the clients themselves, of the versions that `CLIENTS` names, and `tests/agents` holds them
against what these clients send. Claude Code lists whole descriptions while there is room and else the name alone;
Codex shortens all descriptions alike. What a client's own skills take is part of the same budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len

_CHARACTERS_OF_A_TOKEN: Final = 4  # as both clients count: they ask no tokenizer
_WITHOUT_TABLE: Final = 35
"""Tokens of a table of roots that cost Codex nothing, because what it writes around the table is shorter then."""


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill as clients list it; `path` is that of its SKILL.md as Codex writes it."""

    name: str
    description: str
    path: str


@dataclass(frozen=True, slots=True)
class ListingClient:
    """How a client lists skills.

    Attributes:
        name: of the client, with the version whose behaviour this is.
        window: the model's context, in tokens.
        percent: of the window that the listing may take.
        longest: characters of a description after which it is cut.
        whole: whether a description is shown whole or not at all.
        fixed: what those of the client's own skills take that are always shown whole, in units of the budget.
        sharing: names and lengths of descriptions of its own skills that are shortened like all others.
    """

    name: str
    window: int
    percent: int
    longest: int
    whole: bool
    fixed: int = 0
    sharing: tuple[tuple[str, int], ...] = ()

    @property
    def unit(self) -> str:
        """In what the budget is counted."""
        return "characters" if self.whole else "tokens"

    @property
    def rule(self) -> str:
        """What it does, in words."""
        size = f"{self.budget:,} {self.unit} ({self.percent}% of the context)"
        said = f"shortens all descriptions alike, as far as {size} need it"
        if self.whole:
            said = f"lists descriptions in the order of names while {size} have room, then names alone"
        return f"{said}; at most {self.longest:,} characters of one"

    @property
    def budget(self) -> int:
        """The most that the listing takes."""
        return self.window * self.percent * (_CHARACTERS_OF_A_TOKEN if self.whole else 1) // 100


@dataclass(frozen=True, slots=True)
class Listing:
    """What a client shows of a library.

    Attributes:
        client: the client.
        needed: what all descriptions would take, the client's own skills included.
        lengths: the characters of each description, by skill.
        shown: how many of these the model sees.
    """

    client: ListingClient
    needed: int
    lengths: Mapping[str, int]
    shown: Mapping[str, int]

    @property
    def silent(self) -> tuple[str, ...]:
        """The skills of which nothing but the name is listed, though they have a description."""
        return tuple(name for name, length in self.lengths.items() if length and not self.shown[name])

    @property
    def shortened(self) -> tuple[str, ...]:
        """The skills of whose description a part is listed."""
        return tuple(name for name, length in self.lengths.items() if 0 < self.shown[name] < length)


_CLAUDE: Final = ("init", 59), ("security-review", 71)
_CODEX: Final = ("imagegen", 570), ("openai-docs", 624), ("skill-creator", 106), ("skill-installer", 225)

CLIENTS: Final = (
    ListingClient("Claude Code 2.1.329, context of 200,000", 200_000, 1, 1536, whole=True, fixed=6052, sharing=_CLAUDE),
    ListingClient(
        "Claude Code 2.1.329, context of 1,000,000", 1_000_000, 1, 1536, whole=True, fixed=6052, sharing=_CLAUDE
    ),
    ListingClient("Codex 0.169.0, context of 272,000", 272_000, 2, 1024, whole=False, sharing=_CODEX),
)
"""The clients whose rule is known, with the skills that they bring along switched on."""


def list_skills(client: ListingClient, skills: Sequence[ListedSkill], roots: Sequence[str] = ()) -> Listing:
    """Say what a client shows of skills, in the order of their names, as long as none was used lately.

    Claude Code gives skills that were used lately their room first. Codex writes paths within `roots`, a table that
    takes a part of the budget where they are long.
    """
    own = [ListedSkill(name, "x" * length, f"r0/{name}/SKILL.md") for name, length in client.sharing]
    library = sorted(skills, key=lambda one: one.name)
    order = (*library, *own) if client.whole else (*own, *library)
    texts = {one: one.description[: client.longest] for one in order}
    if not client.whole:
        size = sum(len(f"- `r0` = `{root}`\n".encode()) for root in roots)
        table = size // _CHARACTERS_OF_A_TOKEN - _WITHOUT_TABLE
        client = replace(client, fixed=client.fixed + max(0, table))
    needed = client.fixed + sum(_entry(client, one, text) for one, text in texts.items())
    shown = (_show_whole if client.whole else _show_shared)(client, texts)
    lengths = {one.name: len(one.description) for one in texts if one not in own}
    return Listing(client, needed, lengths, {one.name: shown[one] for one in texts if one not in own})


def _entry(client: ListingClient, skill: ListedSkill, text: str) -> int:
    """Return what a line of the listing takes, with the end of the line."""
    if client.whole:
        return cell_len(f"- {skill.name}: {text}" if text else f"- {skill.name}") + 1
    said = f" {text}" if text else ""
    size = len(f"- {skill.name}:{said} (file: {skill.path})\n".encode())
    return -(-size // _CHARACTERS_OF_A_TOKEN)


def _show_whole(client: ListingClient, texts: Mapping[ListedSkill, str]) -> dict[ListedSkill, int]:
    """Show descriptions in turn while they fit; a shorter one may follow one that did not."""
    left = client.budget + 1 - client.fixed - sum(_entry(client, one, "") for one in texts)
    shown = {}
    for one, text in texts.items():
        extra = _entry(client, one, text) - _entry(client, one, "")
        shown[one] = len(text) if extra <= left else 0
        left -= extra if extra <= left else 0
    return shown


def _show_shared(client: ListingClient, texts: Mapping[ListedSkill, str]) -> dict[ListedSkill, int]:
    """Return each description one more character in turn, until the budget is spent or all are shown."""
    cost = {one: _entry(client, one, "") for one in texts}
    left, shown = client.budget - client.fixed - sum(cost.values()), dict.fromkeys(texts, 0)
    going = [one for one, text in texts.items() if text]
    while going:
        served = []
        for one in going:
            longer = _entry(client, one, texts[one][: shown[one] + 1])
            if longer - cost[one] <= left:
                left -= longer - cost[one]
                shown[one], cost[one] = shown[one] + 1, longer
                served.append(one)
        going = [one for one in served if shown[one] < len(texts[one])]
    return shown
