"""An explanation leaves none of the clusters behind that it has simulated."""

from __future__ import annotations

import gc

from tests.support.plans import DEFAULT_POLICY, NOW, REGISTRY, manifests, mirror
from vsched.explain.explaining import explain
from vsched.explain.simulation import never
from vsched.framework.cycle import run_cycle
from vsched.mirror.whatif.editor import ClusterEditor

TEXT = """
    node n1 cpu=4
    job x/runs min=1 phase=Running
    pods x/runs 2 cpu=1 on=n1 vsched.io/expected-duration=1h
    job x/waits min=3 phase=Inqueue pods=3 cpu=1
"""


def test_the_clusters_that_were_simulated_are_gone() -> None:
    snapshot = mirror(manifests(TEXT)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    gc.collect()
    gc.disable()
    try:
        found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "x", "waits", foreseen=never)
        assert found is not None
        assert found.changes
        assert found.start is not None
        assert not any(isinstance(one, ClusterEditor) for one in gc.get_objects())
    finally:
        gc.enable()
