"""Settings come in layers, and a mistake names where it stands."""

import pytest

from skillopt.errors import SettingsError
from skillopt.presets import PRESETS, make_settings
from skillopt.safety.lint import LintClass
from skillopt.settings import GateRule, Metric, Preset, Schedule, Settings


def test_later_layers_win_over_earlier_ones_and_all_win_over_the_preset() -> None:
    settings = make_settings(("file", {"preset": "paper", "epochs": 3, "seed": 1}), ("flags", {"seed": "2"}))
    assert (settings.preset, settings.epochs, settings.seed) == (Preset.PAPER, 3, 2)
    assert settings.gate is GateRule.STRICT


def test_the_paper_preset_is_the_published_one() -> None:
    paper = make_settings(("flags", {"preset": "paper"}))
    assert (paper.epochs, paper.batch_size, paper.minibatch_size, paper.merge_size) == (4, 40, 8, 8)
    assert (paper.edit_budget, paper.min_edits, paper.schedule) == (4, 2, Schedule.COSINE)
    assert (paper.metric, paper.gate, paper.slow_tasks, paper.patience) == (Metric.HARD, GateRule.STRICT, 20, 0)


def test_every_preset_makes_valid_settings() -> None:
    assert all(make_settings(("flags", {"preset": preset.value})).preset is preset for preset in PRESETS)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"epoch": 3}, "skillopt.toml: unknown setting 'epoch'; did you mean 'epochs'?"),
        ({"xyzzy": 3}, "known settings: preset"),
        ({"epochs": 0}, "skillopt.toml: epochs: .* found 0"),
        ({"gate": "loose"}, "skillopt.toml: gate: .* found 'loose'"),
        ({"preset": "papyrus"}, "skillopt.toml: preset"),
        ({"allow": ["everything"]}, "skillopt.toml: allow"),
        ({"confidence": "high"}, "found 'high'"),
        ({"min_edits": 99}, "min_edits ≤ edit_budget"),
    ],
)
def test_a_mistake_names_the_layer_the_setting_and_what_was_found(values: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        make_settings(("skillopt.toml", values))


def test_text_from_environment_and_flags_becomes_the_right_type() -> None:
    settings = make_settings(("environment", {"epochs": "7", "meta_update": "false", "allow": ("url",)}))
    assert (settings.epochs, settings.meta_update, settings.allow) == (7, False, (LintClass.URL,))


def test_workers_are_the_only_setting_that_does_not_count_for_the_identity() -> None:
    plain = make_settings()
    assert make_settings(("flags", {"workers": 9})).digest == plain.digest
    others = {"epochs": 9, "seed": 9, "confidence": 0.99, "model": "other"}
    assert all(make_settings(("flags", {key: value})).digest != plain.digest for key, value in others.items())


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())
