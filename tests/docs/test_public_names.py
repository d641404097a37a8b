"""Every module says what it offers, and offers what it says."""

import importlib
import pkgutil

import pytest

import skillopt
import skillopt_mcp

PACKAGES = (skillopt, skillopt_mcp)
FOUND = (
    found.name for package in PACKAGES for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)
MODULES = sorted(name for name in FOUND if not name.endswith(".__main__"))


@pytest.mark.parametrize("name", MODULES)
def test_all_lists_names_that_exist_once_each(name: str) -> None:
    module = importlib.import_module(name)
    # A package that only groups modules has none; tools/check_house_rules.py asks the others for it.
    public = getattr(module, "__all__", [])

    assert [missing for missing in public if not hasattr(module, missing)] == []
    assert len(public) == len(set(public))
