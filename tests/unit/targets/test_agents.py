"""The table of agents names parts that are there."""

import pytest

from skillopt.targets.agents import AGENTS, load_part
from skillopt.targets.harnesses import HARNESSES
from skillopt.targets.models import MODELS


@pytest.mark.parametrize("name", AGENTS)
def test_every_part_of_an_agent_is_where_the_table_says(name: str) -> None:
    agent = AGENTS[name]

    assert all(callable(load_part(path)) for path in (agent.harness, agent.model, agent.login))


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_a_harness_and_a_model_of_its_name(name: str) -> None:
    assert HARNESSES[name].path == AGENTS[name].harness
    assert MODELS[name].path == AGENTS[name].model
