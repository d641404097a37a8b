"""Prices: what is known, what the user overrides, and what nobody knows."""

import pytest

from skillopt.settings import Price
from skillopt.targets.prices import PRICES, cost_of, find_price


def test_a_user_price_comes_before_the_table_and_names_models_that_it_lacks() -> None:
    own = {"claude-haiku-4-5": Price(input=9, output=9), "local": Price(input=0, output=0)}
    assert find_price("claude-haiku-4-5-20251001", own) == own["claude-haiku-4-5"]
    assert cost_of(find_price("local", own), 10, 10) == 0.0
    assert find_price("local", {}) is None
    assert cost_of(None, 1, 1) is None


def test_a_long_prompt_costs_more() -> None:
    price = PRICES["gpt-5.5"]
    assert cost_of(price, 272_000, 0) == pytest.approx(1.36)
    assert cost_of(price, 272_001, 0) == pytest.approx(2.72001)
