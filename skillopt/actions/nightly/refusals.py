"""What a night does not begin with: a token in reach of agents, or a cluster that skills would share."""

import os

from skillopt.errors import UsageError
from skillopt.execution.credentials import forge_token_names
from skillopt.execution.executors import CLUSTERS
from skillopt.nightly.night import Budget
from skillopt.project import Project
from skillopt.settings import Settings
from skillopt.versions.kept_logins import find_stored_credentials

__all__ = ["refuse_cluster", "refuse_credentials"]


def refuse_cluster(settings: Settings, budget: Budget) -> None:
    """Refuse to train several skills at a time on a cluster, which one run at a time connects to."""
    name = settings.executor.run_on
    if budget.at_once > 1 and name in CLUSTERS:
        raise UsageError(
            f'--at-once {budget.at_once}: expected run_on = "threads", found "{name}", whose nodes are for one '
            "skill at a time; leave out --at-once, or set run_on"
        )


def refuse_credentials(project: Project) -> None:
    """Refuse to train where agents and verifiers could read a token of the forge."""
    names = forge_token_names(os.environ)
    if names:
        unset = " ".join(f"-u {name}" for name in names)
        message = f"nightly train: expected no token of the forge in the environment, found {', '.join(names)}"
        raise UsageError(
            f"{message}; start it as `env {unset} skillopt nightly train ...`, or run `skillopt nightly`, which does so"
        )
    places = find_stored_credentials(project.repository())
    if places:
        message = f"nightly train: expected no token in the configuration of git, found one in {places[0]}"
        raise UsageError(f"{message}; in a workflow, check out with `persist-credentials: false`")
