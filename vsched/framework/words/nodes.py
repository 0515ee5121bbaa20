"""Why nodes are out of the question for a pod: kube-scheduler's words, which people look for, and ours in sentences."""

from __future__ import annotations

BEGINNING = "node(s) "
CORDONED = f"{BEGINNING}were unschedulable"
TAINTED = f"{BEGINNING}had untolerated taint "
NOT_SELECTED = f"{BEGINNING}didn't match Pod's node affinity/selector"
NO_PORTS = f"{BEGINNING}didn't have free ports for the requested pod ports"
NO_AFFINITY = f"{BEGINNING}didn't match pod affinity rules"
ANTI_AFFINITY = f"{BEGINNING}didn't match pod anti-affinity rules"
REPELLED = f"{BEGINNING}didn't satisfy existing pods anti-affinity rules"
SKEWED = f"{BEGINNING}didn't match pod topology spread constraints"
NO_TOPOLOGY = f"{SKEWED} (missing required label)"


def tainted(key: str, value: str) -> str:
    """A taint that the pod does not tolerate."""
    return f"{TAINTED}{{{key}: {value}}}"
