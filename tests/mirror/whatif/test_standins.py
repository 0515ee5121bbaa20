"""Stand-ins take together what the pods took that they stand for."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mirror.whatif.test_restoring import cache_of
from tests.support import clusters
from tests.support.plans import NOW
from vsched.mirror.whatif.standins import occupants, rests
from vsched.model.frozen import freeze
from vsched.model.resources import CPU, PODS
from vsched.model.shape import ShapeTable
from vsched.model.status import HOLDS, Status

FOREIGN = """
node n1 cpu=8
pods x/ours 2 cpu=1 on=n1
job x/ours min=1
"""


def test_where_every_pod_is_known_nobody_has_to_stand_in() -> None:
    assert rests(freeze(cache_of(FOREIGN).snapshot(NOW))) == {}


@settings(max_examples=25)
@given(clusters.contended(), st.integers(1, 3))
def test_there_are_as_many_as_there_were_pods_and_each_has_a_slot(text: str, seed: int) -> None:
    snapshot = freeze(cache_of(text, seed).snapshot(NOW))
    table = ShapeTable()
    for node, rest in rests(snapshot).items():
        row, count = snapshot.nodes.statics.row[node], rest.labels.total()
        found = list(occupants(node, rest, table))
        assert len(found) == count
        assert len({task.uid for task in found}) == count
        assert all((PODS, 1) in task.shape.request for task in found)
        assert all(task.job == "" and task.node == node for task in found)
        known = [task for job in snapshot.jobs.values() for task in job.tasks.values() if task.node == node]
        everyone = [task for task in (*found, *known) if HOLDS[task.status].uses]
        used = sum(dict(task.shape.request).get(CPU, 0) for task in everyone)
        assert used == snapshot.nodes.allocatable[CPU, row] - snapshot.nodes.idle[CPU, row]


def test_those_that_leave_are_leaving_still() -> None:
    cache = cache_of("node n1 cpu=8\npods x/a 1 cpu=2 on=n1 leaving\npods x/a 2 cpu=1 on=n1", 3)
    snapshot = freeze(cache.snapshot(NOW))
    [(node, rest)] = rests(snapshot).items()
    found = list(occupants(node, rest, ShapeTable()))
    leaving = [task for task in found if task.status is Status.RELEASING]
    assert sum(dict(task.shape.request)[CPU] for task in leaving) == snapshot.nodes.releasing[CPU, 0] - sum(
        dict(task.shape.request)[CPU]
        for job in snapshot.strays.values()
        for task in job.tasks.values()
        if task.status is Status.RELEASING
    )
