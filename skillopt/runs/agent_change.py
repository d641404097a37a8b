"""What a change alters of the agent that would measure it: its own text must not choose what judges it."""

from collections.abc import Mapping

from skillopt.agent_tables.shipped import find_agent_table
from skillopt.project import CONFIG, Project
from skillopt.review.result import ChangeFinding, Weight
from skillopt.runs.revision_project import RevisionProject
from skillopt.settings import Settings

__all__ = ["find_changed_agent"]


def find_changed_agent(
    old: RevisionProject, new: RevisionProject, before: Settings | None, now: Settings, flags: Mapping[str, object]
) -> tuple[ChangeFinding, ...]:
    """Refuse a change that also changes harness, table or sandbox; a flag makes them the same."""
    if not old.commits_config and not new.commits_config:
        return ()  # it is kept out of the repository: whoever runs this wrote it
    if not old.commits_config:
        before = Project(old.project.root, {}, {}).settings({"harness": now.harness, **flags})
    before = before or old.project.settings(flags)
    kind = now.harness.partition("/")[0]
    pairs = {
        "harness": (before.harness.partition("/")[0], kind),
        f"[agents.{kind}]": (find_agent_table(kind, before.agents), find_agent_table(kind, now.agents)),
        "sandbox": (before.sandbox, now.sandbox),
        "unsandboxed": (before.executor.unsandboxed, now.executor.unsandboxed),
    }
    changed = ", ".join(name for name, (one, other) in pairs.items() if one != other)
    if not changed:
        return ()
    told = f"the agent changed ({changed}): merge that in a change of its own before skills are measured with it"
    return (ChangeFinding(CONFIG, 1, Weight.REFUSE, "agent changed", told, person=True),)
