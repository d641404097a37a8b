"""Read `eval.yaml`, a name that four tools give their files: which of them wrote it is told by its keys."""

from pathlib import Path

from skillopt.suites.foreign_files import Folder, repository_of
from skillopt.suites.formats.eval_yaml.scenarios import add_scenarios
from skillopt.suites.formats.eval_yaml.skillgrade import add_skillgrade
from skillopt.suites.formats.eval_yaml.stimuli import add_stimuli
from skillopt.suites.formats.eval_yaml.waza import add_waza
from skillopt.suites.reading import Collection, Reading
from skillopt.suites.sources import error_at, read_yaml

__all__ = ["read_eval_yaml"]


def read_eval_yaml(path: Path) -> Reading:
    """Read a file of scenarios (skill-validator), stimuli (vally), or tasks (skillgrade, waza)."""
    source = read_yaml(path)
    config = source.value if isinstance(source.value, dict) else {}
    folder = Folder(repository_of(path.parent), path.parent)
    found = Collection(path)
    tasks = config.get("tasks")
    if isinstance(config.get("stimuli"), list):
        add_stimuli(found, source, config, folder)
    elif isinstance(config.get("scenarios"), list):
        add_scenarios(found, source, config, folder)
    elif isinstance(tasks, list) and any(isinstance(task, dict) and "instruction" in task for task in tasks):
        add_skillgrade(found, source, config, folder)
    elif isinstance(tasks, list) and any(isinstance(task, str) for task in tasks):
        add_waza(found, source, config, folder)
    else:
        raise error_at(
            path, 1, "expected `stimuli`, `scenarios` or `tasks` for an agent, found none; name another file"
        )
    return found.reading("eval.yaml", str(config.get("name") or config.get("skill") or path.parent.resolve().name))
