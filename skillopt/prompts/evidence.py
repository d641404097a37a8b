"""Render rollouts as evidence for a prompt: the task, what the target did, the verifier's feedback.

Each is cut to a stated budget of tokens. Tasks, traces and feedback are untrusted, so they only ever appear inside a
fence that their own text cannot close.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from skillopt.rollouts import Rollout, Score, Status
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import Task

ROLLOUT_TOKENS: Final = 1500
"""Most tokens (estimated) of one rollout in a prompt: a minibatch of eight then fits beside any skill."""

_TROUBLE = re.compile(r"\b(?:error|failed|failure|exception|traceback|denied|not found)\b", re.IGNORECASE)
_LEAST_CUT: Final = 80
"""Characters that a cut takes out at least."""

_GAP_TOKENS = 10
"""Tokens of the line that counts the turns left out."""


def fence(kind: str, text: str) -> str:
    """Wrap untrusted text in marks that depend on the text, so it cannot contain its own end mark."""
    tag = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"<<<{kind} {tag}\n{text}\n{kind} {tag}>>>"


def shorten_middle(text: str, tokens: int) -> str:
    """Cut the middle of a text so that about `tokens` (estimated) remain; a cut that saves next to nothing is none."""
    keep = max(tokens * 4, 40)
    if estimate_tokens(text) <= tokens or len(text) <= keep + _LEAST_CUT:
        return text
    head, tail = text[: keep * 2 // 3], text[-(keep // 3) :]
    gone = estimate_tokens(text) - estimate_tokens(head) - estimate_tokens(tail)
    return f"{head}\n[... about {gone} tokens left out ...]\n{tail}"


def render_rollout(task: Task, rollout: Rollout, tokens: int) -> str:
    """Show one rollout; feedback first, because it is what a cut must not take."""
    score = rollout.score
    head = [f"### Task {task.id}"]
    if rollout.status is not Status.OK:
        head.append(f"status: {rollout.status.value}")
    if score is not None:
        head.append(f"score: {score.value:.3f} ({'passed' if score.passed else 'not passed'})")
        said = "\n".join([score.feedback or "all correct", *_criteria(score)])
        head.append(f"feedback:\n{shorten_middle(said, tokens // 2)}")
    head.append(f"prompt:\n{shorten_middle(task.prompt, tokens // 4)}")
    text = "\n".join(head)
    left = tokens - estimate_tokens(text)
    turns = []
    for message in rollout.trajectory.messages[1:]:
        lines = [f"{message.role}: {message.text}"] if message.text else []
        lines += [f"tool {call.name}({call.arguments}) -> {call.result}" for call in message.tool_calls]
        turns.append("\n".join(lines))
    if left > 50 and any(turns):  # noqa: PLR2004 - fewer tokens would show nothing but the cut
        text += f"\ntrajectory:\n{_select_turns(turns, left)}"
    return text


def _criteria(score: Score) -> list[str]:
    """List what a judge was asked and most of its readings found; of train tasks this is evidence like an answer."""
    if score.judgement is None:
        return []
    marks = list(zip(*score.judgement.readings, strict=True)) or [()] * len(score.judgement.criteria)
    met = [found.count("y") * 2 > sum(mark != "-" for mark in found) for found in marks]
    told = sorted(zip(met, score.judgement.criteria, strict=True), key=lambda one: one[0])
    return [f"criterion {'met' if good else 'not met'}: {' '.join(text.split())}" for good, text in told]


def _select_turns(turns: Sequence[str], tokens: int) -> str:
    """Select the most informative turns within a budget: the last, the first, those with a failure, then the latest.

    A long turn is shortened to a quarter of the budget before a turn is left out; what is left out is counted.
    """
    if estimate_tokens("\n".join(turns)) <= tokens:
        return "\n".join(turns)
    short = [shorten_middle(turn, max(tokens // 4, 10)) for turn in turns]
    troubled = [at for at, turn in enumerate(turns) if _TROUBLE.search(turn)]
    order = dict.fromkeys([len(turns) - 1, 0, *reversed(troubled), *reversed(range(len(turns)))])
    kept: set[int] = set()
    left = tokens
    for at in order:
        cost = estimate_tokens(short[at]) + _GAP_TOKENS
        if cost <= left:
            kept.add(at)
            left -= cost
    lines, gone = [], 0
    for at, turn in enumerate(short):
        if at not in kept:
            gone += 1
            continue
        lines += [f"[... {gone} turns left out ...]"] * (gone > 0) + [turn]
        gone = 0
    return "\n".join([*lines, *[f"[... {gone} turns left out ...]"] * (gone > 0)])


def render_rollouts(pairs: Iterable[tuple[Task, Rollout]], tokens: int) -> str:
    """Show rollouts one after the other, fenced as untrusted, `tokens` for each."""
    return fence("evidence", "\n\n".join(render_rollout(task, rollout, tokens) for task, rollout in pairs))
