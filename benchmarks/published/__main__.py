"""`python -m benchmarks.published`: run a published benchmark, or list what is there.

python -m benchmarks.published formula --model openai/NAME --from CLONE --max-usd 5 [--tasks 60]
python -m benchmarks.published --list
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.published.benchmark import Benchmark, Reading, draw, keep
from benchmarks.published.catalogue import BENCHMARKS, benchmark_of
from benchmarks.published.results import MeasuredRow, ResultsFile, numbers_of
from benchmarks.published.run import Measured, Plan, measure
from benchmarks.published.sources import Source, cache_folder, digests_of, find
from skillopt import __version__, load_skill
from skillopt.errors import SkilloptError, UsageError
from skillopt.loop.events import Event
from skillopt.reports.lines import event_line
from skillopt.safety.escaping import escape_terminal
from skillopt.targets.prices import cost_of, find_price
from skillopt.tasks import Split

_FOLDER: Final = Path(__file__).parent
_PASSES: Final = 3  # no skill, start, trained
_ANSWER_TOKENS: Final = 300
_MILLION: Final = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark: rows on its held-out tasks for no skill, a start text and the text trained from it."""
    chosen = _parser().parse_args(arguments)
    try:
        return _list(chosen.model or "", as_json=chosen.json) if chosen.list else _run(chosen)
    except SkilloptError as error:
        print(f"skillopt: {error}", file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=main.__doc__)
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(BENCHMARKS)}")
    parser.add_argument(
        "--list", action="store_true", help="list the benchmarks: size, licence, how to get them, tokens"
    )
    parser.add_argument(
        "--model", help="as in openai/NAME: the optimizer model, and the target unless --harness is given"
    )
    parser.add_argument("--harness", help="runs the target, as in claude-code or chat/openai/NAME")
    parser.add_argument("--base-url", help="address of an `openai-compatible` server")
    parser.add_argument("--by", default="", metavar="WHO", help="who answers what is handed off, for the results file")
    parser.add_argument("--rollout-tokens", type=int, metavar="N", help="most tokens of an answer of the target")
    parser.add_argument("--from", dest="folder", type=Path, metavar="FOLDER", help="clone that holds the benchmark")
    parser.add_argument("--start", default="", metavar="FOLDER", help="skill that training starts from, or `curated`")
    parser.add_argument("--tasks", type=int, metavar="N", help="most tasks of each split, the same ones for everybody")
    parser.add_argument("--max-usd", type=float, metavar="USD", help="cap on US dollars of all that is run")
    parser.add_argument("--max-rollouts", type=int, metavar="N", help="cap on rollouts of the training")
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="calls made at a time (4)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the training (0)")
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="keeps what was run; the same command goes on")
    parser.add_argument("--out", type=Path, default=_FOLDER / "results", metavar="FOLDER", help="for the results file")
    parser.add_argument("--json", action="store_true", help="print the results file instead of the table")
    return parser


def _list(model: str, *, as_json: bool) -> int:
    rows = [(one.source, *_estimate(one.source, model)) for one in BENCHMARKS.values()]
    if as_json:
        shown = [
            {**one.model_dump(exclude={"files"}), "get": one.how, "input_tokens": tokens, "usd": usd}
            for one, tokens, usd in rows
        ]
        print(json.dumps({"benchmarks": shown}, indent=2))
        return 0
    for one, tokens, usd in rows:
        cost = "" if usd is None else f": about {usd:.2f} USD with {model}"
        print(f"{one.name}: {one.title}\n ", "{} train, {} val, {} test tasks".format(*one.tasks), f"({one.splits})")
        print(f"  {one.megabytes} MB, {one.licence}; {one.how}")
        print(f"  three passes over all test tasks read {tokens / _MILLION:.2f} M tokens and the skill text{cost}")
    return 0


def _estimate(source: Source, model: str) -> tuple[int, float | None]:
    """Estimate the input tokens, and dollars where a price is known, of all held-out rollouts of a run."""
    rollouts = _PASSES * source.tasks[2]
    tokens = rollouts * source.prompt_tokens
    return tokens, cost_of(find_price(model.rpartition("/")[2], {}), tokens, rollouts * _ANSWER_TOKENS)


