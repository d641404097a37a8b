"""The picture of a published benchmark: from an empty store to the table, with a script in place of a model.

    python -m tools.example_benchmark --from CLONE

Run by hand, as the data of the benchmark are not in this repository: CLONE is a clone of `ace-agent/ace`. The script
stands on loopback and knows the answers; for two thirds of the questions it keeps to the published form only when the
text that it is shown says so. The numbers say how a run looks, and nothing about any model; the picture says this, too.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.published.ace import FORMULA
from skillopt.tasks import digest_of
from tools.example_demo import draw_terminal
from tools.fake_providers.fake_anthropic import blocks_of, fake_anthropic, message, text_of
from tools.fake_providers.loopback import Answer, Body
from tools.generate_examples import EXAMPLES

_CHECKOUT: Final = Path(__file__).resolve().parent.parent
_PICTURE: Final = "benchmark-formula.svg"
_FORMS: Final = (
    ("- Leave out percent signs: give 12.5% as 12.5.", "{}%"),
    ("- Leave out currencies and words such as million.", "USD {}"),
)
"""A rule, and how a result is written by whom no text tells that rule."""

_KINDS: Final = 6
"""Kinds of questions: two for each rule, one that is always right, one that never is."""

_COMMAND: Final = (
    *("-m", "benchmarks.published", "formula", "--model", "anthropic/scripted-model"),
    *("--from", "ace", "--tasks", "30", "--max-rollouts", "400"),
)
_NOTE: Final = (
    "# A script that knows the answers stands in for the model, on loopback: its rows say nothing about any model."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and write the picture of it."""
    parser = argparse.ArgumentParser(prog="python -m tools.example_benchmark", description=__doc__)
    parser.add_argument("--from", dest="clone", type=Path, required=True, metavar="CLONE")
    clone = parser.parse_args(arguments).clone.resolve()
    known = {item.prompt: item.expected for item in FORMULA.read(clone).items}
    with tempfile.TemporaryDirectory(prefix="skillopt-example-") as scratch, fake_anthropic(_model(known)) as provider:
        (Path(scratch) / "ace").symlink_to(clone)
        environment = {
            **os.environ,
            "ANTHROPIC_API_KEY": "key-for-loopback-only",
            "ANTHROPIC_BASE_URL": provider.url,
            "XDG_CACHE_HOME": f"{scratch}/cache",
            "PYTHONPATH": str(_CHECKOUT),
        }
        command = [sys.executable, *_COMMAND, "--out", scratch]
        ended = subprocess.run(
            command,
            check=False,
            cwd=scratch,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ended.returncode:
            sys.exit(ended.stdout)
        printed = ended.stdout.replace(f"{scratch}/cache", "~/.cache").replace(scratch, ".")
    lines = [_NOTE, f"$ python {' '.join(_COMMAND)}", *printed.splitlines()]
    (EXAMPLES / _PICTURE).write_text(
        draw_terminal(lines, "python -m benchmarks.published", "benchmark"), encoding="utf-8"
    )
    return 0


def _model(known: Mapping[str, str]) -> Callable[[Body], Answer]:
    """Give a model that knows the answers and learns two rules of their form."""

    def answer(body: Body) -> Answer:
        text = "\n".join(text_of(block) for _, block in blocks_of(body))
        if "Task: reflect on failures" in text:
            return message(body, [{"type": "text", "text": _reflect(text)}])
        result = next((expected for prompt, expected in known.items() if prompt in text), "ready")
        kind = int(digest_of(result)[:8], 16) % _KINDS
        if kind == _KINDS - 1:
            result = "unknown"
        elif kind < 2 * len(_FORMS):
            rule, form = _FORMS[kind // 2]
            result = result if rule in text else form.format(result)
        said = json.dumps({"reasoning": "By the formula.", "final_answer": result})
        return message(body, [{"type": "text", "text": said}])

    return answer


def _reflect(text: str) -> str:
    """Propose each rule that a failure calls for, and cite the tasks that failed so."""
    cited: dict[str, list[str]] = {rule: [] for rule, _ in _FORMS}
    for section in text.partition("<<<evidence ")[2].split("### Task ")[1:]:
        names = re.findall(r"formula-train-\d+", section.partition("status:")[0])
        for rule, form in _FORMS:
            if re.search(form.format(r'[^"]+') + '"}', section):
                cited[rule] += names
    edits = [
        {"op": "add", "content": rule, "file": "SKILL.md", "rationale": "The form is wrong.", "tasks": tasks}
        for rule, tasks in cited.items()
        if tasks
    ]
    return json.dumps({"diagnosis": "Results are written with signs and words.", "edits": edits})


if __name__ == "__main__":
    sys.exit(main())
