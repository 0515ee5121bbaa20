"""Changes that follow from what was decided: they are to be told, and no session has to start for them at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.mirrors import World
from vsched.mirror.ingest.metadata import IMPLIED, MADE_BY, OURS

Fields = dict[str, Any]

WAITING = make.pod()
BOUND = make.pod(spec={"nodeName": "n1"}, status={"conditions": [{"type": "PodScheduled", "status": "True"}]})
RUNNING = make.pod(node="n1")
MADE = make.pod_group(IMPLIED + "uid-p", metadata={"labels": {MADE_BY: OURS}})


class Calm(World):
    """A mirror that also counts what is only to be told."""

    def __init__(self, *objects: Fields) -> None:
        self.told = 0
        super().__init__(*objects, on_calm_change=self.tell)

    def tell(self) -> None:
        self.told += 1

    def heard(self, *objects: Fields) -> str:
        """What the mirror said when it was told of these: ``wakes``, ``tells`` or nothing."""
        wakes, told = self.wakes, self.told
        self.add(*objects)
        return "wakes" if self.wakes > wakes else "tells" if self.told > told else ""


@pytest.mark.parametrize("shown", [(BOUND, RUNNING), (RUNNING,)], ids=["in two steps", "in one"])
def test_a_pod_that_starts_where_it_was_bound_is_only_told(shown: tuple[Fields, ...]) -> None:
    here = Calm(make.node(), WAITING)
    here.snapshot()
    here.bind(WAITING)
    assert [here.heard(each) for each in shown] == [*[""] * (len(shown) - 1), "tells"]
    assert here.heard(make.merged(RUNNING, {"status": {"phase": "Succeeded"}})) == "wakes", "it leaves room"


def test_a_pod_that_runs_elsewhere_than_it_was_bound_wakes_the_loop() -> None:
    here = Calm(make.node(), make.node("n2"), WAITING)
    here.snapshot()
    here.bind(WAITING)
    assert here.heard(make.pod(node="n2")) == "wakes"


def test_the_podgroup_that_is_made_for_a_pod_with_a_node_is_only_told() -> None:
    here = Calm(make.node(), make.queue(), WAITING)
    here.snapshot()
    here.bind(WAITING)
    assert here.heard(MADE) == "tells"
    assert here.snapshot().jobs[f"ns/{IMPLIED}uid-p"].spec.uid, "and known all the same"


@pytest.mark.parametrize(
    ("group", "says"),
    [
        pytest.param(MADE, "wakes", id="one that was made for a pod that still waits"),
        pytest.param(make.pod_group("pg"), "wakes", id="one that a user made"),
    ],
)
def test_other_podgroups_wake_the_loop(group: Fields, says: str) -> None:
    here = Calm(make.node(), make.queue(), WAITING)
    assert here.heard(group) == says
