"""Settings: what shapes a run, with bounds, defaults, presets, and layers: preset < file < environment < flags.

The reference page is generated from the descriptions here.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal, assert_never, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skillopt.agent_table import AgentTable
from skillopt.errors import SettingsError, describe_mistake
from skillopt.rollouts import Score
from skillopt.safety.text_classes import LintClass


def _join_names(given: object) -> str:
    """Write a list of harnesses as one text; each does every task."""
    text = ",".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
    names = [one.strip() for one in text.split(",")]
    if len(set(names) - {""}) < len(names) > 1:
        raise ValueError("expected different harnesses")
    return ",".join(names)


def _expect_address(text: str) -> str:
    if text and not text.startswith(("http://", "https://")):
        raise ValueError("expected an address that begins with http:// or https://, as in 'http://127.0.0.1:8000/v1'")
    return text


_Amount = Annotated[float, Field(allow_inf_nan=False)]
_CANNOT_CHANGE_A_RESULT = {
    *("max_minutes", "workers", "ray", "retry_seconds", "nightly", "harvest"),
    *("agents", "protect", "executor"),  # parts of the identities of the target, of a run and of tasks
}


_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: _Usd
    output: _Usd
    cache_read: _Usd | None = None
    cache_write: _Usd | None = None
    long_over: Annotated[int, Field(ge=0)] = 0
    long_factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0


class Preset(StrEnum):
    """A named set of settings; both run on the same loop."""

    DEFAULT = "default"
    PAPER = "paper"


class SkillMode(StrEnum):
    """How a skill reaches an agent; the two are different experiments."""

    FORCED = "forced"
    DISCOVERY = "discovery"


class GateRule(StrEnum):
    """What a candidate must show: a greater mean (`strict`), or confidence as well, on all tasks or on enough."""

    STRICT = "strict"
    PAIRED = "paired"
    SEQUENTIAL = "sequential"


class Metric(StrEnum):
    """Which number of a score is compared."""

    SOFT = "soft"
    HARD = "hard"
    MIXED = "mixed"

    def of(self, score: Score) -> float:
        """Read the number, in [0, 1]."""
        match self:
            case Metric.SOFT:
                number = score.value
            case Metric.HARD:
                number = float(score.passed)
            case Metric.MIXED:
                number = (score.value + score.passed) / 2
            case _:
                assert_never(self)
        return number

    @property
    def label(self) -> str:
        """Name the number, for gains and intervals."""
        return {Metric.SOFT: "score", Metric.HARD: "share passed", Metric.MIXED: "mean of score and passed"}[self]


class NightlySettings(BaseModel):
    """What `skillopt nightly` does beside training, in the table `[nightly]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    forge: Annotated[
        str,
        Field(
            description="Where `nightly` opens pull requests: `github`, or `none` for files in "
            "`.skillopt/pull-requests/`. For all skills.",
            min_length=1,
        ),
    ] = "none"
    remote: Annotated[
        str, Field(description="Git remote that `nightly` pushes to; empty for none. For all skills.")
    ] = "origin"


class PresetConstants(BaseModel):
    """What a preset decides and no user sets, and constants that hold for both presets.

    Those of the published loop (`patch_tests = 0`) are the defaults of microsoft/SkillOpt at bdfdc30.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: ClassVar[int] = 4  # of the published loop: passes over the train split
    batch_size: ClassVar[int] = 40  # of the published loop: train tasks of a step, or the whole split
    min_edits: ClassVar[int] = 2  # of the published loop: most edits of a step, at the end
    slow_tasks: ClassVar[int] = 20  # of the published loop: train tasks that the slow update compares
    test_looks: ClassVar[int] = 1  # at the held-out test of a released version: a second one would need more confidence
    coverage: ClassVar[float] = 0.4  # share of tasks that must have been measured of each side for a verdict

    minibatch_size: int = 0
    """Rollouts in one reflection, whose proposals the optimizer model merges; 0 for all that fit one prompt."""

    token_budget: int = 3000
    """Most changed tokens of a step; 0 for no limit."""

    metric: Metric = Metric.MIXED
    """What the gate compares."""


class Settings(PresetConstants):
    """What shapes a run; all but the tables stand at the top of skillopt.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: Annotated[Preset, Field(description="Set of settings to start from.")] = Preset.DEFAULT
    harness: Annotated[
        str,
        BeforeValidator(_join_names),
        Field(
            description="How the target is run: `claude-code`, `codex`, `opencode`, `gemini`, `copilot` or NAME of a "
            "table `[agents.NAME]` (`/MODEL` chooses a model), `chat/PROVIDER/MODEL`, or `demo` (a program "
            "that understands table rules only). None is the default: `skillopt init` writes one. Of a list the "
            "first is trained on, and a text that does worse with another one stays a draft; `skillopt evaluate` runs "
            "all of them."
        ),
    ] = ""
    model: Annotated[
        str,
        Field(
            description="The optimizer model: `anthropic/MODEL`, `openai/MODEL`, `openai-compatible/MODEL`, "
            "`claude-code` or `codex` (`/MODEL` chooses which), `handoff`, or `demo`. None is the default, as for "
            "`harness`."
        ),
    ] = ""
    judge: Annotated[
        str, Field(description="The model that judges rubrics, named like `model`; empty for the optimizer model.")
    ] = ""
    reviewer: Annotated[
        str,
        Field(
            description="A model, named like `model`, that reads each added and removed line before a text becomes a "
            "version. A text of which it flags a line, or that it does not read, waits as a draft for a person."
        ),
    ] = ""
    base_url: Annotated[
        str,
        AfterValidator(_expect_address),
        Field(description="Address of the `openai-compatible` server, with the version in its path."),
    ] = ""
    skill_mode: Annotated[
        SkillMode,
        Field(
            description="How the skill reaches an agent: `forced` into its first request, or listed for `discovery`, "
            "so that the agent must choose to load it."
        ),
    ] = SkillMode.FORCED
    sandbox: Annotated[
        Literal["auto", "bwrap", "none"],
        Field(
            description="Where agents and programs of verifiers run: in bubblewrap where it works (`auto`), always "
            "(`bwrap`), never (`none`). Where `CI` is set, they run without it only by the variable "
            "`SKILLOPT_SANDBOX=none`."
        ),
    ] = "auto"
    executor: Annotated[
        Literal["auto", "sandbox", "container"],
        Field(
            description="Where a task with an image (Harbor) runs: in the sandbox where that can stand in for the "
            "image, else in a container by docker or podman (`auto`), or always in one of them."
        ),
    ] = "auto"
    prices: Annotated[
        dict[str, Price],
        Field(description="Own prices by model, in US dollars per million tokens (`input`, `output`, …)."),
    ] = {}

    seed: Annotated[int, Field(description="Seed of every draw the loop makes.", ge=0)] = 0
    confidence: Annotated[
        float, Field(description="Confidence that the gain is real which the gate asks for.", gt=0.5, lt=1)
    ] = 0.9
    accept: Annotated[
        Literal["proven", "here"],
        Field(
            description="What becomes a version by itself: what is `proven` to be better on new tasks like these, or "
            "also what was shown on these very tasks (`here`). The rest waits as a draft for `skillopt take`."
        ),
    ] = "proven"
    allow: Annotated[
        tuple[LintClass, ...],
        Field(description="Classes of text that edits may add though they are refused or need a person."),
    ] = ()
    # Caps
    max_rollouts: Annotated[
        int | None, Field(description="Cap on rollouts of a run, held-out test included.", gt=0)
    ] = None
    max_usd: Annotated[
        _Amount | None, Field(description="Cap on US dollars of a run, held-out test included.", gt=0)
    ] = None
    max_tokens: Annotated[int | None, Field(description="Cap on tokens of a run, held-out test included.", gt=0)] = None
    max_minutes: Annotated[
        _Amount | None, Field(description="Minutes that a command may take; the same command goes on.", gt=0)
    ] = None
    rollout_tokens: Annotated[
        int | None,
        Field(
            description="Most tokens of one rollout of `codex`, or of an answer of `chat/PROVIDER/MODEL`, thinking "
            "included (there 16,000 by default, and 32,000 for `openai`).",
            gt=0,
        ),
    ] = None
    gate: Annotated[
        GateRule,
        Field(
            description="`sequential`: measure incumbent and candidate side by side until it is decided, with "
            "confidence over all verdicts of the run; `paired`: on all tasks, with confidence of one look; `strict`: a "
            "greater mean than the incumbent's recorded one, as published."
        ),
    ] = GateRule.SEQUENTIAL
    patch_tests: Annotated[
        int,
        Field(
            description="Patch tests on one failure before it is given up, 12 where at least 24 tasks teach; 0 is the "
            "published loop: epochs of batches, and no test of a patch before the gate.",
            ge=0,
            le=10,
        ),
    ] = 4
    evidence: Annotated[
        Literal["lean", "full"],
        Field(
            description="Whose evidence ablation measures: that of lines in doubt, or by runs of its own that of every "
            "new line."
        ),
    ] = "lean"
    edit_budget: Annotated[
        int, Field(description="Most edits of a patch; in the published loop of a step, at the start.", ge=1)
    ] = 30
    # What can change no result
    workers: Annotated[int, Field(description="Calls made at a time; cannot change a result.", ge=1, le=256)] = 2
    ray: Annotated[
        str,
        Field(
            description="Ray cluster whose nodes do the rollouts: HOST:PORT, `auto` for one of this machine, or "
            "`local`; empty for threads of this machine. Cannot change a result."
        ),
    ] = ""
    retry_seconds: Annotated[
        float, Field(description="How long a call of an API is repeated while it fails for a passing reason.", ge=0)
    ] = 120.0
    harvest: Annotated[
        tuple[Literal["claude-code", "codex"], ...],
        Field(description="Clients whose past sessions on this machine `skillopt harvest` may read."),
    ] = ()
    nightly: Annotated[NightlySettings, Field(description="Pull requests, and what is due.")] = NightlySettings()
    agents: Annotated[dict[str, AgentTable], Field(description="Agents run by their command line, by name.")] = {}

    @property
    def scan_leaks(self) -> bool:
        """Whether edits that repeat text of verifiers or of held-out tasks are refused: not by the published loop."""
        return self.preset is not Preset.PAPER

    @property
    def capped(self) -> bool:
        """Whether a cap bounds what a run, or a command, may spend."""
        return bool(self.max_usd or self.max_tokens or self.max_rollouts or self.max_minutes)

    @property
    def targets(self) -> tuple[str, ...]:
        """Name the harnesses that do each task: one, or several of a list; none where none is chosen."""
        return tuple(filter(None, self.harness.split(",")))

    @property
    def by_target(self) -> "tuple[Settings, ...]":
        """Return the settings of each target alone; themselves where none is chosen."""
        return tuple(self.model_copy(update={"harness": one}) for one in self.targets) or (self,)

    @property
    def identity(self) -> str:
        """Return the settings that can change a result, as canonical JSON."""
        return self.model_dump_json(exclude=_CANNOT_CHANGE_A_RESULT)


PRESETS: Final[Mapping[Preset, Mapping[str, object]]] = {
    Preset.DEFAULT: {},
    # The published loop and defaults, with the slow update gated as in the paper's own checkpoints.
    Preset.PAPER: {
        "minibatch_size": 8,
        "edit_budget": 4,
        "token_budget": 0,
        "patch_tests": 0,
        "metric": Metric.HARD,
        "gate": GateRule.STRICT,
    },
}


TABLES: Final = MappingProxyType(
    {name: "" for name in Settings.model_fields if name not in {*PresetConstants.model_fields, "nightly"}}
    | dict.fromkeys(NightlySettings.model_fields, "nightly")
)
"""Setting → table of skillopt.toml, empty for the top; names are unique over all tables."""


def flatten_tables(origin: str, values: Mapping[str, object]) -> dict[str, object]:
    """Read the settings of a file, each in the table it belongs to, as names and values."""
    found: dict[str, object] = {}
    for place, name, value in _placed(origin, values):
        if name not in TABLES:
            raise SettingsError(_unknown(f"{origin} [{place}]" if place else origin, name))
        if TABLES[name] != place:
            expected = f"in [{TABLES[name]}]" if TABLES[name] else "at the top, before every [table]"
            where = f"in [{place}]" if place else "at the top"
            raise SettingsError(f"{origin}: expected {name} {expected}, found it {where}")
        found[name] = value
    return found


def read_setting(name: str, text: str) -> object:
    """Read the value of a setting where it is one text: values of a list stand apart by commas.

    >>> read_setting("allow", "url,program"), read_setting("seed", "3")
    (('url', 'program'), '3')
    """
    table = NightlySettings if TABLES.get(name) else Settings
    field = table.model_fields.get(name)
    is_list = field is not None and get_origin(field.annotation) is tuple
    return tuple(filter(None, (one.strip() for one in text.split(",")))) if is_list else text


def make_settings(*layers: tuple[str, Mapping[str, object]]) -> Settings:
    """Build settings from layers, later ones winning, over the preset that the last layer names."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for name, value in layer.items():
            if name not in TABLES:
                raise SettingsError(_unknown(origin, name))
            values[name], origins[name] = value, origin
    preset = values.get("preset", Preset.DEFAULT)
    known = {member.value: chosen for member, chosen in PRESETS.items()}
    top, nightly = ({name: values[name] for name in values if bool(TABLES[name]) is inner} for inner in (False, True))
    try:
        return Settings.model_validate({**known.get(str(preset), {}), **top, "nightly": nightly})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = next(str(part) for part in first["loc"] if str(part) in TABLES)
        wrong = describe_mistake(first)
        if first["type"] == "greater_than" and first["ctx"] == {"gt": 0}:  # caps, where 0 could be taken for no cap
            wrong += "; leave it out for no cap"
        raise SettingsError(f"{origins.get(key, 'defaults')}: {key}: {wrong}") from error


def _placed(origin: str, values: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Yield (table, name, value); the top has no name."""
    for key, value in values.items():
        if key not in TABLES.values():
            yield "", key, value
        elif isinstance(value, Mapping):
            yield from ((key, name, inner) for name, inner in value.items())
        else:
            names = ", ".join(name for name, table in TABLES.items() if table == key)
            raise SettingsError(
                f"{origin}: expected the table [{key}], found {key} = {value!r}; write [{key}] on a line of its own "
                f"and below it one of its settings: {names}"
            )


def _unknown(origin: str, name: str) -> str:
    near = get_close_matches(name, [*TABLES, "skills"], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(TABLES)}"
    return f"{origin}: unknown setting {name!r}; {hint}"