def _run(chosen: argparse.Namespace) -> int:
    if not chosen.name or not chosen.model:
        raise UsageError("expected a benchmark and --model PROVIDER/NAME, found none; --list shows the benchmarks")
    if chosen.max_usd is None and chosen.max_rollouts is None:
        raise UsageError(
            "expected a cap, found none; add --max-usd USD, or --max-rollouts N where the price is unknown"
        )
    if "handoff" in f"{chosen.model} {chosen.harness}" and not chosen.by:
        raise UsageError("expected --by WHO, who answers what is handed off, found none; the results file says it")
    benchmark = benchmark_of(chosen.name)
    folder = find(benchmark.source, chosen.folder)
    reading = draw(keep(benchmark, benchmark.read(folder)), chosen.tasks)
    start = load_skill(_start(benchmark.name, chosen.start))
    more = {"workers": chosen.workers, "base_url": chosen.base_url, "rollout_tokens": chosen.rollout_tokens}
    more = {name: value for name, value in more.items() if value is not None}
    harness = chosen.harness or f"chat/{chosen.model}"
    store = chosen.store or cache_folder() / "runs" / _slug(benchmark.name, harness, chosen.model)
    print(f"what is run is kept in {store}; the same command goes on", file=sys.stderr)
    caps = (chosen.max_usd, chosen.max_rollouts)
    plan = Plan(harness, chosen.model, start, store, chosen.seed, *caps, more, _say)
    found = _results(benchmark, plan, reading, measure(benchmark, reading, plan))
    data = digests_of(folder, benchmark.source.files)
    found = found.model_copy(update={"drawn": chosen.tasks, "data": data, "answered_by": chosen.by})
    drawn = f"tasks{chosen.tasks or 'all'} seed{chosen.seed}"
    name = _slug(benchmark.name, harness, chosen.model, drawn)
    text = found.model_dump_json(indent=2)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    print(text if chosen.json else _table(benchmark, found))
    print(f"written to {chosen.out / name}.json", file=sys.stderr)
    return 0


def _start(name: str, given: str) -> Path:
    own = _FOLDER / "starts" / (f"{name}-{given}" if given else name)
    return own if own.is_dir() else Path(given)


def _results(benchmark: Benchmark, plan: Plan, reading: Reading, measured: Measured) -> ResultsFile:
    return ResultsFile.model_validate(
        {
            "benchmark": benchmark.name,
            "metric": benchmark.source.metric,
            "tasks": {split.value: len(reading.of(split)) for split in Split},
            "version": __version__,
            "date": datetime.now(UTC).date().isoformat(),
            "harness": getattr(plan.harness, "identity", plan.harness),
            "model": getattr(plan.model, "identity", plan.model),
            "seed": plan.seed,
            "max_usd": plan.max_usd,
            "max_rollouts": plan.max_rollouts,
            "start": plan.start.text,
            "rows": measured.rows,
            "training": measured.training,
            "training_usd": measured.spent.usd,
            "paired": measured.compared.verdict,
            "handed_over": measured.handed_over,
            "trained": measured.trained.text,
        },
        from_attributes=True,
    )


def _say(event: Event) -> None:
    if line := event_line(event):
        print(escape_terminal(line), file=sys.stderr, flush=True)


def _table(benchmark: Benchmark, found: ResultsFile) -> str:
    named = "score" if benchmark.source.metric == "score" else "tasks passed"
    note, numbers = numbers_of(benchmark.name)
    training, paired = found.training, found.paired
    return "\n".join(
        [
            benchmark.source.title,
            f"held-out tasks, {found.harness}, seed {found.seed}",
            "",
            f"{'text':<12} {'passed':>12} {named + ' (95% interval)':>34} {'rollouts':>9} {'calls':>7} {'USD':>8}",
            *(_line(row, benchmark.source.metric) for row in found.rows),
            "",
            f"training: {training.rollouts} rollouts, {training.calls} optimizer calls, {_usd(found.training_usd)} USD",
            f"handed over: {found.handed_over} ({training.reason})",
            f"trained against start: gain {paired.gain:+.3f}, confidence {paired.confidence:.2f}",
            f"  {paired.wins} tasks better, {paired.ties} equal, {paired.losses} worse",
            "",
            "published by others (other prompts, models and budgets):",
            *(f"  {one.value:5.1f}%  {one.method}, {one.model} ({one.paper}, {one.table})" for one in numbers),
            f"  {note}",
        ]
    )


def _line(row: MeasuredRow, metric: str) -> str:
    share = row.score if metric == "score" else row.passed / row.tasks
    passed = f"{row.passed} of {row.tasks}"
    interval = f"{share:.1%} ({row.low:.1%} to {row.high:.1%})"
    return f"{row.name:<12} {passed:>12} {interval:>34} {row.rollouts:>9} {row.calls:>7} {_usd(row.usd):>8}"


def _usd(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:.2f}"


def _slug(*parts: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(dict.fromkeys(parts))).strip("-").lower()


if __name__ == "__main__":
    sys.exit(main())
