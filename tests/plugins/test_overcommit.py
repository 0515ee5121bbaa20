"""overcommit: how much may be promised, and what counts as promised."""

from __future__ import annotations

import pytest

from tests.support.small import GIB, SmallCluster
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import Vote
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.resources import CPU, MEMORY, Amounts
from vsched.model.pods.status import Phase
from vsched.plugins.overcommit import Overcommit, OvercommitArgs
from vsched.plugins.words.queues import beyond_cluster


def asks(cluster: SmallCluster, wanted: Amounts | None, factor: float = 1.2) -> Vote | Refusal:
    job = cluster.job("new", 0, min_resources=wanted, phase=Phase.PENDING)
    return cluster.opened(Overcommit(OvercommitArgs(factor))).job_enqueueable(JobView(job))


@pytest.mark.parametrize(
    ("cpu", "factor", "admitted"),
    [
        pytest.param(12_000, 1.2, True, id="up to the factor"),
        pytest.param(12_001, 1.2, False, id="not beyond it"),
        pytest.param(20_000, 2.0, True, id="a larger factor promises more"),
        pytest.param(12_000, 0.5, True, id="a factor below one is not taken"),
        pytest.param(12_001, 0.5, False, id="the default takes its place"),
    ],
)
def test_an_empty_cluster_of_ten_cores_admits(cpu: int, factor: float, admitted: bool) -> None:
    answer = asks(SmallCluster().node("n1", cpu=10_000), ((CPU, cpu),), factor)

    assert (answer is Vote.PERMIT) is admitted


def test_a_job_that_states_no_minimum_is_admitted() -> None:
    assert asks(SmallCluster().node("n1", cpu=1), None) is Vote.PERMIT


def test_a_refusal_names_what_is_short() -> None:
    answer = asks(SmallCluster().node("n1", cpu=1000, memory=GIB), ((CPU, 9000), (MEMORY, 9 * GIB)))

    assert isinstance(answer, Refusal)
    assert answer.message == beyond_cluster(answer.shortages)
    assert (answer.reason, answer.code) == ("ClusterTooSmall", Code.RESOURCES)
    assert answer.shortages[0] == Shortage("cpu", held=0, asked=9000, limit=1000)


@pytest.mark.parametrize(
    ("phase", "minimum", "left"),
    [
        pytest.param(Phase.INQUEUE, 2, 12_000 - 2000 - 4000, id="an admitted job counts whole, whatever it holds"),
        pytest.param(Phase.RUNNING, 2, 12_000 - 2000 - 2000, id="a running gang counts what it still lacks"),
        pytest.param(Phase.RUNNING, 3, 12_000 - 2000, id="a gang below its minimum is promised nothing"),
        pytest.param(Phase.PENDING, 2, 12_000 - 2000, id="nor is one that waits to enter"),
    ],
)
def test_what_a_job_that_holds_two_of_its_four_cores_leaves(phase: str, minimum: int, left: int) -> None:
    def cluster() -> SmallCluster:
        made = SmallCluster().node("n1", cpu=10_000)
        made.running("old", 2, phase=phase, min_member=minimum, min_resources=((CPU, 4000),))
        return made

    assert asks(cluster(), ((CPU, left),)) is Vote.PERMIT
    assert asks(cluster(), ((CPU, left + 1),)) is not Vote.PERMIT


def test_who_is_admitted_counts_from_then_on() -> None:
    cluster = SmallCluster().node("n1", cpu=10_000)
    first, second = (
        JobView(cluster.job(name, 0, min_resources=((CPU, 7000),), phase=Phase.PENDING)) for name in ("a", "b")
    )
    plugin = cluster.opened(Overcommit(OvercommitArgs()))

    assert plugin.job_enqueueable(second) is Vote.PERMIT
    plugin.job_enqueued(first)
    assert isinstance(plugin.job_enqueueable(second), Refusal)
