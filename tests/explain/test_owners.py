"""What is told of gangs that follow from their owners can be carried out there, and is enough."""

from __future__ import annotations

import pytest

from tests.support.operators import Obj, Seen, made_of, sample
from tests.support.plans import DEFAULT_POLICY
from tests.support.running import node
from vsched.explain.explaining import explain
from vsched.framework.cycle import run_cycle
from vsched.settings.built_in import REGISTRY

MINIMUM = "scheduling.volcano.sh/group-min-member"


def of_one_replica() -> Obj:
    found = sample("leaderworkerset")
    found["spec"]["replicas"] = 1
    return found


@pytest.mark.parametrize(
    ("obj", "called"),
    [
        pytest.param(of_one_replica(), "LeaderWorkerSet default/llm", id="a LeaderWorkerSet"),
        pytest.param(sample("pytorchjob"), "PyTorchJob default/bert", id="a PyTorchJob"),
    ],
)
def test_the_annotation_that_is_told_starts_a_gang(obj: Obj, called: str) -> None:
    seen = Seen()
    pods = made_of(obj)
    seen.tell(obj, *pods, node("n1", cpu="2"))
    snapshot = seen.cache.snapshot(0.0)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    assert not report.binds
    (key,) = snapshot.jobs
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, *key.split("/"))
    assert found is not None
    told = next(one.message for one in found.changes if MINIMUM in one.message)
    minimum = told.partition(": ")[2].partition(" ")[0]
    assert told.startswith(f"annotation {MINIMUM}: {minimum} on {called} (")

    for count, starts in ((int(minimum), True), (int(minimum) + 1, False)):
        obj["metadata"]["annotations"] = {MINIMUM: str(count)}
        seen.tell(obj)
        assert bool(run_cycle(seen.cache.snapshot(0.0), DEFAULT_POLICY, REGISTRY).binds) is starts
