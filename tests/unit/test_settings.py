"""Settings come in layers, and a mistake names where it stands."""

import pytest

from skillopt.errors import SettingsError
from skillopt.safety.text_classes import LintClass
from skillopt.settings import (
    PRESETS,
    TABLES,
    ExecutorSettings,
    GateRule,
    Metric,
    NightlySettings,
    Preset,
    PresetConstants,
    Settings,
    flatten_tables,
    make_settings,
    read_setting,
)


def test_later_layers_win_over_earlier_ones_and_all_win_over_the_preset() -> None:
    settings = make_settings(("file", {"preset": "paper", "epochs": 3, "seed": 1}), ("flags", {"seed": "2"}))
    assert (settings.preset, settings.epochs, settings.seed) == (Preset.PAPER, 3, 2)
    assert settings.gate is GateRule.STRICT


def test_the_paper_preset_is_the_published_one() -> None:
    paper = make_settings(("flags", {"preset": "paper"}))
    assert (paper.epochs, paper.batch_size, paper.minibatch_size) == (4, 40, 8)
    assert (paper.edit_budget, paper.min_edits) == (4, 2)
    assert (paper.metric, paper.gate, paper.slow_tasks, paper.patience) == (Metric.HARD, GateRule.STRICT, 20, 0)


def test_every_preset_makes_valid_settings() -> None:
    assert all(make_settings(("flags", {"preset": preset.value})).preset is preset for preset in PRESETS)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"epoch": 3}, "skillopt.toml: unknown setting 'epoch'; did you mean 'epochs'?"),
        ({"xyzzy": 3}, "known settings: .*preset"),
        ({"epochs": 0}, "skillopt.toml: epochs: .* found 0"),
        ({"gate": "loose"}, "skillopt.toml: gate: .* found 'loose'"),
        ({"preset": "papyrus"}, "skillopt.toml: preset"),
        ({"allow": ["everything"]}, "skillopt.toml: allow"),
        ({"confidence": "high"}, "found 'high'"),
        ({"patience": 3}, "skillopt.toml: unknown setting 'patience'"),
        ({"workers": 0}, "skillopt.toml: workers: .* found 0"),
        *(
            ({name: cap}, f"skillopt.toml: {name}: expected a number above 0, found {cap}; leave it out for no cap$")
            for name in ("max_rollouts", "max_calls", "max_usd", "max_tokens", "max_minutes", "rollout_usd")
            for cap in (0, -1)
        ),
        ({"rollout_tokens": 0}, "above 0, found 0; leave it out for no cap"),
        ({"monthly_usd": 0}, "above 0, found 0; leave it out for no cap"),
        ({"most_open": 0}, "above 0, found 0; leave it out for no cap"),
    ],
)
def test_a_mistake_names_the_layer_the_setting_and_what_was_found(values: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        make_settings(("skillopt.toml", values))


def test_text_from_environment_and_flags_becomes_the_right_type() -> None:
    settings = make_settings(("environment", {"epochs": "7", "scan_leaks": "false", "allow": ("url",)}))
    assert (settings.epochs, settings.scan_leaks, settings.allow) == (7, False, (LintClass.URL,))


def test_a_file_has_each_setting_in_its_table() -> None:
    tables = {"epochs": 3, "advanced": {"patch_tests": 4}, "executor": {"workers": 9}, "nightly": {"forge": "github"}}
    settings = make_settings(("skillopt.toml", flatten_tables("skillopt.toml", tables)))
    assert (settings.epochs, settings.patch_tests) == (3, 4)
    assert (settings.executor.workers, settings.nightly.forge) == (9, "github")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"patch_tests": 4}, r"skillopt.toml: expected patch_tests in \[advanced\], found it at the top"),
        ({"advanced": {"epochs": 4}}, r"expected epochs at the top, before every \[table\], found it in \[advanced\]"),
        ({"nightly": {"workers": 4}}, r"expected workers in \[executor\], found it in \[nightly\]"),
        (
            {"advanced": {"patchtests": 4}},
            r"\[advanced\]: unknown setting 'patchtests'; did you mean 'patch_tests'",
        ),
        ({"advanced": 4}, r"expected the table \[advanced\], found advanced = 4"),
        (
            {"executor": "ray"},
            r"found executor = 'ray'; write \[executor\] on a line .* its settings: workers, run_on,",
        ),
    ],
)
def test_a_setting_in_the_wrong_table_is_told_its_place(values: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        flatten_tables("skillopt.toml", values)


def test_a_run_has_few_settings_and_no_name_stands_in_two_tables() -> None:
    own = (ExecutorSettings, NightlySettings)
    top = set(Settings.model_fields) - set(PresetConstants.model_fields) - {"executor", "nightly"}
    assert len(top) <= 30
    assert len(TABLES) == len(top) + sum(len(table.model_fields) for table in own)


def test_what_cannot_change_a_result_does_not_count_for_the_identity() -> None:
    plain = make_settings()
    harmless = {"workers": 9, "retry_seconds": 1, "max_minutes": 5, "forge": "github", "due_days": 1}
    assert all(make_settings(("flags", {key: value})).digest == plain.digest for key, value in harmless.items())
    others = {"epochs": 9, "seed": 9, "confidence": 0.99, "model": "other", "temperature": "0"}
    assert all(make_settings(("flags", {key: value})).digest != plain.digest for key, value in others.items())


def test_every_setting_is_described() -> None:
    for model in (Settings, ExecutorSettings, NightlySettings):
        own = {name: field for name, field in model.model_fields.items() if name not in PresetConstants.model_fields}
        assert all(field.description for field in own.values())


def test_a_list_in_one_text_stands_apart_by_commas_wherever_the_setting_is() -> None:
    assert read_setting("labels", "skills, bot,") == ("skills", "bot")
    assert read_setting("allow", "url") == ("url",)
    assert [read_setting(name, "a,b") for name in ("model", "patch_tests", "unknown")] == ["a,b"] * 3
