"""Faults that are put into the engine on purpose: the checker finds each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.support.kinds import Case, case_of
from tests.support.plans import NOW, manifests, mirror, policy_of
from tests.support.taking import taking
from vsched.actions import room
from vsched.actions import taking as actions_taking
from vsched.actions.consolidation.movers import Movers
from vsched.actions.consolidation.trial import MoveTrial
from vsched.actions.eviction_order import EvictionOrder
from vsched.actions.promises import Promises
from vsched.actions.victim_search import PreemptSearch, ReclaimSearch, VictimSearch
from vsched.actions.victims import Attempt
from vsched.framework.budgets import Budgets
from vsched.framework.cycle import run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.nodes.feasibility import FeasibilityCache
from vsched.framework.points.jobs import Vote
from vsched.framework.reports import closing, effects
from vsched.framework.surplus import Surplus
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeTable
from vsched.plugins import capacity, conformance, gang, predicates
from vsched.plugins.gang import Gang
from vsched.plugins.predicates import Predicates
from vsched.plugins.proportion import Proportion
from vsched.plugins.queues.guarantees import Guarantees
from vsched.plugins.queues.reclaiming import Reclaiming
from vsched.proof.verify import verify
from vsched.settings.built_in import REGISTRY
from vsched.settings.proving import facts_of

MOST = 300
"""Random clusters that are tried at most, until the fault shows."""
PLACE = "predicates nodeorder binpack"
PLAIN = policy_of("priority gang conformance", PLACE)
PREEMPT = taking("enqueue, allocate, preempt, backfill", "priority gang conformance", PLACE)
CAPACITY = taking("enqueue, allocate, reclaim, backfill", "priority gang conformance", f"{PLACE} capacity")
RECLAIMING = (
    "node n1 cpu=4\nqueue a deserved=cpu:3\nqueue b deserved=cpu:1\njob ns/low min=1 queue=a phase=Running\n"
    "pods ns/low 4 cpu=1 on=n1\njob ns/high min=1 pods=1 cpu=1 queue=b phase=Inqueue"
)
FULL = (
    "class high 9\nnode n1 cpu=4\nqueue q\njob ns/high min=1 pods=1 cpu=1 queue=q class=high phase=Inqueue\n"
    "job ns/low min=1 queue=q phase=Running\n"
)
MOVE = policy_of("priority gang", PLACE, actions="enqueue, allocate, consolidate, backfill")
MOVING = (
    "node n1 cpu=4\nnode n2 cpu=1\nnode n3 cpu=2 taint=dedicated:yes\njob ns/a phase=Running\n"
    "pods ns/a 1 cpu=2 on=n1 started=3600 tolerates=dedicated owned\njob ns/want min=1 pods=1 cpu=4 phase=Inqueue"
)
allocate: Any = import_module("vsched.actions.allocate")


def always(value: object) -> Callable[..., object]:
    """A function that answers the same whatever it is asked."""
    return lambda *_, **__: value


def everyone(self: object, candidates: Sequence[Any]) -> list[Any]:
    return list(candidates)


def more_than_stated(names: Any, request: Any, limits: Mapping[int, int], *more: Any) -> Any:
    """Shortages, as if limits were a bit higher."""
    return SHORTAGES(names, request, {column: limit + 1000 for column, limit in limits.items()}, *more)


def of_any_queue(self: VictimSearch) -> Iterator[Job]:
    for jobs in self.session.snapshot.holders.values():
        yield from (job for key, job in jobs.items() if key != self.job.key)


def all_that_agree(self: Attempt, task: Any, row: int, agreed: Sequence[Any]) -> list[Any]:
    for victim in agreed:
        self.evict(victim, row)
    return list(agreed)


def roles_forgotten(self: Surplus, job: JobView, *, waiting: bool = False) -> None:
    SURPLUS(self, job, waiting=waiting)
    self._of_roles = {}


def last_one_lost(*args: Any) -> Any:
    return islice(NOMINATIONS(*args), 1, None)


def other_way_round(self: EvictionOrder, by_queue: Mapping[str, Sequence[Any]], row: int) -> list[Any]:
    return [task for queue in sorted(by_queue) for task in by_queue[queue]]


SHORTAGES: Any = capacity.shortages
SURPLUS, NOMINATIONS = Surplus.__init__, effects.nominations


class Fault(NamedTuple):
    """What is wrong with the engine."""

    patches: Sequence[tuple[Any, str, Any]]
    """What is replaced: its owner, its name, and what takes its place."""
    rule: str
    """The rule that is violated then."""
    where: str | Case
    """The kind of random clusters in which it shows, or such a cluster."""


FAULTS = {
    "a gang starts in part": Fault(
        [(JobView, "is_ready", property(always(True)))], "gangs: gangs start whole", "default"
    ),
    "room is kept for a part of a gang": Fault(
        [(Gang, "job_pipelined", always(Vote.PERMIT))], "gangs: gangs keep whole", "preempt"
    ),
    "a gang loses pods that it needs": Fault(
        [(Gang, "_spare", everyone), (gang, "_has_none_to_spare", always(False))],
        "victims: gangs keep their minima",
        Case(FULL.replace("low min=1", "low min=4") + "pods ns/low 4 cpu=1 on=n1", PREEMPT),
    ),
    "a role loses pods that it needs": Fault(
        [(Surplus, "__init__", roles_forgotten), (gang, "_has_none_to_spare", always(False))],
        "victims: gangs keep their minima",
        Case(
            FULL.replace("phase=Running", "phase=Running roles=master:1")
            + "pods ns/low 3 cpu=1 on=n1 role=worker\npods ns/low 1 cpu=1 on=n1 role=master",
            PREEMPT,
        ),
    ),
    "a limit is off by one": Fault(
        [(capacity, "shortages", more_than_stated)],
        "limits: queues stay within capability",
        Case("node n1 cpu=4\nqueue q capability=cpu:2\njob ns/a min=1 pods=4 cpu=1 queue=q", CAPACITY),
    ),
    "a guarantee is not kept": Fault(
        [(Guarantees, "refusal", always(None))],
        "limits: guarantees are kept free",
        Case(
            "node n1 cpu=4\nqueue a guarantee=cpu:2\nqueue b\nqueue c\n"
            "job ns/b min=1 pods=2 cpu=1 queue=b\njob ns/c min=1 pods=2 cpu=1 queue=c",
            CAPACITY,
        ),
    ),
    "a share is no limit": Fault(
        [(Proportion, "_beyond_share", always(None)), (Proportion, "overused", always(False))],
        "limits: queues get what they deserve",
        Case(
            "node n1 cpu=6\nqueue a\nqueue b weight=2\njob ns/a min=1 pods=6 cpu=1 queue=a\n"
            "job ns/b min=1 pods=6 cpu=1 queue=b selector=zone:none",
            policy_of("priority gang", f"{PLACE} proportion"),
        ),
    ),
    "a node is overfilled": Fault(
        [(FeasibilityCache, "has_room", always(True))], "room: nodes hold what is bound", "default"
    ),
    "more is kept than there will be": Fault(
        [(NodeTable, "future_idle", lambda self, column: self.idle[column] + 1_000_000)],
        "room: nodes hold what is kept",
        Case("node n1 cpu=4\npods ns/old 1 cpu=4 on=n1 leaving\njob ns/a min=2 pods=2 cpu=3", PLAIN),
    ),
    "a taint is missed": Fault(
        [(predicates, "untolerated", always(()))],
        "rules: bound where allowed",
        Case("node n1 taint=gpu:yes\njob ns/a min=1 pods=1 cpu=1", PLAIN),
    ),
    "a node selector is missed": Fault(
        [(predicates, "selector_mask", always(None))],
        "rules: bound where allowed",
        Case("node n1 zone=a\njob ns/a min=1 pods=1 cpu=1 selector=zone:b", PLAIN),
    ),
    "anti-affinity is missed": Fault(
        [(Predicates, "dynamic_checks", always(())), (Predicates, "is_dynamic", always(False))],
        "rules: apart where asked",
        Case("node n1\njob ns/a min=2 pods=2 cpu=1 apart=a", PLAIN),
    ),
    "a port is given twice": Fault(
        [(Predicates, "dynamic_checks", always(())), (Predicates, "is_dynamic", always(False))],
        "room: ports are free",
        Case("node n1\njob ns/a min=2 pods=2 cpu=1 port=80", PLAIN),
    ),
    "a victim too many": Fault(
        [
            (Attempt, "_evict_until_it_fits", all_that_agree),
            (Attempt, "_reprieve", lambda self, task, row, victims, before: victims),
            (room, "spare", always(None)),
            (actions_taking, "in_any_way", lambda session, attempt, tasks, before, made: made),
        ],
        "victims: nobody leaves in vain",
        Case(FULL + "pods ns/low 4 cpu=1 on=n1", PREEMPT),
    ),
    "the cluster's own pods are evicted": Fault(
        [(conformance, "_ordinary", list)],
        "victims: victims may leave",
        Case(FULL + "pods ns/low 4 cpu=1 on=n1 podClass=system-node-critical", PREEMPT),
    ),
    "a disruption budget is not asked": Fault(
        [(Budgets, "allowed", everyone)],
        "victims: budgets hold",
        Case(FULL + "pods ns/low 4 cpu=1 on=n1\npdb ns/guard selector=job:low allowed=0", PREEMPT),
    ),
    "preempt takes from other queues": Fault(
        [(PreemptSearch, "holders", of_any_queue)], "victims: victims are in reach", "preempt"
    ),
    "reclaim takes from queues that are not reclaimable": Fault(
        [(ReclaimSearch, "holders", of_any_queue)],
        "victims: victims are in reach",
        Case(RECLAIMING.replace("queue a", "queue a reclaimable=false"), CAPACITY),
    ),
    "a pod that never preempts does": Fault(
        [(PreemptSearch, "may_take", always(True))],
        "victims: victims are in reach",
        Case(FULL.replace("cpu=1 queue", "cpu=1 never queue") + "pods ns/low 4 cpu=1 on=n1", PREEMPT),
    ),
    "a queue loses what it deserves": Fault(
        [(Reclaiming, "_may_go", always(True)), (Attempt, "is_sound", True)],
        "victims: queues keep what they deserve",
        Case(RECLAIMING.replace("cpu:3", "cpu:4"), CAPACITY),
    ),
    "a nomination is lost": Fault(
        [(effects, "nominations", last_one_lost)],
        "victims: takers are complete",
        Case(FULL + "pods ns/low 4 cpu=1 on=n1", PREEMPT),
    ),
    "what is kept counts as held": Fault(
        [(closing, "give_up", always(None))],
        "limits: reports say what queues hold",
        Case(FULL + "pods ns/low 4 cpu=1 on=n1", PREEMPT),
    ),
    "what was promised in vain keeps others out": Fault(
        [(Promises, "_for_good", None), (Promises, "_for_now", None)],
        "work: nothing that fits waits",
        Case(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=5 minResources=cpu:5 phase=Inqueue\n"
            "job ns/small min=1 pods=1 cpu=1 minResources=cpu:1 phase=Pending",
            policy_of("priority gang", f"overcommit {PLACE}"),
        ),
    ),
    "a pod is moved to where there is no room": Fault(
        [(MoveTrial, "places", always([1])), (MoveTrial, "likely", always(None))],
        "moves: moved pods have a place now",
        Case(MOVING, MOVE),
    ),
    "a pod is moved that nobody makes again": Fault(
        [(Movers, "_row_of", lambda self, task: self._session.nodes.statics.row.get(task.node))],
        "moves: moved pods are made again",
        Case(MOVING.replace("owned", "").replace("node n2 cpu=1", "node n2 cpu=2"), MOVE),
    ),
    "what fits waits": Fault([(allocate, "JobTurns", always(()))], "work: nothing that fits waits", "default"),
    "queues give in the order of their names": Fault(
        [(EvictionOrder, "in_turn", other_way_round)],
        "order: queues give in turn",
        Case(
            "node n1 cpu=8\nqueue a deserved=cpu:1\nqueue b deserved=cpu:1\nqueue c deserved=cpu:6\n"
            "job ns/a min=1 queue=a phase=Running\npods ns/a 4 cpu=1 on=n1\n"
            "job ns/b min=1 queue=b phase=Running\npods ns/b 4 cpu=1 on=n1\n"
            "job ns/c min=2 pods=2 cpu=1 queue=c phase=Inqueue",
            CAPACITY,
        ),
    ),
}


def cases(where: str | Case) -> Iterator[Case]:
    """The cluster, or random ones of that kind."""
    if isinstance(where, Case):
        yield where
    else:
        yield from (case_of(Random(seed), where) for seed in range(MOST))


def violated(case: Case) -> set[str]:
    """The rules that one cycle violates."""
    snapshot = mirror(manifests(case.text)).snapshot(NOW)
    report = run_cycle(snapshot, case.policy, REGISTRY)
    return {one.rule for one in verify(snapshot, facts_of(case.policy), report) if one.violations}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_the_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, value in fault.patches:
        monkeypatch.setattr(owner, name, value)

    assert any(fault.rule in violated(case) for case in cases(fault.where))
