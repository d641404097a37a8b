"""Settings come in layers, and a mistake names where it stands."""

import pytest

from skillopt.agent_table import AgentTable
from skillopt.errors import SettingsError
from skillopt.safety.text_classes import LintClass
from skillopt.settings import (
    PRESETS,
    TABLES,
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
    settings = make_settings(("file", {"preset": "paper", "edit_budget": 3, "seed": 1}), ("flags", {"seed": "2"}))
    assert (settings.preset, settings.edit_budget, settings.seed) == (Preset.PAPER, 3, 2)
    assert settings.gate is GateRule.STRICT


def test_the_paper_preset_is_the_published_one() -> None:
    paper = make_settings(("flags", {"preset": "paper"}))
    assert (paper.epochs, paper.batch_size, paper.minibatch_size) == (4, 40, 8)
    assert (paper.edit_budget, paper.min_edits) == (4, 2)
    assert (paper.metric, paper.gate, paper.slow_tasks) == (Metric.HARD, GateRule.STRICT, 20)


def test_every_preset_makes_valid_settings() -> None:
    assert all(make_settings(("flags", {"preset": preset.value})).preset is preset for preset in PRESETS)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"sed": 3}, "skillopt.toml: unknown setting 'sed'; did you mean 'seed'?"),
        ({"xyzzy": 3}, "known settings: .*preset"),
        ({"edit_budget": 0}, "skillopt.toml: edit_budget: .* found 0"),
        ({"preset": "papyrus"}, "skillopt.toml: preset"),
        ({"allow": ["everything"]}, "skillopt.toml: allow"),
        ({"confidence": "high"}, "found 'high'"),
        ({"epochs": 3}, "skillopt.toml: unknown setting 'epochs'"),
        ({"workers": 0}, "skillopt.toml: workers: .* found 0"),
        *(
            ({name: cap}, f"skillopt.toml: {name}: expected a number above 0, found {cap}; leave it out for no cap$")
            for name in ("max_rollouts", "max_usd", "max_tokens", "max_minutes")
            for cap in (0, -1)
        ),
        ({"rollout_tokens": 0}, "above 0, found 0; leave it out for no cap"),
    ],
)
def test_a_mistake_names_the_layer_the_setting_and_what_was_found(values: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        make_settings(("skillopt.toml", values))


def test_text_from_environment_and_flags_becomes_the_right_type() -> None:
    settings = make_settings(("environment", {"seed": "7", "allow": ("url",)}))
    assert (settings.seed, settings.allow) == (7, (LintClass.URL,))


def test_a_file_has_each_setting_in_its_table() -> None:
    tables = {"workers": 9, "nightly": {"forge": "github"}}
    settings = make_settings(("skillopt.toml", flatten_tables("skillopt.toml", tables)))
    assert (settings.workers, settings.nightly.forge) == (9, "github")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"forge": "none"}, r"skillopt.toml: expected forge in \[nightly\], found it at the top"),
        ({"nightly": {"seed": 4}}, r"expected seed at the top, before every \[table\], found it in \[nightly\]"),
        ({"nightly": {"fork": 4}}, r"\[nightly\]: unknown setting 'fork'; did you mean 'forge'"),
        ({"nightly": 4}, r"found nightly = 4; write \[nightly\] on a line .* its settings: forge, remote"),
    ],
)
def test_a_setting_in_the_wrong_table_is_told_its_place(values: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        flatten_tables("skillopt.toml", values)


def test_a_user_has_few_settings_and_no_name_stands_in_two_tables() -> None:
    top = set(Settings.model_fields) - set(PresetConstants.model_fields) - {"nightly"}
    assert len(TABLES) == len(top) + len(NightlySettings.model_fields)
    assert len(Settings.model_fields) + len(NightlySettings.model_fields) + len(AgentTable.model_fields) <= 48


def test_what_cannot_change_a_result_does_not_count_for_the_identity() -> None:
    plain = make_settings()
    harmless = {"workers": 9, "retry_seconds": 1, "max_minutes": 5, "forge": "github", "ray": "auto"}
    assert all(make_settings(("flags", {key: value})).identity == plain.identity for key, value in harmless.items())
    others = {"edit_budget": 9, "seed": 9, "confidence": 0.99, "model": "other"}
    assert all(make_settings(("flags", {key: value})).identity != plain.identity for key, value in others.items())


def test_every_setting_is_described() -> None:
    for model in (Settings, NightlySettings):
        own = {name: field for name, field in model.model_fields.items() if name not in PresetConstants.model_fields}
        assert all(field.description for field in own.values())


def test_a_list_in_one_text_stands_apart_by_commas_wherever_the_setting_is() -> None:
    assert read_setting("allow", "url, program,") == ("url", "program")
    assert read_setting("harvest", "codex") == ("codex",)
    assert [read_setting(name, "a,b") for name in ("model", "patch_tests", "unknown")] == ["a,b"] * 3
