"""The drivers of a run: the target's harness, the optimizer model and the judge, with retries and metering."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.agent_table import find_agent_table
from skillopt.contrib import find_driver
from skillopt.errors import SettingsError
from skillopt.execution.access import expect_chosen
from skillopt.execution.credentials import exposure_warning
from skillopt.execution.masking import Masking, environment_masking
from skillopt.execution.metering import Caps, Cluster, Meter, MeteredHarness, MeteredModel
from skillopt.execution.retry import Retry
from skillopt.execution.threads import ThreadExecutor
from skillopt.prompts.judging import JUDGING
from skillopt.protocols import Executor, Harness, Model, RolloutRequest, Verifier, VerifierFactory
from skillopt.rollouts import CHECKS_UNBOXED
from skillopt.sandbox.bubblewrap import SandboxChoice, sandbox_warning, unboxed_checks
from skillopt.sandbox.processes import stop_all_processes
from skillopt.settings import Settings
from skillopt.storage.ledger import rollout_key
from skillopt.suites import brings_command
from skillopt.targets.drivers import MODELS, load_harness, load_model, runs_agent
from skillopt.tasks import Suite, Task, VerifierSpec, digest_of
from skillopt.verifiers import load_verifier
from skillopt.verifiers.tool_calls import RECORDED_TOOLS, asked_tools, is_recorded

_CONSENT: Final = "SKILLOPT_SANDBOX"
"""The variable that a workflow sets to let programs run without a sandbox; a change of skillopt.toml cannot set it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller brings: drivers that are objects, a meter that several runs share, and one around all of them."""

    harness: Harness | None = None
    model: Model | None = None
    judge: Model | None = None
    verifiers: Mapping[str, VerifierFactory] = field(default_factory=dict)
    meter: Meter | None = None
    allowance: Meter | None = None


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers of a run."""

    harness: Harness
    model: Model | None = None
    judge: Model | None = None
    meter: Meter = field(default_factory=Meter)
    notice: str = ""
    verifiers: Mapping[str, VerifierFactory] = field(default_factory=dict)
    retry: Retry | None = None
    sandbox: SandboxChoice = "auto"
    cluster: Cluster | None = None
    workers: int = 1
    reviewer: Model | None = None

    def executor(self, notice: Callable[[str], None]) -> Executor:
        """Return what runs calls: threads, which wait for their rollouts where a cluster does them."""
        cluster = self.cluster
        if cluster is None:
            return ThreadExecutor(self.workers, notice)
        cluster.notice = notice
        cluster.ready()

        def drop() -> None:
            cluster.drop()
            stop_all_processes()

        return ThreadExecutor(self.workers, notice, drop)

    def verifier(self, spec: VerifierSpec) -> Verifier:
        """Make the verifier of a task."""
        if (own := self.verifiers.get(spec.kind)) is not None:
            return own(spec)
        return (
            shared_verifier(spec, self.sandbox) if self.judge is None else load_verifier(spec, self.judge, self.sandbox)
        )

    @property
    def target_identity(self) -> str:
        """Identify the target and, where there is one, the judge: what the scores of rollouts depend on."""
        return self.harness.identity + (f" judge={self.judge.identity}" if self.judge else "")

    def key_of(self, request: RolloutRequest) -> str:
        """Return the key under which a rollout is recorded; a judge is part of it only where it judges."""
        digest = request.digest
        if request.discovery is not None:
            digest = digest_of(digest, request.discovery.digest)
        return self.recorded_key(digest, request.task, request.repeat)

    def recorded_key(self, skill_digest: str, task: Task, repeat: int) -> str:
        """Return the key of a repeat of a task under the text with a digest, empty for no skill."""
        judge = f" judge={self.judge.identity} {JUDGING}" if self.judge and task.verifier.judged else ""
        return rollout_key(skill_digest, task.digest, f"{self.harness.identity}{judge}", repeat)


@lru_cache(maxsize=4096)
def shared_verifier(spec: VerifierSpec, sandbox: SandboxChoice = "auto") -> Verifier:
    """Make a verifier that asks no judge, once for all rollouts of its task."""
    return load_verifier(spec, sandbox=sandbox)


def caps_of(settings: Settings) -> Caps:
    """Return what a run may consume."""
    return Caps(settings.max_usd or 0.0, settings.max_tokens or 0, (settings.max_minutes or 0.0) * 60.0)


def load_target(settings: Settings, root: Path) -> Harness:
    """Make the target's harness alone, not metered."""
    expect_chosen(settings, harness=True, model=False)
    return load_harness(settings, root, _handoff(root))


def identify_target(settings: Settings, suite: Suite, root: Path) -> str:
    """Identify the target that is trained on as runs over a suite record it."""
    return load_target(settings.by_target[0], root).identity + _mark(settings, suite)


