"""Print blocks as lines of a terminal or a log, which no text can steer, and draw the progress of a run with them."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text as RichText

from skillopt.gate.grades import grade_words
from skillopt.gate.headline import compared_words, tally_words
from skillopt.reports.blocks import (
    Box,
    Bullets,
    Commands,
    Details,
    Diff,
    Facts,
    Grid,
    Heading,
    Paragraph,
    ReportBlock,
    Table,
    Text,
    cited,
    split_quoted,
)
from skillopt.reports.run_report import funnel_words
from skillopt.reports.view import GateView, RunView
from skillopt.rollouts import Usage
from skillopt.safety.escaping import escape_log_line, escape_terminal
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents

_METER: Final = 20
_LEAST: Final = 20
_LABEL: Final = 10
_GATES: Final = 5
_MOST_LINES: Final = 3
"""Lines of a long text."""


def print_terminal(blocks: Sequence[ReportBlock], width: int = 0) -> str:
    """Print blocks, each line cut to a width in cells; 0 cuts nothing."""
    return "\n".join(_cut(line, width) for block in blocks for line in _lines(block, width))


def print_wrapped(blocks: Sequence[ReportBlock], width: int) -> str:
    """Print blocks as a page of a terminal: headings set off, what is too wide broken at its blanks."""
    lines = list[str]()
    for block in blocks:
        lines += [""] if lines and not isinstance(block, Table | Grid) else []
        lines += (escape_log_line(part) for line in _lines(block, width) for part in _wrapped(line, width))
        lines += ["-" * min(width, cell_len(lines[-1]))] if isinstance(block, Heading) else []
    return "\n".join(lines)


def _wrapped(line: str, width: int) -> list[str]:
    if cell_len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" -")))
    rest = RichText(line[len(indent) :]).wrap(Console(width=width), width - len(indent))
    return [f"{indent if number else line[: len(indent)]}{part.plain.rstrip()}" for number, part in enumerate(rest)]


def _cut(line: str, width: int) -> str:
    return f"{set_cell_size(line, width - 1)}…" if width and cell_len(line) > width else line


def _lines(block: ReportBlock, width: int) -> Iterator[str]:
    match block:
        case Heading() | Paragraph():
            yield _plain(block.words)
        case Bullets():
            yield from (f"- {_plain(item)}" for item in block.items)
        case Facts():
            for name, words in block.rows:
                yield from _fact(name, _plain(words), width)
        case Table():
            yield from _table([block.columns, *block.rows], width)
        case Grid():
            yield from _lines(block.table, width)
        case Text():
            yield from map(escape_terminal, block.text.splitlines())
        case Diff():
            found = diff_documents(SkillDocument(block.before), SkillDocument(block.after))
            yield from map(escape_terminal, found.splitlines())
        case Commands():
            yield from map(escape_terminal, block.lines)
        case Box() | Details():
            yield from [f"{_plain(block.summary)}:"] if isinstance(block, Details) else []
            yield from (line for inner in block.blocks for line in _lines(inner, width))


def _plain(words: str) -> str:
    """Return words without marks; what is quoted keeps all of its signs."""
    pieces = split_quoted(words)
    own = (piece.replace("**", "").replace("`", "") for piece in pieces[::2])
    return escape_terminal("".join("".join(pair) for pair in zip_longest(own, pieces[1::2], fillvalue="")))


def _table(rows: Sequence[Sequence[str]], most: int) -> Iterator[str]:
    """Print a table in columns, one that is wider than it may be as a line a row that names them."""
    shown = [[_plain(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    if most and sum(widths) + 2 * len(widths) > most:
        for row in shown[1:]:
            named = (f"{name}: {cell}".removeprefix(": ") for name, cell in zip(shown[0], row, strict=True) if cell)
            yield f"- {'; '.join(named)}"
        return
    for row in shown:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _fact(name: str, text: str, width: int) -> Iterator[str]:
    """Break a text that is too long at its blanks, into three lines at most."""
    lines = [text]
    if cell_len(text) > width - _LABEL:
        wrapped = RichText(text).wrap(Console(width=width), max(1, width - _LABEL), overflow="ignore")
        lines = [line.plain.rstrip() for line in wrapped]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} …"]
    yield from (f"{'' if number else name:<{_LABEL}}{shown}" for number, shown in enumerate(lines))


def render_terminal(view: RunView, width: int = 80) -> str:
    """Draw a run as it is now: progress, best score so far, funnel, verdicts with reasons, spending against caps."""
    rows = [*_head(view), *_score(view), ("edits", funnel_words(view)), *_gates(view), *_spend(view)]
    return print_terminal([Heading(cited(f"{view.skill} {view.run}")), Facts(rows)], max(width, _LEAST))


def _head(view: RunView) -> Iterator[tuple[str, str]]:
    done = max((step.number for step in view.steps), default=0)
    yield "state", f"{view.kind}, {view.state}"
    if view.caution:
        yield "caution", view.caution
    if view.steps_planned:
        yield "progress", f"[{_bar(done / view.steps_planned)}] step {done} of {view.steps_planned}"
    elif done:
        yield "progress", f"step {done}"
    if view.reason:
        yield "ended", cited(view.reason)


def _score(view: RunView) -> Iterator[tuple[str, str]]:
    if view.baseline is not None:
        yield "baseline", f"val, {tally_words(view.baseline.tally)}"
    if view.headline is not None:
        yield "gained", view.headline.words
    if view.draft is not None:
        passed = f"{view.draft.headline.words}, " if view.draft.headline else ""
        yield "draft", f"{passed}{grade_words(view.draft.grading)}"
        yield from (("", f"a person must look at it first: {cited(mark)}") for mark in view.draft.marks)
    if view.test is not None:
        yield "test", f"{view.test.verdict.outcome.value}, {cited(view.test.verdict.reason)}"
    elif view.test_withheld:
        yield "test", f"withheld: {cited(view.test_withheld)}"


def _gates(view: RunView) -> Iterator[tuple[str, str]]:
    for number, gate in enumerate(view.gates[-_GATES:]):
        yield "" if number else "gates", _gate(gate, view.metric)
    if view.gates:
        yield "", cited(view.gates[-1].verdict.reason)
    if view.siblings:
        yield "siblings", cited(view.siblings[-1])
    for reason, names in view.set_aside.items():
        yield "failing", f"{cited(', '.join(names))}: {cited(reason)}"
    if view.skipped:
        prompts, reason = count_noun(len(view.skipped), "prompt"), view.skipped[-1].reason
        yield "skipped", f"{prompts} without an answer, the last: {cited(reason)}"
    failures = [step for step in view.steps if step.failure]
    if failures and view.state in ("running", "failed"):
        yield "last step", f"step {failures[-1].number}: {cited(failures[-1].failure)}"


def _gate(gate: GateView, metric: str) -> str:
    verdict = gate.verdict
    what = count_noun(len(gate.edits), "edit") if gate.edits else cited(gate.kind)
    return (
        f"{verdict.outcome.value}: {what}{f', step {gate.step}' if gate.step else ''}: "
        f"{compared_words(verdict, metric=metric)}, {verdict.wins}/{verdict.ties}/{verdict.losses} better/equal/worse"
    )


def _spend(view: RunView) -> Iterator[tuple[str, str]]:
    for number, (role, usage) in enumerate(view.spend.items()):
        price = "price unknown" if usage.usd is None else f"${usage.usd:,.2f}"
        yield "" if number else "spent", f"{role}: {usage.calls:,} calls, {usage.tokens:,} tokens, {price}"
    spent = Usage.total(view.spend.values())
    used = {
        "rollouts": max(view.rollouts.asked or 0, view.rollouts.paid),
        "tokens": spent.tokens,
        "usd": spent.usd or 0.0,
    }
    for name, cap in view.limits.items():
        if cap:
            shown, label = (",.2f", "dollars") if name == "usd" else (",.0f", name)
            yield label, f"[{_bar(used[name] / cap)}] {used[name]:{shown}} of {cap:{shown}}"


def _bar(share: float) -> str:
    full = round(max(0.0, min(1.0, share)) * _METER)
    return "█" * full + "░" * (_METER - full)
