"""Putting the drivers of a run together from names."""

import re
import sys
from pathlib import Path

import pytest

from skillopt.errors import SettingsError
from skillopt.protocols import Harness
from skillopt.settings import Settings, SkillMode
from skillopt.targets.drivers import HARNESSES, MODELS, find_harness_driver, find_model_driver, load_harness, load_model

SETTINGS = Settings(base_url="http://127.0.0.1:1/v1")


def harness(name: str, settings: Settings = SETTINGS) -> Harness:
    chosen = settings.model_copy(update={"harness": name})
    return load_harness(chosen, Path(), Path("handoff"))


@pytest.mark.parametrize("name", HARNESSES)
def test_every_harness_can_be_loaded(name: str) -> None:
    assert callable(harness(f"{name}/openai/gpt-5.5" if name == "chat" else name).run)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_loaded(name: str) -> None:
    assert callable(load_model(f"{name}/some" if "model" in MODELS[name].takes else name, SETTINGS).reply)


def test_a_harness_takes_a_model_only_if_it_has_some() -> None:
    discovery = SETTINGS.model_copy(update={"skill_mode": SkillMode.DISCOVERY})
    assert harness("claude-code/some-model", discovery) != harness("claude-code/some-model")
    with pytest.raises(SettingsError, match="leave out '/large'"):
        harness("demo/large")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-5", "'openai/gpt-5'"),
        ("claude", "'claude-code'"),
    ],
)
def test_a_model_without_its_provider_is_refused_with_what_a_whole_name_is(name: str, meant: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(meant)):
        load_model(name, SETTINGS)


def test_a_model_in_place_of_a_harness_is_refused_with_the_harness_that_asks_it() -> None:
    with pytest.raises(SettingsError, match=re.escape("'chat/openai/gpt-5'")):
        harness("openai/gpt-5")


def test_without_a_clone_the_demo_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks", None)
    with pytest.raises(SettingsError, match="clone of the repository"):
        find_harness_driver("demo", {})
    with pytest.raises(SettingsError, match="clone of the repository"):
        find_model_driver("demo")
