"""What ``vsched usage`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

PLAN_NEEDS_FIGURES = "-o plan: needs the figures of the source (expected --config POLICY)"


# -- the source --------------------------------------------------------------------------------------------------------


def no_source(policy: str) -> str:
    return f"{policy}: has no source of node usage (metrics.type, metrics.address)"


# -- the table ---------------------------------------------------------------------------------------------------------


def nodes_shown(shown: int, total: int) -> str:
    return f"{shown:,} of {total:,} nodes (unusual ones and a sample)"


def of_each_node(nodes: str, known: int) -> str:
    return f"{nodes}; percent of each node allocated; usage known of {known}"


# -- what the source says ----------------------------------------------------------------------------------------------

NO_CLUSTER = "no cluster to compare with (--kubeconfig FILE): these are the source's own figures"


def closed_above(limits: str) -> str:
    return f"closed to new pods above {limits}"


def no_such_nodes(names: str, more: str) -> str:
    return f"it has figures for what is no node: {names}{more}"


def ahead(number: int) -> str:
    return f"{number} nodes are left out: their samples are from the future, a clock is wrong"


def ages(newest: float, oldest: float) -> str:
    return f"  newest samples: {newest:.0f} to {oldest:.0f} s old"


NO_SAMPLES = "  newest samples: none"
