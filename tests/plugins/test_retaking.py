"""Victims that could come back for their places are not taken: what each plugin says of it, and what comes of it."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, manifests, mirror
from tests.support.taking import Busy, evicted, taking
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.status import Status
from vsched.settings.built_in import REGISTRY

NODE = "class high 9\nnode n1 cpu=8"
RUNS = "job x/v queue={} min=1 phase=Running\npods x/v 4 cpu=1 on=n1\n"
FOUR_OF_A = RUNS.format("a")


def asked(plugins: str, text: str, *, across: bool) -> bool:
    """Whether ``v.0`` could have back the place that ``e.0`` has taken from it, by the books as they are then."""
    session = Session(
        mirror(manifests(f"{NODE}\n{text}")).snapshot(NOW), taking("allocate", plugins), REGISTRY, Trace()
    )
    robbed, taker = session.view("x/v"), session.view("x/e")
    assert robbed is not None
    assert taker is not None
    victim = next(task for task in robbed.job.tasks.values() if task.name == "v.0")
    evictor = next(task for task in taker.job.pending.values() if task.name == "e.0")
    session.ledger.evict(robbed, victim, 0, EvictionCause("test", taker.key))
    session.ledger.place(taker, evictor, 0, Status.PIPELINED)
    asked = session.plugins.agreement[Purpose.RECLAIM if across else Purpose.PREEMPT]
    return asked.could_retake(victim, evictor, by_tiers=False)


@pytest.mark.parametrize(
    ("plugins", "text", "could"),
    [
        pytest.param("gang", f"{FOUR_OF_A}job x/e queue=b min=1 pods=1 cpu=1", False, id="gang: not from a minimum"),
        pytest.param("gang", f"{FOUR_OF_A}job x/e queue=b min=0 pods=1 cpu=1", True, id="gang: from what is beyond"),
        pytest.param(
            "gang",
            f"{FOUR_OF_A}job x/e queue=b min=2 pods=1 cpu=1\npods x/e 2 cpu=1 on=n1",
            True,
            id="gang: what waits counts",
        ),
        pytest.param(
            "conformance", f"{FOUR_OF_A}job x/e queue=b pods=1 cpu=1", True, id="conformance: from ordinary pods"
        ),
        pytest.param(
            "conformance",
            f"{FOUR_OF_A}job x/e queue=b pods=1 cpu=1 podClass=system-cluster-critical",
            False,
            id="conformance: not from critical ones",
        ),
        pytest.param(
            "gang conformance",
            f"{FOUR_OF_A}job x/e queue=b min=1 pods=1 cpu=1",
            False,
            id="a tier could only where all of its plugins could",
        ),
        pytest.param(
            "proportion",
            f"queue a\nqueue b\n{FOUR_OF_A}job x/e queue=b pods=1 cpu=1",
            False,
            id="proportion: not from a queue within what it deserves",
        ),
        pytest.param(
            "proportion",
            f"queue a\nqueue b capability=cpu:1\n{FOUR_OF_A}job x/e queue=b pods=1 cpu=1\npods x/e 2 cpu=1 on=n1",
            True,
            id="proportion: from one beyond it",
        ),
        pytest.param(
            "capacity",
            f"queue a deserved=cpu:4\nqueue b deserved=cpu:1\n{FOUR_OF_A}job x/e queue=b pods=1 cpu=1",
            False,
            id="capacity: not from a queue within what it deserves",
        ),
        pytest.param(
            "capacity",
            f"queue a deserved=cpu:4\nqueue b deserved=cpu:1\n{FOUR_OF_A}job x/e queue=b pods=1 cpu=2",
            True,
            id="capacity: from one beyond it",
        ),
        pytest.param(
            "capacity",
            f"queue a deserved=cpu:4\nqueue b\n{FOUR_OF_A}job x/e queue=b pods=1 cpu=2",
            True,
            id="capacity: from one that deserves nothing",
        ),
        pytest.param(
            "capacity",
            f"queue a deserved=cpu:4\nqueue b guarantee=cpu:2\n{FOUR_OF_A}job x/e queue=b pods=1 cpu=2",
            False,
            id="capacity: not from what is guaranteed",
        ),
        pytest.param(
            "drf", f"{FOUR_OF_A}job x/e queue=b pods=1 cpu=1", False, id="drf: has no say between queues without a tree"
        ),
    ],
)
def test_whether_a_victim_could_have_its_place_back_from_another_queue(plugins: str, text: str, could: bool) -> None:
    assert asked(plugins, text, across=True) is could


SAME = RUNS.format("default")


@pytest.mark.parametrize(
    ("plugins", "text", "could"),
    [
        pytest.param("priority", f"{SAME}job x/e class=high pods=1 cpu=1", False, id="priority: not from the higher"),
        pytest.param("priority", f"{SAME}job x/e pods=1 cpu=1", False, id="priority: not from an equal"),
        pytest.param(
            "priority",
            "job x/v class=high phase=Running\npods x/v 1 cpu=1 on=n1\njob x/e pods=1 cpu=1",
            True,
            id="priority: from the lower",
        ),
        pytest.param("drf-N", f"{SAME}job x/e pods=1 cpu=1", False, id="drf: not from a job that has less even then"),
        pytest.param(
            "drf-N", f"{SAME}job x/e pods=1 cpu=1\npods x/e 2 cpu=3 on=n1", True, id="drf: from one that has more"
        ),
        pytest.param(
            "drf",
            "weight y 9\njob x/v phase=Running\npods x/v 1 cpu=1 on=n1\njob y/o phase=Running\npods y/o 2 cpu=1 on=n1\n"
            "job x/e pods=1 cpu=1",
            False,
            id="drf: within a namespace its jobs decide",
        ),
    ],
)
def test_whether_a_victim_could_have_its_place_back_within_its_queue(plugins: str, text: str, could: bool) -> None:
    assert asked(plugins, text, across=False) is could


@pytest.mark.parametrize(
    ("actions", "tiers", "text", "victims"),
    [
        pytest.param(
            "preempt",
            ("priority-P", "gang-P conformance"),
            "job x/v phase=Running\npods x/v 2 cpu=1 on=n1\njob x/e phase=Inqueue pods=1 cpu=1",
            [],
            id="nobody would ever stop where nothing but conformance decides",
        ),
        pytest.param(
            "preempt",
            ("priority-P", "gang-P conformance"),
            "job x/v phase=Running\npods x/v 2 cpu=1 on=n1\n"
            "job x/e phase=Inqueue pods=1 cpu=1 volcano.sh/preemptable=false",
            ["v.1"],
            id="unless the place cannot be taken back, as it may not be preempted",
        ),
        pytest.param(
            "preempt",
            ("priority-P", "gang-P conformance"),
            "job x/v phase=Running\npods x/v 2 cpu=1 on=n1 never\njob x/e phase=Inqueue pods=1 cpu=1",
            ["v.1"],
            id="or the victim would not preempt",
        ),
        pytest.param(
            "preempt",
            ("priority-P", "gang-P conformance"),
            "node n2 cpu=0 pods=1\njob x/v phase=Running\npods x/v 1 on=n2\npods x/v 2 cpu=1 on=n1\n"
            "job x/e phase=Inqueue pods=1 cpu=0 selector=kubernetes.io/hostname:n2",
            [],
            id="a best-effort victim could have the place of a best-effort pod back",
        ),
        pytest.param(
            "preempt",
            ("priority-P", "gang-P conformance"),
            "node n2 cpu=1 pods=1\njob x/v phase=Running\npods x/v 1 on=n2\npods x/v 2 cpu=1 on=n1\n"
            "job x/e phase=Inqueue pods=1 cpu=1 selector=kubernetes.io/hostname:n2",
            ["v.0"],
            id="but not that of a pod that asks for something",
        ),
        pytest.param(
            "preempt",
            ("gang-P conformance",),
            "job x/v min=1 phase=Running\npods x/v 2 cpu=1 on=n1\njob x/e phase=Inqueue pods=1 cpu=1",
            ["v.1"],
            id="or the job does without the victim",
        ),
        pytest.param(
            "preempt",
            ("priority-P", "gang-P conformance"),
            "job x/v phase=Running\npods x/v 1 cpu=1 on=n1 never\npods x/v 1 cpu=1 on=n1\n"
            "job x/e phase=Inqueue pods=1 cpu=1",
            ["v.0"],
            id="then another one of the node goes in its place",
        ),
        pytest.param(
            "reclaim",
            ("priority", "gang-R conformance"),
            "queue a\nqueue b\njob x/v queue=a phase=Running\npods x/v 2 cpu=1 on=n1\n"
            "job x/e queue=b phase=Inqueue pods=1 cpu=1",
            [],
            id="two queues that may both take whatever they like take nothing",
        ),
        pytest.param(
            "reclaim",
            ("priority", "gang-R conformance"),
            "queue a\nqueue b reclaimable=false\njob x/v queue=a phase=Running\npods x/v 2 cpu=1 on=n1\n"
            "job x/e queue=b phase=Inqueue pods=1 cpu=1",
            ["v.1"],
            id="unless one of them cannot be taken from",
        ),
        pytest.param(
            "reclaim",
            ("priority", "gang-R conformance"),
            "queue a\nqueue b\njob x/v queue=a phase=Running\npods x/v 2 cpu=1 on=n1\n"
            "job x/e queue=b phase=Inqueue pods=1 cpu=1 volcano.sh/preemptable=false",
            ["v.1"],
            id="or its pod may not be preempted",
        ),
        pytest.param(
            "reclaim",
            ("priority", "gang-R conformance", "proportion-R"),
            "queue a\nqueue b weight=3\njob x/v queue=a phase=Running\npods x/v 2 cpu=1 on=n1\n"
            "job x/e queue=b phase=Inqueue pods=1 cpu=1",
            ["v.1"],
            id="or has what it deserves and so takes no more",
        ),
    ],
)
def test_who_is_not_taken_as_it_would_come_back(
    actions: str, tiers: tuple[str, ...], text: str, victims: list[str]
) -> None:
    policy = taking(f"allocate, {actions}", *tiers, "predicates")
    world = Busy(f"node n1 cpu=2\n{text}", policy, returning=True)

    assert evicted(world.cycle()) == victims
    for _ in range(4):
        assert evicted(world.cycle()) == []
