"""capacity over random trees: limits hold after whole cycles, books balance, and broken parts harm nobody else."""

from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.quota_world import Quotas
from tests.support.examples import examples
from tests.support.plans import Plan, plan
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.framework.policy import Policy
from vsched.model.amounts.resources import add
from vsched.model.plan import QueueOutcome
from vsched.model.pods.status import Status
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

NAMES = ["a", "b", "c", "d", "e", "f"]
BROKEN = """
queue lost parent=gone deserved=cpu:3 guarantee=cpu:2
queue low parent=lost
queue one parent=two deserved=cpu:3
queue two parent=one guarantee=cpu:5
"""


def policy() -> Policy:
    plugins = [{"name": "gang"}, {"name": "capacity", "enableHierarchy": True}, {"name": "predicates"}]
    text = yaml.safe_dump({"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": plugins}]})
    return load_text(text, "policy", REGISTRY).policy


POLICY = policy()
limits = st.sampled_from(["", "", "cpu:1", "cpu:2", "cpu:4", "cpu:6", "cpu:3,memory:2Gi"])


@st.composite
def trees(draw: st.DrawFn) -> str:
    """Six queues in a sound tree with limits that may contradict each other, and jobs in any of them."""
    lines = [f"node n1 cpu={draw(st.integers(4, 16))} memory=8Gi"]
    for at, name in enumerate(NAMES):
        words = [f"queue {name} age={draw(st.integers(0, 3))} parent={draw(st.sampled_from(['', *NAMES[:at]]))}"]
        words += [f"{kind}={draw(limits)}" for kind in ("capability", "deserved", "guarantee")]
        lines.append(" ".join(words))
    for number in range(draw(st.integers(1, 6))):
        pods = draw(st.integers(1, 4))
        words = [f"job ns/j{number} queue={draw(st.sampled_from(NAMES))} pods={pods} min={draw(st.integers(1, pods))}"]
        words += [f"cpu={draw(st.sampled_from(['1', '1500m', '2']))} memory={draw(st.sampled_from(['0', '1Gi']))}"]
        if draw(st.booleans()):
            words.append(f"minResources=cpu:{draw(st.integers(1, 6))}")
        lines.append(" ".join(words))
    return "\n".join(lines)


def parents(text: str) -> dict[str, str]:
    words = [line.split() for line in text.splitlines() if line.startswith("queue ")]
    return {queue[1]: field.partition("=")[2] for queue in words for field in queue if field.startswith("parent=")}


@given(trees())
@settings(max_examples=examples(40))
def test_no_queue_holds_more_than_it_may_and_what_is_deserved_fits_above(text: str) -> None:
    found, above = plan(text, POLICY), parents(text)

    for name, queue in found.queues.items():
        for resource, limit in queue.capability.items():
            if resource != "pods":
                assert found.held(name).get(resource, 0) <= limit, (name, resource)
        stated = next(line for line in text.splitlines() if line.startswith(f"queue {name} ")) if name in above else ""
        for resource in ("cpu", "memory"):
            below = [found.queues[child].deserved for child, parent in above.items() if parent == name]
            if f"{resource}:" in stated.partition("deserved=")[2].partition(" ")[0]:
                assert sum(child.get(resource, 0) for child in below) <= queue.deserved.get(resource, 0), name


@given(trees())
@settings(max_examples=examples(30))
def test_broken_queues_and_the_jobs_in_them_change_nothing_for_others(text: str) -> None:
    jobs = "".join(f"\njob ns/{name} queue={name} pods=2 cpu=1" for name in ("lost", "low", "one", "two"))

    sound, mixed = plan(text, POLICY), plan(text + BROKEN + jobs, POLICY)

    assert outcome(sound, set()) == outcome(mixed, {"lost", "low", "one", "two"})
    assert sound.nodes == mixed.nodes


def outcome(found: Plan, without: set[str]) -> dict[str, QueueOutcome]:
    return {name: queue for name, queue in found.queues.items() if name not in without}


@given(st.data())
@settings(max_examples=examples(40))
def test_what_inner_queues_hold_is_the_sum_of_what_is_below(data: st.DataObject) -> None:
    world = Quotas(hierarchy=True)
    for at, name in enumerate(NAMES):
        parent = data.draw(st.sampled_from(["", *NAMES[:at]]))
        world.queue(name, data.draw(st.integers(0, 2)), wants=data.draw(st.integers(0, 2)), parent=parent)
    opening, plugin = world.opening, world.plugin
    ledger = Ledger(opening.nodes, opening.usage, [plugin])
    for view in opening.jobs.values():
        for task in data.draw(
            st.lists(
                st.sampled_from(sorted(view.job.tasks.values(), key=lambda task: task.name)),
                unique_by=lambda task: task.uid,
            )
        ):
            if task.node:
                ledger.evict(view, task, 0, EvictionCause("reclaim", "ns/other"))
            else:
                ledger.place(view, task, 0, data.draw(st.sampled_from([Status.ALLOCATED, Status.PIPELINED])))
    ledger.undo_to(data.draw(st.integers(0, len(ledger.log))))

    for name in NAMES:
        total: dict[int, int] = {}
        for other in NAMES:
            at = other
            while at and at != name:
                at = world.found(at).parent
            if at:
                add(total, opening.usage.queue(other).items())
        division = plugin.division(world.found(name))
        assert division is not None
        assert {k: v for k, v in division.subtree.items() if v} == {k: v for k, v in total.items() if v}
