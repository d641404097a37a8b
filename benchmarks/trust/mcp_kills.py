"""Jobs of the MCP server, and the server itself, ended by a signal: what a client has to do is ask again."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from benchmarks.trust.forked import Command, Ended, Kill, Pipes, start_forked
from benchmarks.trust.places import Place
from benchmarks.trust.projects import SOURCES
from skillopt.commands.job_process import main as job_process
from skillopt.project import Selection
from skillopt.runs.jobs import start_training
from skillopt.storage import jobs
from skillopt.storage.jobs import Job, JobState, list_jobs
from skillopt_mcp.__main__ import main as serve

_COUNT: Final = "from benchmarks.trust.counted import count_calls\ncount_calls()\n"
"""What each Python that a server starts does first."""

_CLIENT: Final = {"name": "trust", "version": "1"}
_LONG_AGO: Final = "2026-01-01T00:00:00+00:00"
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class PipeServer:
    """A server that is asked over its standard input."""

    to: IO[bytes]
    answers: IO[bytes]

    def greet(self) -> None:
        """Shake hands."""
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT})
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def call(self, tool: str, **arguments: object) -> str:
        """Call a tool; its answer as JSON, empty where the server ended."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return json.dumps(answer) if answer else ""

    def send(self, line: str) -> None:
        """Send a line."""
        self.to.write(line.replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n")
        self.to.flush()

    def ask(self, method: str, params: object) -> dict[str, object]:
        """Send a request and wait for its answer; empty where the server ended."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": "asked", "method": method, "params": params}))
        for line in self.answers:
            answer: dict[str, object] = json.loads(line)
            if answer.get("id") == "asked":
                return answer
        return {}


def run_job(place: Place, kill: Kill | None) -> Ended:
    """Start a job as the server does, and wait for its end; the signal ends who starts it, or the job."""

    def until(code: int) -> int:
        job = _end_of_job(place)
        if job is None:
            return code or 70
        if job.state is JobState.LOST:
            return -kill.signal if kill else 70
        return _INTERRUPTED if job.state is JobState.CANCELLED else job.exit_code or 0

    return start_forked(Command(_start_job, place.clone, (), place.environment), kill).wait(until)


def _start_job() -> int:
    # Forked from a process that is ready instead of started anew, which is a second sooner; all else is as it is.
    vars(jobs)["start_detached"] = _fork_job
    try:
        start_training(Selection("rows"))
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _fork_job(command: Sequence[str], *, folder: Path, output: Path, errors: Path) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)  # it lives until it has detached itself
        return
    try:
        os.setsid()
        os.chdir(folder)
        for file, descriptor in ((output, 1), (errors, 2)):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
        job_process(Path(command[-1]))
    finally:
        os._exit(70)


def run_server(place: Place, kill: Kill | None) -> Ended:
    """Train through a server, as an agent does, and wait for what it started; the signal ends the server alone."""
    counting = place.folder / "counting"
    counting.mkdir(exist_ok=True)
    (counting / "sitecustomize.py").write_text(_COUNT, encoding="utf-8")
    environment = place.environment | {"PYTHONPATH": os.pathsep.join((str(counting), SOURCES))}
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    command = Command(serve, place.clone, (), environment)
    server = start_forked(command, kill, Pipes(theirs_in, theirs_out))
    os.close(theirs_in)
    os.close(theirs_out)
    through = False
    with os.fdopen(ours_out, "rb") as answers, os.fdopen(ours_in, "wb", 0) as to, suppress(BrokenPipeError):
        through = _train_by_tools(PipeServer(to, answers), lambda: _end_of_job(place, server.pid))

    def until(code: int) -> int:
        job = _end_of_job(place)
        if (
            job is not None
            and job.state is JobState.LOST
            and (place.clone / ".skillopt/jobs" / job.id / "pid").exists()
        ):
            raise RuntimeError(f"job {job.id} ended with its server")
        return code if code or through else 70

    return server.wait(until)


def _train_by_tools(server: PipeServer, ended: Callable[[], Job | None]) -> bool:
    """Do what an agent does; tell whether all was answered."""
    server.greet()
    answers = [server.call("list_skills"), server.call("read_skill", name="rows")]
    answers += [server.call("start_job", name="rows", work="optimize")]
    job = ended()
    if job is not None:
        answers += [server.call("job_status", job_id=job.id), server.call("get_evidence", name="rows")]
        answers += [server.call("list_skills", name="rows"), server.call("read_skill", name="rows", since="1")]
    return job is not None and job.exit_code == 0 and all(answers)


def _end_of_job(place: Place, but: int = 0) -> Job | None:
    """Wait until nothing but a server works here; give the newest job, None where there is none."""
    place.wait_until_alone(but)
    for job in list_jobs(place.clone, "rows"):
        if job.state is JobState.RUNNING:  # it never started; a client would wait for a minute
            order = place.clone / ".skillopt" / "jobs" / job.id / "order.json"
            order.write_text(json.dumps(json.loads(order.read_text("utf-8")) | {"created_at": _LONG_AGO}), "utf-8")
    return next(iter(list_jobs(place.clone, "rows", most=1)), None)
