"""`make demo-llm`: train a skill for a real language model on this machine, and show what came of it.

The target is SmolLM2-135M-Instruct on one thread of the processor. The optimizer model is a simulation, a program that
proposes lines of a fixed list. No key and no network is needed once the model has been fetched.
"""

import argparse
import difflib
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.llm.server import serve
from benchmarks.llm.training import MOST_ROLLOUTS, Trained, train_skill
from skillopt import Event, SkilloptError
from skillopt.execution.calls import EvaluateResult
from skillopt.reports.lines import event_line
from tools.fetch_llm import MissingLlmError, find_llm

_SHOWN = 3


def main(arguments: list[str] | None = None) -> int:
    """Train, and show answers, tasks passed and the text before and after; 2 when the model is not there."""
    parser = argparse.ArgumentParser(prog="make demo-llm", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the run")
    parser.add_argument("--preset", default="default", help="default or paper")
    chosen = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        files = find_llm()
    except MissingLlmError as error:
        print(error, file=sys.stderr)
        return 2
    print("Target: SmolLM2-135M-Instruct, a real language model, on one thread, 0.3 to 1 s an answer.")
    print("Optimizer model: simulated; it proposes lines of a fixed list, by what the answers miss.")
    print(f"Suite: 40 questions of customers of a made-up shop, at most {MOST_ROLLOUTS} rollouts.\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="skillopt-demo-llm-") as store, serve(files) as base_url:
        try:
            trained = train_skill(base_url, Path(store), _show, preset=chosen.preset, seed=chosen.seed)
        except SkilloptError as error:
            print(error, file=sys.stderr)
            return 1
    _report(trained, time.monotonic() - started)
    return 0


def _show(event: Event) -> None:
    if line := event_line(event):
        print(line, flush=True)


def _report(trained: Trained, seconds: float) -> None:
    before, after, result = trained.held_out.before, trained.held_out.after, trained.result
    old, new = (skill.text.splitlines(keepends=True) for skill in (trained.start, trained.handed_over))
    print("\nWhat was learnt:\n")
    print("".join(line for line in difflib.ndiff(old, new) if line[0] in "+-") or "nothing\n")
    answers = {name: rollout.trajectory.answer for name, (rollout, *_) in before.tasks.items()}
    for name in trained.held_out.verdict.fixed[:_SHOWN]:
        print(f"{name}\n  before: {_line(answers[name])}\n  after:  {_line(after.tasks[name][0].trajectory.answer)}")
    print(f"\n{after.measured} questions that training never saw, {seconds:.0f} s in all:")
    print(f"  {'at the start':28} {_passed(before)}")
    print(f"  {'handed over: ' + trained.grade:28} {_passed(after)}")
    verdict, target = trained.held_out.verdict, result.usage["target"]
    print(f"  {len(verdict.fixed)} fixed, {len(verdict.broken)} broken, gain {verdict.gain:+.2f}")
    print(
        f"Training: {result.rollouts} rollouts, {target.input_tokens:,} tokens read, {target.output_tokens:,} written, "
        f"{result.calls} calls of the simulated optimizer model."
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _passed(measured: EvaluateResult) -> str:
    return f"{measured.passed} of {measured.measured} passed ({measured.passed / measured.measured:.0%})"


if __name__ == "__main__":
    sys.exit(main())
