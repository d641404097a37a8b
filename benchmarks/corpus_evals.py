"""Read the task files of a corpus of repositories, and count what loads.

    python -m benchmarks.corpus_evals FOLDER ...

Each folder is a repository, or holds several; nothing is fetched and nothing is run. A file counts as read where at
least one task or trigger of it loads.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.errors import SuiteError
from skillopt.suites import read_tasks
from skillopt.suites.formats import TASK_FORMATS, recognise

__all__ = ["CorpusCount", "count_files", "main"]


@dataclass(slots=True)
class CorpusCount:
    """What was found in task files.

    Args:
        files: Format and outcome (`tasks`, `triggers`, `nothing`, `refused`) → files.
        items: `tasks`, `skipped`, `triggers` → how many.
        kinds: Kinds of checks of a task → tasks.
        reasons: Why items were skipped or files refused → how often.
    """

    files: Counter[tuple[str, str]] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """Give it as lines of text."""
        for name in sorted({name for name, _ in self.files}):
            found = {outcome: number for (own, outcome), number in self.files.items() if own == name}
            read, total = sum(found.get(each, 0) for each in ("tasks", "triggers")), sum(found.values())
            details = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items()))
            yield f"{name}: {read} of {total} files read ({read / total:.1%}): {details}"
        yield ", ".join(f"{number} {what}" for what, number in sorted(self.items.items()))
        yield from (f"  {number} tasks scored by {kinds}" for kinds, number in self.kinds.most_common())
        yield from (f"  {number} times: {reason}" for reason, number in self.reasons.most_common(20))


def count_files(paths: Sequence[Path]) -> CorpusCount:
    """Read task files, each on its own, and count what loads."""
    count = CorpusCount()
    for path in paths:
        name, _ = recognise(path) or ("unknown", path)
        try:
            reading = read_tasks(path)
        except SuiteError as error:
            count.files[name, "refused"] += 1
            count.reasons[str(error).partition(": ")[2][:100]] += 1
            continue
        outcome = "tasks" if reading.tasks else "triggers" if reading.triggers else "nothing"
        count.files[name, outcome] += 1
        count.items += Counter(tasks=len(reading.tasks), skipped=len(reading.skipped), triggers=len(reading.triggers))
        count.kinds.update("+".join(sorted({p.kind for p in task.verifier.parts})) for _, task in reading.tasks)
        count.reasons.update(each.reason[:100] for each in reading.skipped)
    return count


def main(arguments: Sequence[str]) -> int:
    """Count the files below each folder and print it."""
    patterns = {Path(file).name: Path(file).parts for each in TASK_FORMATS.values() for file in each.files}
    found = (path for folder in arguments for path in sorted(Path(folder).rglob("*")) if path.is_file())
    for line in count_files([path for path in found if any(path.match(name) for name in patterns)]).lines():
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
