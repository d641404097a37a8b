"""Tasks that went differently under two texts, for tests of the page that shows them."""

from skillopt.gate.comparison import Pairs
from skillopt.reports.rollouts import DifferingTask, find_differing_tasks
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory
from skillopt.settings import Metric
from skillopt.tasks import Task, VerifierSpec


def task(name: str, prompt: str = "Clean the table.") -> Task:
    """Make a task."""
    return Task(name, prompt, VerifierSpec("contains"))


def rollout(name: str, text: str, score: float, *, feedback: str = "", repeat: int = 0, tools: str = "") -> Rollout:
    """Make a rollout whose last words are a text, after one use of a tool for each word of `tools`."""
    calls = tuple(ToolCall("bash", argument, f"result of {argument}") for argument in tools.split())
    messages = (Message("user", "Clean the table."), Message("assistant", text, calls))
    found = Score(score, passed=score == 1.0, feedback=feedback)
    return Rollout(name, "d", repeat, Trajectory(messages, text), Status.OK, found)


def pair(name: str, before: float, after: float, feedback: str = "") -> Pairs:
    """Make a pair of rollouts that differ in their score and their words."""
    sides = (
        rollout(name, f"The answer is {score}.", score, feedback=feedback if score < 1 else "")
        for score in (before, after)
    )
    one, other = sides
    return Pairs([one], [other])


def make_changed(text: str = "expected 2026-01-02, found 02.01.26") -> tuple[DifferingTask, ...]:
    """Make four tasks, one of each kind, with a text as their prompt, feedback and answers."""
    pairs = Pairs()
    for name, before, after in (("val0", 1.0, 0.2), ("val1", 0.6, 0.4), ("val2", 0.1, 0.5), ("val3", 0.0, 1.0)):
        pairs.before.append(rollout(name, f"{text}\nbefore", before, feedback=text, tools="read convert"))
        pairs.after.append(rollout(name, f"{text}\nafter", after, feedback=text, tools="read guess"))
    return find_differing_tasks([task(f"val{number}", text) for number in range(5)], pairs, Metric.SOFT)
