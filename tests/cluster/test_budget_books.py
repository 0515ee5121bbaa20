"""Disruption budgets while what was decided comes true and no controller counts anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import NOW, manifests, mirror
from vsched.model.budget import DisruptionBudget
from vsched.model.plan import Bind, CycleReport, Evict
from vsched.model.shape import Selector

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
    cache._budgets.put("x", "x/b", budget)
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
