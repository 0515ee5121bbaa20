"""The search for victims: what one search leaves behind, what is remembered of it, and that nothing is missed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror
from tests.support.taking import Busy, evicted, kept, taking
from vsched.actions.pools import Pools
from vsched.actions.room import first_that_does, signature
from vsched.actions.taking import take_for
from vsched.actions.victim_search import PreemptSearch, unplaced
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.settings.built_in import REGISTRY

PLAIN = taking("allocate, preempt", "priority gang-P", "predicates")
MINIMA = taking("allocate, preempt", "priority gang", "predicates")


class Search:
    """Searches of one action on a cluster, job by job."""

    def __init__(self, text: str, policy: Policy = PLAIN) -> None:
        self.session = Session(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY, Trace())
        self.pools = Pools(self.session, "preempt")

    def run(self, key: str) -> bool:
        job = self.session.jobs[key]
        tasks = unplaced(self.session, job)
        return take_for(self.session, PreemptSearch(self.session, job), self.pools, tasks, first_that_does)

    @property
    def looks(self) -> int:
        """How often a row of the node table was changed, there or back: a search that tries anything adds to it."""
        return len(self.session.ledger.journal)


IN_VAIN = """
    class high 9
    node n1 cpu=2
    job x/low phase=Running
    pods x/low 2 cpu=1 on=n1
    job x/one min=3 class=high phase=Inqueue pods=3 cpu=1 unlabelled
    job x/two min=3 class=high phase=Inqueue pods=3 cpu=1 unlabelled
    job x/less min=2 class=high phase=Inqueue pods=3 cpu=1 unlabelled
