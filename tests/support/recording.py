"""Recordings of cycles on small clusters that are written in a few lines of text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.support.plans import NOW, manifests, mirror, reading
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.dump.cycle import Recording
from vsched.model.snapshot import Snapshot
from vsched.settings import load_file
from vsched.settings.built_in import REGISTRY
from vsched.settings.document import policy_text

POLICIES = sorted(Path(__file__).parents[2].joinpath("config", "policies").glob("*.yaml"))


@cache
def policy_at(path: Path) -> Policy:
    """The policy of a file."""
    return load_file(path, REGISTRY).policy


def snapshot_of(text: str, *, arbitrating: bool = False) -> Snapshot:
    """What a cycle sees of the cluster that the text describes, some time after the cycle before."""
    cache = mirror(manifests(text), arbitrating=arbitrating)
    cache.inputs.use(reading(text))
    cache.snapshot(NOW - 1.0)
    return cache.snapshot(NOW)


def recorded(text: str, policy: Policy) -> Recording:
    """One cycle on that cluster."""
    snapshot = snapshot_of(text)
    return Recording(snapshot, policy_text(policy), run_cycle(snapshot, policy, REGISTRY))
