"""A node that would do another experiment is refused by its name."""

from dataclasses import replace

import pytest

from skillopt.execution.ray_cluster import NodeFacts, compare_nodes

HERE = NodeFacts("head", "3.11.9", "0.1.0", "claude-code 2.1.0")


def test_nodes_that_have_the_same_are_taken() -> None:
    assert not compare_nodes(HERE, [HERE, replace(HERE, host="n2")])


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (replace(HERE, host="n2", skillopt="0.0.9"), "node n2: expected skillopt 0.1.0 as here, found 0.0.9; install"),
        (replace(HERE, host="n2", python="3.12.1"), "node n2: expected Python 3.11.9 as here, found 3.12.1"),
        (
            replace(HERE, host="n2", identity="", trouble="claude is missing"),
            "node n2 cannot run the target: claude is",
        ),
        (replace(HERE, host="n2", identity="claude-code 2.0.0"), "found 'claude-code 2.0.0'; install the same version"),
        (
            replace(HERE, host="n2", access="expected a key in KEY, found none; set it"),
            "node n2: expected a key in KEY",
        ),
        (replace(HERE, host="n2", sandbox="no sandbox: bwrap is missing"), "node n2 has no sandbox: bwrap is missing"),
    ],
)
def test_a_node_that_differs_is_named_with_what_to_do(node: NodeFacts, said: str) -> None:
    assert said in compare_nodes(HERE, [HERE, node])


def test_what_is_missing_here_too_is_no_difference() -> None:
    here = replace(HERE, access="logged in by other means", sandbox="no sandbox")
    assert not compare_nodes(here, [replace(here, host="n2")])


def test_a_cluster_without_nodes_is_refused() -> None:
    assert "found none" in compare_nodes(HERE, [])