"""


def test_what_was_in_vain_for_one_job_is_not_tried_for_another_that_asks_for_the_same() -> None:
    search = Search(IN_VAIN)
    assert not search.run("x/one")
    looks = search.looks
    assert looks
    assert not search.run("x/two")
    assert search.looks == looks


def test_but_for_one_that_needs_less() -> None:
    search = Search(IN_VAIN)
    assert not search.run("x/one")
    assert search.run("x/less")


def test_and_again_once_something_has_changed() -> None:
    search = Search(IN_VAIN)
    assert not search.run("x/one")
    assert search.run("x/less")
    looks = search.looks
    assert not search.run("x/two")
    assert search.looks == looks, "nobody is left to take from"
    search.session.ledger.undo_to(0)
    assert not search.run("x/two")
    assert search.looks > looks


@pytest.mark.parametrize(
    ("alike", "different"),
    [
        ("cpu=1", "cpu=2 unlabelled"),
        ("cpu=1", "cpu=1 priority=5 unlabelled"),
        ("cpu=1", "cpu=1 never unlabelled"),
        ("cpu=1", "cpu=1 volcano.sh/preemptable=false unlabelled"),
        ("cpu=1 priority=5", "cpu=1 priority=5 podClass=system-node-critical unlabelled"),
        ("cpu=1", "cpu=1"),
    ],
    ids=["amounts", "priority", "preemption policy", "preemptable", "priority class", "labels"],
)
def test_jobs_ask_for_the_same_only_where_their_pods_are_alike(alike: str, different: str) -> None:
    text = f"""
        node n1 cpu=2
        job x/a phase=Inqueue pods=1 {alike} unlabelled
        job x/b phase=Inqueue pods=1 {alike} unlabelled
        job x/c phase=Inqueue pods=1 {different}
    """
    session = Search(text).session
    asked = {
        key: signature(session, PreemptSearch(session, job), unplaced(session, job))
        for key, job in session.jobs.items()
    }

    assert asked["x/a"] == asked["x/b"] != asked["x/c"]


def test_a_failed_search_leaves_what_is_said_of_pods_as_it_was() -> None:
    search = Search(IN_VAIN)
    tasks = unplaced(search.session, search.session.jobs["x/one"])
    said = search.session.node_selection.explain(tasks[0])
    search.session.refused.tasks[tasks[0].uid] = said
    assert not search.run("x/one")

    assert search.session.refused.tasks == {tasks[0].uid: said}


def test_a_job_of_pods_that_never_preempt_tries_nothing() -> None:
    search = Search("class high 9\nnode n1 cpu=1\njob x/low phase=Running\npods x/low 1 cpu=1 on=n1\n"
                    "job x/want class=high phase=Inqueue pods=1 cpu=1 never")  # fmt: skip
    assert not search.run("x/want")
    assert search.looks == 0


def test_a_queue_that_cannot_have_room_is_known_before_any_node_is_tried_one_by_one() -> None:
    nodes = "\n".join(f"node n{at} cpu=1\npods x/low 1 cpu=1 on=n{at}" for at in range(30))
    text = f"""
        class high 9
        queue q capability=cpu:10
        job x/low queue=q phase=Running
        {nodes}
        job x/want queue=q class=high phase=Inqueue pods=1 cpu=1
    """
    search = Search(text, taking("allocate, preempt", "priority gang-P", "predicates capacity"))
    assert not search.run("x/want")
    assert search.looks == 4, "one node was looked at, twice: its pod out and in again"


@pytest.mark.parametrize("wanted", [29, 30])
def test_a_gang_that_takes_the_last_pods_an_elastic_job_can_lose(wanted: int) -> None:
    nodes = "\n".join(f"node n{at:02} cpu=1\npods x/low 1 cpu=1 on=n{at:02}" for at in range(30))
    text = f"class high 9\njob x/low min=1 phase=Running\n{nodes}\n"
    report = Busy(f"{text}job x/want min={wanted} class=high phase=Inqueue pods={wanted} cpu=1", MINIMA).cycle()

    assert len(report.evictions) == (29 if wanted == 29 else 0)


def test_a_node_after_many_that_are_tried_in_vain_is_found() -> None:
    guarded = "\n".join(f"node n{at:02} cpu=1\npods x/guarded 1 cpu=1 on=n{at:02}" for at in range(20))
    text = f"""
        class high 9
        pdb x/guard selector=job:guarded allowed=0
        job x/guarded phase=Running
        {guarded}
        node n99 cpu=1
        job x/low phase=Running
        pods x/low 1 cpu=1 on=n99
        job x/want class=high phase=Inqueue pods=1 cpu=1
    """
    assert evicted(Busy(text, taking("allocate, preempt", "priority gang-P pdb", "predicates")).cycle()) == ["low.0"]


def test_what_one_job_could_not_have_after_its_first_victims_another_may() -> None:
    """The gang takes b.0 first, so that its job has nothing more to spare on n2; nothing of that lasts."""
    text = """
        class high 9
        node n1 cpu=1
        node n2 cpu=1
        job x/b min=1 phase=Running
        pods x/b 1 cpu=1 on=n1
        pods x/b 1 cpu=1 on=n2
        pods x/stays 1 on=n1 volcano.sh/preemptable=false apart=one
        job x/gang min=2 age=9 class=high phase=Inqueue pods=2 cpu=1
        job x/one min=1 class=high phase=Inqueue pods=1 cpu=1
    """
    report = Busy(text, MINIMA).cycle()

    assert kept(report) == {"one.0": "n2"}
    assert evicted(report) == ["b.1"]


def test_victims_that_would_come_back_from_one_job_may_still_be_taken_by_the_next() -> None:
    """What an elastic job holds beyond its minimum could be taken back; what a gang needs could not."""
    text = """
        class high 9
        node n1 cpu=2
        queue q
        job x/v min=1 phase=Running
        pods x/v 2 cpu=1 on=n1
        job x/more queue=q min=1 class=high phase=Running
        pods x/more 1 on=n1
        pods x/more 1 cpu=1
        job x/gang queue=q min=1 phase=Inqueue pods=1 cpu=1
    """
    report = Busy(text, taking("allocate, reclaim", "priority", "gang", "predicates")).cycle()

    assert [(eviction.name, eviction.beneficiary) for eviction in report.evictions] == [("v.1", "x/gang")]


def test_a_job_whose_first_victims_could_come_back_once_all_of_it_is_placed_takes_nobody() -> None:
    text = """
        node n1 cpu=2
        node n2 cpu=1
        job x/v min=1 phase=Running
        pods x/v 2 cpu=1 on=n1
        job x/want min=1 phase=Inqueue
        pods x/want 1 cpu=1 selector=kubernetes.io/hostname:n1
        pods x/want 1 cpu=1 selector=kubernetes.io/hostname:n2
    """
    report = Busy(text, taking("preempt, allocate", "priority-P", "gang", "predicates"), returning=True).cycle()

    assert evicted(report) == []
    assert [bind.name for bind in report.binds] == ["want.1"]


def test_two_kinds_of_pods_in_one_gang() -> None:
    text = """
        class high 9
        node n1 cpu=4
        node n2 cpu=1 gpu=1
        job x/low phase=Running
        pods x/low 2 cpu=2 on=n1
        pods x/low 1 cpu=1 gpu=1 on=n2
        job x/want min=2 class=high phase=Inqueue
        pods x/want 1 cpu=2
        pods x/want 1 cpu=1 gpu=1
    """
    report = Busy(text, PLAIN).cycle()

    assert kept(report) == {"want.0": "n1", "want.1": "n2"}
    assert evicted(report) == ["low.1", "low.2"]


SIZES = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=20)


@settings(max_examples=examples(25), deadline=None)
@given(SIZES, st.integers(1, 6), st.booleans())
def test_a_single_pod_finds_room_exactly_where_some_node_can_give_it(
    sizes: list[list[int]], wants: int, compared: bool
) -> None:
    """Amounts alone: a node can give what its victims hold, whatever the order in which nodes are tried."""
    lines = ["class high 9", "job x/low phase=Running"]
    for at, held in enumerate(sizes):
        lines.append(f"node n{at} cpu={sum(held)}")
        lines += [f"pods x/low 1 cpu={cpu} on=n{at}" for cpu in held]
    lines.append(f"job x/want class=high phase=Inqueue pods=1 cpu={wants}")
    args = {"enableTopologyAwarePreemption": compared}
    report = Busy("\n".join(lines), taking("allocate, preempt", "priority gang-P", "predicates", args=args)).cycle()

    assert bool(report.evictions) is any(sum(held) >= wants for held in sizes)
    if report.evictions:
        node = kept(report)["want.0"]
        gone = [sizes[int(node[1:])]] if {eviction.node for eviction in report.evictions} == {node} else []
        assert gone, "victims on one node alone, where the pod is to go"
        assert len(report.evictions) <= wants