def load_drivers(
    settings: Settings, suite: Suite, root: Path, given: Given | None = None, *, optimizer: bool = True
) -> Drivers:
    """Make the drivers that a run needs and that were not given as objects; all of them keep to its caps.

    Of several harnesses it is the first one.
    """
    given, retry = given or Given(), Retry(settings.retry_seconds)
    expect_chosen(settings, harness=given.harness is None, model=optimizer and given.model is None)
    meter = given.meter or Meter(caps_of(settings))
    meters = [*([given.allowance] if given.allowance else []), meter]
    settings, own = settings.by_target[0], given.harness is not None
    if not own:
        table = find_agent_table(settings.harness, settings.agents)
        check_recorded_tools(settings.harness, suite, blind=table is not None and table.tool is None)
    _expect_sandbox_in_ci(settings, suite, agent=not own and runs_agent(settings))
    target = given.harness or load_target(settings, root)
    cluster = open_cluster(settings, target, [task for _, task in suite.splits], own=own)
    asks_once = not own and settings.harness.startswith("chat/")
    mark, repeated = _mark(settings, suite), retry if asks_once else None

    def metered(role: str, own: Model | None, name: str, masking: Masking | None = None) -> Model:
        model = own or load_model(name, settings, _handoff(root))
        # The client programs repeat failed calls by themselves.
        repeats = retry if own is None and MODELS[name.partition("/")[0]].retried else None
        # A call of an API is given up after 300 seconds without data, an agent's command line after 600.
        longest = max(600.0, 300.0 + settings.retry_seconds)
        return MeteredModel(model, meters, role, longest, retry=repeats, masking=masking)

    judge = None
    if any(task.verifier.judged for _, task in suite.splits):
        own_judge, name = given.judge or (None if settings.judge else given.model), settings.judge or settings.model
        if own_judge is None and name in {"", "demo"}:
            raise SettingsError(
                f"suite {suite.name!r} has tasks with a rubric: expected a model to judge them, found none; "
                'set judge, as in judge = "anthropic/claude-haiku-4-5"'
            )
        judge = metered("judge", own_judge, name, environment_masking())
    exposed = exposure_warning(settings.sandbox, os.environ) if runs_agent(settings) else ""
    notices = (exposed, checks_warning(suite, settings.sandbox), suite.gamed_note)
    return Drivers(
        harness=MeteredHarness(cluster or target, meters, mark, cluster, repeated),
        model=metered("optimizer", given.model, settings.model) if optimizer else None,
        judge=judge,
        meter=meter,
        notice="\n".join(filter(None, notices)),
        verifiers=given.verifiers,
        retry=retry,
        sandbox=settings.sandbox,
        cluster=cluster,
        workers=settings.workers,
        reviewer=metered("reviewer", None, settings.reviewer) if settings.reviewer else None,
    )


def open_cluster(settings: Settings, harness: Harness, tasks: Sequence[Task], *, own: bool) -> Cluster | None:
    """Return the cluster that the settings name; None for threads of this process. Nothing is connected yet."""
    if not settings.ray:
        return None
    if not own and settings.harness == "chat/handoff":
        raise SettingsError('harness = "chat/handoff" is done by people on this machine; leave ray out')
    try:
        make = find_driver("cluster")
    except ModuleNotFoundError:  # Ray is an extra
        make = None
    if make is None:
        raise SettingsError(
            f"ray = {settings.ray!r}: expected the package ray, found none; install it with `pip install "
            "'PATH-OF-CLONE[ray]'`, or leave ray out for threads of this machine"
        )
    made: Cluster = make(settings, harness, tasks, own=own)
    return made


def _mark(settings: Settings, suite: Suite) -> str:
    """Mark the identity of a target where verifiers run without a sandbox: a score that it could choose is another."""
    return CHECKS_UNBOXED if checks_warning(suite, settings.sandbox) else ""


def _handoff(root: Path) -> Path:
    return root / ".skillopt" / "handoff"


def _expect_sandbox_in_ci(settings: Settings, suite: Suite, *, agent: bool) -> None:
    """Refuse to run what models steer without a sandbox in CI, where a stranger's change may have set it so."""
    commands = any(brings_command(task) for _, task in suite.splits)
    runs = [*(["agents"] if agent else []), *(["`command` verifiers"] if commands else [])]
    if not runs or not os.environ.get("CI") or os.environ.get(_CONSENT) == "none":
        return
    trouble = 'that the settings say sandbox = "none"' if settings.sandbox == "none" else sandbox_warning("auto")
    if trouble:
        raise SettingsError(
            f"CI is set: expected a sandbox for {' and '.join(runs)}, found {trouble}. Install the package bubblewrap "
            "(Ubuntu 24.04 also needs `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; the action of "
            f"skillopt does both), or let them do whatever this job may by a variable of the job: {_CONSENT}=none"
        )


def check_recorded_tools(harness: str, suite: Suite, *, blind: bool = False) -> None:
    """Refuse a suite whose scores ask for tools that the harness cannot tell of: their use would count as none."""
    for _, task in suite.splits:
        unknown = [tool for tool in asked_tools(task.verifier) if blind or not is_recorded(tool, harness)]
        if unknown:
            able = ", ".join(sorted(name for name in RECORDED_TOOLS if is_recorded(unknown[0], name)))
            raise SettingsError(
                f"task {task.id!r} asks whether the tool {unknown[0]!r} was used, which harness {harness!r} does not "
                f"tell; set harness to one that does ({able}), or remove the check"
            )


def checks_warning(suite: Suite, sandbox: SandboxChoice) -> str:
    """Say in one line that verifiers start programs without a sandbox, which can game scores; empty where none does."""
    return unboxed_checks(sandbox) if any(brings_command(task) for _, task in suite.splits) else ""
