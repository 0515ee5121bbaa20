"""A cluster that was simulated leaves nothing behind that only a collection of garbage would find."""

from __future__ import annotations

import gc
import weakref

from tests.support.plans import NOW, manifests, mirror
from vsched.explain.edits.nodes import AddNodes
from vsched.mirror.whatif.editor import ClusterEditor

TEXT = """
    node n1 cpu=4
    job x/a min=1 phase=Running
    pods x/a 2 cpu=1 on=n1
    job x/b min=3 phase=Inqueue pods=3 cpu=2
"""


def test_all_of_it_goes_at_once() -> None:
    snapshot = mirror(manifests(TEXT)).snapshot(NOW)
    gc.collect()
    gc.disable()
    try:
        cluster = ClusterEditor(snapshot)
        cluster.edited((AddNodes(count=1, like="n1"),))
        gone = weakref.ref(cluster)
        cluster.let_go()
        del cluster
        assert gone() is None
    finally:
        gc.enable()
    assert len(snapshot.jobs) == 2
