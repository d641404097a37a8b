"""Section of a report: rollouts whose score may have been got without the work, with quotes."""

from typing import Final

from skillopt.reports.escape_markdown import code_span, inline_code
from skillopt.reports.view import RunView
from skillopt.safety.credentials import mask
from skillopt.safety.escaping import truncate
from skillopt.safety.plurals import count_noun

__all__ = ["suspicious_rollouts"]

_MOST: Final = 50
_MOST_QUOTE: Final = 200


def suspicious_rollouts(view: RunView, most: int = _MOST) -> str:
    """List what is suspicious, each with its place and what ordinary rollouts do instead; empty for nothing."""
    if not view.suspicions:
        return ""
    rows = [
        f"- {one.sign}, task {inline_code(truncate(one.task, 100))}"
        f"{f', {one.rollouts} rollouts' if one.rollouts > 1 else ''}: {code_span(one.what)}"
        f"{f': {code_span(truncate(mask(one.quote), _MOST_QUOTE))}' if one.quote else ''}. "
        f"{one.ordinary}; {one.sure}."
        for one in view.suspicions[:most]
    ]
    more = len(view.suspicions) - len(rows)
    rest = [f"- {more} more: `skillopt report {view.run} --json` lists them all"] if more else []
    head = (
        f"{count_noun(len(view.suspicions), 'finding')}: these rollouts scored under trained text in a way that "
        "ordinary rollouts of the same task did not. A person must look at them."
    )
    return "\n".join([head, "", *rows, *rest])
