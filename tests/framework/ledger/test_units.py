"""What leaves with a task: all of its job where that leaves as a whole, on every way to evict it."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.plans import NOW, manifests, mirror, policy_of
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.jobs.native import NativeGroup
from vsched.model.pods.status import Status
from vsched.settings.built_in import REGISTRY

CAUSE = EvictionCause("test", "")
NODES = "node n1 cpu=4\nnode n2 cpu=4\n"
SPREAD = "job x/g min=1 phase=Running\npods x/g 2 cpu=1 on=n1\npods x/g 1 cpu=1 on=n2 named=far\n"


def evicted(text: str, *names: str, whole: bool) -> list[str]:
    """Who leaves where a statement evicts these pods of x/g one after the other, in order."""
    snapshot = mirror(manifests(NODES + text)).snapshot(NOW)
    job = snapshot.jobs["x/g"]
    job.spec = msgspec.structs.replace(job.spec, native=NativeGroup(whole=whole))
    session = Session(snapshot, policy_of("gang", "predicates"), REGISTRY, Trace())
    view = session.view("x/g")
    assert view is not None
    with session.statement() as statement:
        for name in names:
            task = next(task for task in job.tasks.values() if task.name == name)
            statement.evict(view, task, session.nodes.statics.row[task.node], CAUSE)
        statement.commit()
    assert view.ready == 3 - len(session.decisions.committed)
    return [entry.task.name for entry in session.decisions.committed if entry.status is Status.RELEASING]


@pytest.mark.parametrize(
    ("text", "names", "whole", "expected"),
    [
        pytest.param(SPREAD, ["g.1"], False, ["g.1"], id="a pod leaves alone"),
        pytest.param(SPREAD, ["g.1"], True, ["g.0", "g.1", "g.2"], id="the others leave with it"),
        pytest.param(SPREAD, ["g.1", "g.2"], True, ["g.0", "g.1", "g.2"], id="once"),
        pytest.param(
            SPREAD.replace("named=far", "named=far volcano.sh/preemptable=false"),
            ["g.1"],
            True,
            [],
            id="none where one of them cannot leave",
        ),
    ],
)
def test_who_leaves_with_a_task(text: str, names: list[str], whole: bool, expected: list[str]) -> None:
    assert evicted(text, *names, whole=whole) == expected
