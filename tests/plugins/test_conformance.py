"""conformance: the cluster's own pods are nobody's victims."""

from __future__ import annotations

import pytest

from tests.support.small import SmallCluster
from vsched.framework.points.extension import NoArgs
from vsched.framework.points.victims import Purpose
from vsched.model.pods.status import Status
from vsched.plugins.conformance import Conformance


@pytest.mark.parametrize(
    ("namespace", "priority_class", "is_victim"),
    [
        pytest.param("ns", "", True, id="an ordinary pod"),
        pytest.param("ns", "high", True, id="a pod of an ordinary class"),
        pytest.param("ns", "system-cluster-critical", False, id="a pod that is critical for the cluster"),
        pytest.param("ns", "system-node-critical", False, id="a pod that is critical for its node"),
        pytest.param("kube-system", "", False, id="any pod of the system namespace"),
    ],
)
def test_who_can_be_a_victim(namespace: str, priority_class: str, is_victim: bool) -> None:
    cluster = SmallCluster().node("n1")
    evictor = cluster.task(cluster.job("a", 0), "evictor", cluster.shape())
    job = cluster.job("b", 0, namespace=namespace)
    victim = cluster.task(job, "v", cluster.shape(), Status.RUNNING, "n1", priority_class=priority_class)
    plugin = cluster.opened(Conformance(NoArgs()))

    for purpose in Purpose:
        votes = plugin.victim_votes(evictor, purpose)
        assert [found is victim for found in votes.agreed([victim]) or ()] == [True] * is_victim
        assert votes.rules_out(job) is (namespace == "kube-system")
