"""Comparing the machines of a cluster with this one before anything is paid."""

from collections.abc import Sequence

from skillopt.execution.ray_worker import NodeFacts

__all__ = ["compare_nodes"]


def compare_nodes(here: NodeFacts, nodes: Sequence[NodeFacts]) -> str:
    """Return what keeps nodes from doing the rollouts of this machine's target, a line each; empty for nothing."""
    troubles = dict.fromkeys(filter(None, (_trouble(here, node) for node in nodes)))
    if not nodes:
        return "expected a Ray cluster with nodes, found none; start one with `ray start`"
    return "\n".join(troubles)


def _trouble(here: NodeFacts, node: NodeFacts) -> str:
    for what, own, found in (
        ("skillopt", here.skillopt, node.skillopt),
        ("Python", here.python, node.python),
    ):
        if found and own != found:
            return f"node {node.host}: expected {what} {own} as here, found {found}; install that version there"
    if node.trouble:
        return f"node {node.host} cannot run the target: {node.trouble}"
    if node.identity != here.identity:
        return (
            f"node {node.host}: expected the target {here.identity!r} as here, found {node.identity!r}; install the "
            "same version of its program there"
        )
    if node.access and not here.access:
        return f"node {node.host}: {node.access}; set it there before `ray start`"
    if node.sandbox and not here.sandbox:
        return f'node {node.host} has {node.sandbox}; install bubblewrap there, or set sandbox = "none"'
    return ""
