"""The command `prune`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

if TYPE_CHECKING:
    from skillopt.commands.prune import Pruned

__all__ = ["prune"]

_MEGA = 1_000_000
_MOST_DAYS = 36_500


def prune(
    *,
    days: Annotated[
        int, typer.Option("--days", min=0, max=_MOST_DAYS, help="Answers of the last so many days stay.")
    ] = 90,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove old recorded answers that no run, version or draft needs.

    Kept are runs and their events, rollouts that gates compared, and all answers of runs that can go on, that brought
    a version or a draft, and of each skill's newest run. What is removed is paid for again where it is asked again.
    """
    from skillopt.commands.prune import prune as run

    show(run(days, dry_run=dry_run), _text, as_json=as_json)


def _text(found: "Pruned") -> str:
    from skillopt.safety.plurals import count_noun

    answers = found.answers
    what = (
        f"{count_noun(answers.rollouts, 'rollout')}, {answers.replies} replies and "
        f"{count_noun(answers.failures, 'failed rollout')} older than {count_noun(found.days, 'day')}"
    )
    before, after = (size / _MEGA for size in answers.size)
    if not found.removed:
        return f"would remove {what} from a ledger of {before:.1f} MB; nothing was removed"
    return f"removed {what}: the ledger had {before:.1f} MB, has {after:.1f} MB"
