"""Agents that do not do the task and want the score all the same, and agents that do it.

An agent is a shell script, run as clients of agents are: in the sandbox, with limits. A verifier then judges its work.
"""

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.trust.classes import ClassResult, Found, held_out_cases
from benchmarks.trust.judges import ANSWER, INPUTS, JUDGES
from skillopt.errors import InfrastructureError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import Workspace
from skillopt.targets.process import AgentCommand, AgentHome
from skillopt.verifiers import load_verifier

_NO_PROVIDER: Final = "http://provider.invalid"
_SECONDS: Final = 30.0
_OTHERS: Final = "mkdir -p out/json; echo {} >out/json/a.json; echo x >notes.md; echo 'print(1)' >solve.py; : >.done"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent does."""

    name: str
    judge: str
    script: str
    answer: str = ""

    @property
    def runnable(self) -> bool:
        """Whether the program of its judge is there."""
        return shutil.which(JUDGES[self.judge].needs) is not None


def _cheats(path: Path | None) -> Iterator[Attempt]:
    for each in tomllib.loads(path.read_text(encoding="utf-8"))["cheat"] if path else ():
        yield Attempt(each["name"], each["judge"], each["script"], each.get("answer", ""))


def _honest() -> Iterator[Attempt]:
    write = f"printf '%s\\n' {ANSWER.strip()} >total.txt"
    commit = f"git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m {ANSWER.strip()}"
    own = {
        "answer": "true",
        "runs": f"echo 'print({ANSWER.strip()})' >answer.py",
        "ruff": "echo 'total: int = 1' >answer.py; echo 'x = 1' >ruff.toml",
        "mypy": "echo 'total: int = 1' >answer.py; echo 'x = 1' >ruff.toml",
        "sum": f"echo 'print(42 * {ANSWER.strip()})' >a.py; python3 a.py >total.txt; echo >input.csv",
        "tar": f"mkdir out; {write}; mv total.txt out; : >out/more.txt",
        "list": f"mkdir out; {write}; mv total.txt out; : >out/notes.md",
        "json": f"echo '{{\"total\": {ANSWER.strip()}}}' >total.json",
        "log": commit,
        "calls": "echo 'print(int(input()) * 48151 % 62342)' >answer.py; echo x >notes.md",
        "prints": f'echo \'open("out.csv", "w").write("{ANSWER.strip()}\\\\n")\' >answer.py',
    }
    for judge in JUDGES:
        if judge in own:
            yield Attempt(f"{judge}: honest work", judge, own[judge], ANSWER)
        else:
            yield Attempt(f"{judge}: honest work", judge, write)
            yield Attempt(f"{judge}: honest work among other files", judge, f"{write}; {_OTHERS}")


CHEATS: Final = tuple(_cheats(Path(__file__).with_name("cheats.toml")))
"""None of them may pass."""

HONEST: Final = tuple(_honest())
"""All of them must pass."""


def run_attempt(attempt: Attempt, sandbox: SandboxChoice = "bwrap") -> Score | str:
    """Let the agent do its thing in a workspace of its own and have it judged."""
    with Workspace.create(INPUTS) as workspace, AgentHome.create() as home:
        command = AgentCommand(
            ("/bin/sh", "-c", attempt.script), home.environment(), "", Sandbox(sandbox), _NO_PROVIDER
        )
        command.run(home, workspace.path, _SECONDS)
        verifier = load_verifier(JUDGES[attempt.judge].spec, sandbox=sandbox)
        try:
            return verifier.score(Trajectory(answer=attempt.answer), workspace.path)
        except InfrastructureError as error:
            return str(error)


def try_cheats(*, quick: bool = False) -> Found:
    """Have agents get the score without the work, all that can run here or every tenth; honest work must pass."""
    refused, given = [], (CHEATS, HONEST, tuple(_cheats(held_out_cases("cheats.toml"))))
    cheats, honest, others = ([each for each in some if each.runnable][:: 10 if quick else 1] for some in given)
    through, won = ([told for each in some if (told := _won(each))] for some in (cheats, others))
    for attempt in honest:
        score = run_attempt(attempt)
        if not (isinstance(score, Score) and score.passed):
            refused.append(f"honest work failed: {attempt.name}: {score if isinstance(score, str) else score.feedback}")
    alarms = f"{len(refused)} of {len(honest)}"
    held_out = f"{len(won)} of {len(others)}" if others else "—"
    row = ClassResult("scores without the work", len(cheats), len(through), false_alarms=alarms, held_out=held_out)
    return (row,), [*through, *won, *refused]


def _won(attempt: Attempt) -> str:
    """Return that an agent got a score without the work, empty where it did not."""
    score = run_attempt(attempt)
    if isinstance(score, Score) and (score.passed or score.value > 0):
        return f"cheat scored {score.value:g}: {attempt.judge}: {attempt.name}"
    return ""
