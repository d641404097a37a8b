"""What commands have in common: their options, and making a selection of them; imported when they run."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from skillopt.project import Selection

SkillArgument = Annotated[
    str | None, typer.Argument(help="Name in skillopt.toml, or a skill folder. May be left out if there is only one.")
]
RunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Id of the run, or a skill for its newest; the newest of all.")
]
SuiteOption = Annotated[
    Path | None, typer.Option("--suite", help="Suite folder or file, instead of the configured one.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as seed=1; as often as needed.")
]
SplitOption = Annotated[Literal["train", "val", "test"], typer.Option("--split", help="Which tasks; test is held-out.")]
RepeatsOption = Annotated[int, typer.Option("--repeats", min=1, help="Runs of each task.")]
_PresetOption = Annotated[str | None, typer.Option("--preset", help="Set of settings: default or paper.")]
_WorkersOption = Annotated[int | None, typer.Option("--workers", help="Calls made at a time; cannot change a result.")]
_HARNESSES = "What does the tasks: claude-code, codex, chat/PROVIDER/MODEL, … (skillopt docs agents-and-sandbox)"
HarnessOption = Annotated[str | None, typer.Option("--harness", help=f"{_HARNESSES}.")]
_HarnessesOption = Annotated[
    list[str] | None, typer.Option("--harness", help=f"{_HARNESSES}; repeat to measure with several.")
]
_MODELS = "What proposes edits: claude-code, codex, handoff, PROVIDER/MODEL, … (skillopt docs agents-and-sandbox)."
ModelOption = Annotated[str | None, typer.Option("--model", help=_MODELS)]
RolloutsOption = Annotated[int | None, typer.Option("--max-rollouts", help="Cap on rollouts; none when left out.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Spend without asking, with or without a cap.")]
UsdOption = Annotated[float | None, typer.Option("--max-usd", help="Cap on US dollars; none when left out.")]
StartOption = Annotated[
    Literal["auto", "worktree", "branch"], typer.Option("--start", help="Which text to begin with when they differ.")
]
SummaryOption = Annotated[
    Path | None, typer.Option("--summary", metavar="FILE", help="Append Markdown, as to $GITHUB_STEP_SUMMARY.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show every detail.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]


def check_cap_option(cap: float | None) -> float | None:
    """Refuse a cap of 0 or less, which could be taken for no cap."""
    if cap is not None and cap <= 0:
        raise typer.BadParameter(f"expected a number above 0, found {cap:g}; leave it out for no cap")
    return cap


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run, the same for the commands that train, measure and estimate."""

    suite: SuiteOption = None
    preset: _PresetOption = None
    workers: _WorkersOption = None
    harness: _HarnessesOption = None
    model: ModelOption = None
    max_rollouts: RolloutsOption = None
    max_usd: UsdOption = None
    settings: SetOption = None

    def select(self, skill: str | None) -> "Selection":
        """Select project, skill and suite from what the user names."""
        from skillopt.project import Selection

        named = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("suite", "settings")}
        named["harness"] = ",".join(self.harness) if self.harness else None
        return Selection(skill, flags_of(self.settings, **named), self.suite)


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command the options of `RunOptions`, which it takes as one argument `options`."""
    shared = inspect.signature(RunOptions).parameters
    hints, kinds = get_type_hints(command, include_extras=True), get_type_hints(RunOptions, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name == "options":
            only = inspect.Parameter.KEYWORD_ONLY
            parameters += [one.replace(kind=only, annotation=kinds[one.name]) for one in shared.values()]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    def run(**given: object) -> None:
        options = RunOptions(**{name: given.pop(name) for name in shared})  # type: ignore[arg-type]  # Typer read them by these very types
        command(**given, options=options)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what `inspect` reads first
    return run


def flags_of(pairs: list[str] | None, **named: object) -> dict[str, object]:
    """Join `--set KEY=VALUE` pairs with the flags that were given."""
    from skillopt.settings import read_setting

    flags: dict[str, object] = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals:
            from skillopt.errors import SettingsError

            message = f"--set: expected KEY=VALUE, found {pair!r}"
            raise SettingsError(message)
        flags[key] = read_setting(key, text)
    return flags | {key: value for key, value in named.items() if value is not None}
