"""What is said of waiting pods is kept from cycle to cycle, as long as it would be the same."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tests.support.keeping import keeping
from tests.support.plans import NOW, manifests, mirror, policy_of
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.kube.watch.deltas import Delta
from vsched.mirror.mirror import Mirror
from vsched.model.plan import Unschedulable
from vsched.settings.built_in import REGISTRY

POLICY = policy_of("priority gang", "predicates capacity")
WAITING = """
queue q capability=gpu:8
node n1 cpu=4
job x/a min=4 pods=4 gpu=1
job x/b min=4 pods=4 gpu=1 queue=q
job x/c min=2 pods=3 cpu=3
job x/d min=2 pods=3 gpu=3 queue=q
"""


class Cycles:
    """Cycles on one mirror that share what is said of pods. Each is compared with one that shares nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._cache: Mirror = mirror(manifests(text))
        self._memo = keeping()

    def run(self) -> dict[str, Unschedulable]:
        """One cycle; nothing of what it decides is carried out."""
        snapshot = self._cache.snapshot(NOW)
        report = run_cycle(snapshot, POLICY, REGISTRY, memo=self._memo)
        assert report == run_cycle(snapshot, POLICY, REGISTRY)
        return report.unschedulable

    def add(self, line: str) -> None:
        """Add the objects of one more line of the text."""
        before, self._text = manifests(self._text), f"{self._text}\n{line}"
        for found in manifests(self._text):
            if found not in before:
                found["metadata"].setdefault("uid", found["metadata"]["name"])
                self._cache.intake.apply(found["kind"], Delta.ADDED, api.decode(found["kind"], orjson.dumps(found)))


def of_job(found: dict[str, Unschedulable], job: str) -> dict[str, Unschedulable]:
    return {key: verdict for key, verdict in found.items() if verdict.job == job}


def test_a_job_that_keeps_waiting_for_the_same_keeps_what_was_said_of_its_pods() -> None:
    cycles = Cycles(WAITING)
    before = cycles.run()
    cycles.add("pods x/b 1 gpu=1 queue=q")
    after = cycles.run()

    assert len(of_job(after, "x/a")) == 4
    assert all(verdict is before[key] for key, verdict in of_job(after, "x/a").items())
    assert len(of_job(after, "x/b")) == 5
    assert not any(verdict is before.get(key) for key, verdict in of_job(after, "x/b").items())


def test_a_job_that_waits_for_something_else_gets_other_words() -> None:
    cycles = Cycles(WAITING)
    before = of_job(cycles.run(), "x/a")
    cycles.add("node g1 cpu=4 gpu=2")
    after = of_job(cycles.run(), "x/a")

    assert before.keys() == after.keys()
    assert {one.message for one in before.values()}.isdisjoint(one.message for one in after.values())


@given(
    st.lists(
        st.sampled_from(
            [
                "pods x/a 1 gpu=1",
                "pods x/b 1 gpu=1",
                "pods x/c 1 cpu=3 gated",
                "node g1 cpu=4 gpu=2",
                "node g2 cpu=4 gpu=8 cordoned",
                "node g3 cpu=4 gpu=8",
                "job x/e min=1 pods=2 cpu=1",
                "job x/f min=3 pods=3 cpu=4 queue=q",
            ]
        ),
        max_size=5,
        unique=True,
    )
)
def test_reports_are_the_same_with_what_was_said_before_and_without(lines: list[str]) -> None:
    cycles = Cycles(WAITING)
    cycles.run()
    for line in lines:
        cycles.add(line)
        cycles.run()
