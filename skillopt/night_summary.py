"""What became of a night, as Markdown for a job's summary.

Owns the words and the layout; every text from a repository or a provider is shown as code that it cannot leave. Does
not own what is told (commands.nightly), or a run's own report (reports).
"""

from collections.abc import Iterator

from skillopt.commands.nightly import Nightly, SkillNight, Training
from skillopt.inert import clip
from skillopt.reports.inert_markdown import inline

__all__ = ["render_night"]

_MOST_SHOWN = 200
_LONGEST = 400
_SIGNS = {Training.FAILED: "❌", Training.STOPPED: "⏸️", Training.WAITING: "⏸️", Training.BUSY: "⏸️"}


def render_night(night: Nightly) -> str:
    """Render a night: its headline, a row for each skill, and what went wrong.

    Args:
        night: What became of each skill.
    """
    offered = sum(row.offer.action in {"opened", "updated"} for row in night.skills)
    failed = sum(row.training is Training.FAILED for row in night.skills)
    head = f"{offered} improved" if offered else "nothing improved"
    count = f"{len(night.skills)} skill{'' if len(night.skills) == 1 else 's'}"
    parts = [
        f"## Skill training: {head}{f', {failed} failed' if failed else ''}",
        f"{count}, {night.rollouts} rollouts begun, {night.price}.",
    ]
    if night.skills:
        rows = ["| | skill | training | new versions | rollouts | pull request |", "|" + "---|" * 6]
        parts.append("\n".join([*rows, *map(_row, night.skills[:_MOST_SHOWN])]))
    parts += [told for row in night.skills[:_MOST_SHOWN] for told in _details(row)]
    if len(night.skills) > _MOST_SHOWN:
        parts.append(f"{len(night.skills) - _MOST_SHOWN} more skills are not shown.")
    return "\n\n".join(parts) + "\n"


def _row(row: SkillNight) -> str:
    sign = _SIGNS.get(row.training, "✅" if row.versions else "")
    # The forge's own address is shown as code, too: with no forge it is the path of a file.
    offer = f"{row.offer.action} {inline(clip(row.offer.url, _LONGEST))}" if row.offer.action else ""
    cells = (sign, inline(clip(row.skill, 80)), row.training.value, str(row.versions), str(row.rollouts), offer)
    return f"| {' | '.join(cells)} |"


def _details(row: SkillNight) -> Iterator[str]:
    why = [text for text in (row.cause, row.reason) if text and row.training is not Training.NO_SUITE]
    if why:
        run = f" (run {row.run})" if row.run else ""
        yield f"{inline(clip(row.skill, 80))}{run}: {'; '.join(inline(clip(text, _LONGEST)) for text in why)}"
    for note in row.offer.notes:
        yield f"{inline(clip(row.skill, 80))}: {inline(clip(note, _LONGEST))}"
