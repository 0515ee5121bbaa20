"""Disruption budgets while what was decided comes true and no controller counts anew."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import NOW, manifests, mirror
from vsched import api
from vsched.mirror.state.budgets import BELIEVED_SECONDS
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.plan import Bind, CycleReport, Evict
from vsched.model.pods.shape import Selector

CLUSTER = """node n1 cpu=9
pods x/web 4 cpu=1 on=n1
pods x/new 3 cpu=1
pods x/slow 1 cpu=1 on=n1 bound
pods y/web 1 cpu=1 on=n1
"""
EVERYONE = Selector(())


def settled(budget: DisruptionBudget, *, binds: tuple[str, ...] = (), evicts: tuple[str, ...] = ()) -> DisruptionBudget:
    """The budget after these pods were bound, and those evicted."""
    cache = mirror(manifests(CLUSTER), arbitrating=True)
    cache.snapshot(NOW)
    tasks = {task.key: task for party in cache.arbitration().parties.values() for task in party.tasks.values()}
    cache.stores.budgets.put("x", "x/b", budget)
    report = CycleReport(
        binds=tuple(Bind(one.uid, one.namespace, one.name, "n1", one.job) for one in map(tasks.__getitem__, binds)),
        evictions=tuple(
            Evict(one.uid, one.namespace, one.name, "n1", one.job, "arbitrate", "")
            for one in map(tasks.__getitem__, evicts)
        ),
    )
    cache.settle(report)
    (found,) = cache.snapshot(NOW).budgets["x"]
    return found


@pytest.mark.parametrize(
    ("allowed", "lacking", "binds", "evicts", "expected"),
    [
        pytest.param(2, 0, (), ("x/web.0",), (1, 0), id="who is evicted is missed"),
        pytest.param(1, 0, (), ("x/web.0", "x/web.1"), (0, 1), id="also beyond what is allowed"),
        pytest.param(0, 0, ("x/new.0",), (), (1, 0), id="who runs from now on makes one more allowed"),
        pytest.param(0, 2, ("x/new.0",), (), (0, 1), id="unless more are lacking"),
        pytest.param(1, 0, ("x/new.0",), ("x/web.0",), (1, 0), id="one comes for one that goes"),
        pytest.param(1, 0, (), ("x/slow.0",), (1, 0), id="who did not run yet is not missed"),
        pytest.param(1, 0, (), ("y/web.0",), (1, 0), id="nor is one of another namespace"),
        pytest.param(1, 0, (), ("x/web.3",), (1, 0), id="nor one whose eviction is counted already"),
    ],
)
def test_what_is_allowed_then(
    allowed: int, lacking: int, binds: tuple[str, ...], evicts: tuple[str, ...], expected: tuple[int, int]
) -> None:
    budget = DisruptionBudget("x", "b", EVERYONE, allowed, frozenset({"web.3"}), lacking=lacking)

    found = settled(budget, binds=binds, evicts=evicts)

    assert (found.allowed, found.lacking) == expected


@given(st.integers(0, 5), st.lists(st.integers(-3, 3)))
def test_what_comes_and_goes_is_counted_exactly(allowed: int, changes: list[int]) -> None:
    """In whatever portions, with no pod allowed twice for one that ran again."""
    budget = DisruptionBudget("x", "b", EVERYONE, allowed)
    for change in changes:
        budget = budget.changed(change)
    assert budget.allowed - budget.lacking == allowed + sum(changes)
    assert min(budget.allowed, budget.lacking) == 0


BUSY = """
    node n1 cpu=8
    job x/a phase=Running
    pods x/a 3 cpu=1 on=n1
    pdb x/p selector=job:a allowed=2
"""


class Deciding:
    """A mirror between sessions: what was decided is on its way, and what the API server says arrives in any order."""

    def __init__(self, text: str = BUSY) -> None:
        self.cache = mirror(manifests(text))
        self.cache.snapshot(NOW)

    def evict(self, *uids: str) -> None:
        tasks = [found for uid in uids if (found := self.cache.task(uid)) is not None]
        self.cache.assumptions.assume(
            CycleReport(
                evictions=tuple(
                    Evict(one.uid, one.namespace, one.name, one.node, one.job, "reclaim", "") for one in tasks
                )
            )
        )

    def say(self, line: str, type: str = "MODIFIED") -> None:
        for found in manifests(line):
            self.cache.intake.apply(found["kind"], type, api.decode(found["kind"], orjson.dumps(found)))

    def left(self, later: float = 0.0) -> list[int]:
        return [budget.allowed for budget in self.cache.snapshot(NOW + later).budgets.get("x", ())]


def test_what_was_decided_counts_until_the_budgets_status_says_so() -> None:
    found = Deciding()
    found.evict("x/a.0")
    assert found.left() == [1], "the next session may come before anything is answered"
    found.say("pdb x/p selector=job:a allowed=1 disrupted=a.0")
    assert found.left() == [1], "counted once"


def test_a_status_that_does_not_know_of_an_eviction_yet_does_not_make_room_for_another() -> None:
    found = Deciding()
    found.evict("x/a.0", "x/a.1")
    found.say("pdb x/p selector=job:a allowed=1 disrupted=a.0")
    assert found.left() == [0]
    found.say("pdb x/p selector=job:a allowed=0 disrupted=a.0,a.1")
    assert found.left() == [0]
    found.say("pdb x/p selector=job:a allowed=2")
    assert found.left() == [2]


def test_an_eviction_that_is_refused_uses_nothing_up() -> None:
    found = Deciding()
    found.evict("x/a.0")
    found.cache.assumptions.forget("x/a.0")
    assert found.left() == [2]


def test_a_status_after_the_pod_was_seen_to_leave_counts_it() -> None:
    found = Deciding()
    found.evict("x/a.0")
    found.say("pods x/a 1 cpu=1 on=n1 leaving")
    assert found.left() == [1]
    found.say("pdb x/p selector=job:a allowed=0")
    found.say("pdb x/p selector=job:a allowed=2")
    assert found.left() == [2]


def test_what_no_status_ever_says_is_not_believed_for_ever() -> None:
    found = Deciding()
    found.evict("x/a.0")
    assert (found.left(BELIEVED_SECONDS - 1), found.left(BELIEVED_SECONDS + 1)) == ([1], [2])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(BUSY.replace("on=n1", "on=n1 bound"), [2], id="a pod that has not begun to run"),
        pytest.param(BUSY.replace("allowed=2", "allowed=2 disrupted=a.0"), [2], id="one whose eviction is counted"),
        pytest.param(
            BUSY.replace("on=n1", "on=n1 unready") + "    pdb x/q selector=job:b allowed=1 unhealthy=AlwaysAllow\n",
            [1, 1],
            id="that it is not ready does not help by itself",
        ),
        pytest.param(
            BUSY.replace("on=n1", "on=n1 unready").replace("allowed=2", "allowed=2 unhealthy=AlwaysAllow"),
            [2],
            id="one that is not ready, where the budget lets those go",
        ),
    ],
)
def test_what_an_eviction_costs(text: str, left: list[int]) -> None:
    found = Deciding(text)
    found.evict("x/a.0")
    assert found.left() == left
