"""consolidate: who is moved so that a waiting job has room, and who stays."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.consolidating import OLD, POLICY, policy
from tests.support.plans import Plan, plan, policy_from
from vsched.errors import BadPolicy
from vsched.framework.policy import Policy

YOUNG = "owned started=60"
BLOCKED = f"""
    node n1 cpu=4
    node n2 cpu=4
    job ns/a phase=Running
    pods ns/a 1 cpu=2 on=n1 {OLD}
    job ns/b phase=Running
    pods ns/b 1 cpu=2 on=n2 labels=app:b {OLD}
    job ns/want pods=1 cpu=4 phase=Inqueue
"""
"""Each of two pods keeps the job from a whole node, and has room beside the other."""


def moved(text: str, policy: Policy = POLICY) -> list[str]:
    """The pods that are moved, with the node that has room for them."""
    return [f"{one.name} to {one.to}" for one in plan(text, policy).reports[0].evictions]


def test_a_pod_makes_room_and_the_room_is_kept_for_the_job() -> None:
    report = plan(BLOCKED, POLICY).reports[0]

    [eviction] = report.evictions
    assert (eviction.name, eviction.node, eviction.to) == ("a.0", "n1", "n2")
    assert (eviction.action, eviction.beneficiary) == ("consolidate", "ns/want")
    assert [(one.name, one.node, one.lasting) for one in report.nominations] == [("want.0", "n1", True)]
    assert report.binds == ()


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(OLD, ["a.0 to n2"], id="one that has run for long enough"),
        pytest.param(YOUNG, ["b.0 to n1"], id="not one that has just started: it may have been moved before"),
        pytest.param("started=3600", ["b.0 to n1"], id="not one that no controller makes again"),
        pytest.param(f"{OLD} priority=9", ["a.0 to n2"], id="priority among the pods of its job counts for nothing"),
        pytest.param(f"{OLD} volcano.sh/preemptable=false", ["b.0 to n1"], id="not one that is not preemptable"),
        pytest.param(f"{OLD} podClass=system-node-critical", ["b.0 to n1"], id="not one of the cluster's own"),
        pytest.param(f"{OLD} volcano.sh/cooldown-time=2h scheduled=3600", ["b.0 to n1"], id="not one that cools down"),
        pytest.param(f"{OLD} selector=zone:a", ["b.0 to n1"], id="not one that may run nowhere else"),
        pytest.param(f"{OLD} apart=b", [], id="not one that avoids who is there; nor may that one come to it"),
        pytest.param(f"{OLD} leaving", [], id="nobody where one leaves in any case: its room is enough"),
        pytest.param(f"{OLD} bound", ["b.0 to n1"], id="not one that has not started"),
    ],
)
def test_who_is_moved(pod: str, expected: list[str]) -> None:
    text = BLOCKED.replace("node n1", "node n1 zone=a").replace(f"cpu=2 on=n1 {OLD}", f"cpu=2 on=n1 {pod}")
    assert moved(text) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("vsched.io/preemptibility=non-preemptible", ["b.0 to n1"], id="not one of a job without victims"),
        pytest.param("vsched.io/preemptibility=semi-preemptible", ["b.0 to n1"], id="not one that its job needs"),
        pytest.param("vsched.io/preemptibility=preemptible", ["a.0 to n2"], id="one of a job that says so"),
    ],
)
def test_what_its_job_says(said: str, expected: list[str]) -> None:
    assert moved(BLOCKED.replace("job ns/a", f"job ns/a {said}")) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param("pdb ns/guard selector=job:a allowed=0", ["b.0 to n1"], id="a budget without anything left"),
        pytest.param("pdb ns/guard selector=job:a allowed=1", ["a.0 to n2"], id="a budget that allows it"),
        pytest.param(
            "pdb ns/one selector=job:a allowed=0\npdb ns/other selector=app:b allowed=0", [], id="budgets of both"
        ),
    ],
)
def test_disruption_budgets(more: str, expected: list[str]) -> None:
    assert moved(f"{BLOCKED}\n{more}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"pods ns/b 1 cpu=1 on=n2 {OLD}", [], id="nobody where there is no room for who would leave"),
        pytest.param("node n3 cpu=4", [], id="nobody where the job fits"),
        pytest.param("pods ns/want 1 cpu=4", ["a.0 to n2"], id="for its minimum, and for nothing beyond"),
        pytest.param("job ns/more pods=1 cpu=4 phase=Inqueue", ["a.0 to n2"], id="for as many as there is room for"),
    ],
)
def test_for_what_pods_are_moved(text: str, expected: list[str]) -> None:
    assert moved(f"{BLOCKED}\n{text}") == expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param("phase=Inqueue", 1, id="one that may start"),
        pytest.param("queue=full phase=Inqueue", 0, id="not one whose queue may hold no more"),
        pytest.param("queue=closed phase=Inqueue", 0, id="not one of a closed queue"),
        pytest.param("min=2 phase=Inqueue", 0, id="not one whose other pods do not exist yet"),
        pytest.param("phase=Pending minResources=cpu:99", 0, id="not one that is not admitted"),
        pytest.param("vsched.io/preemptibility=non-preemptible phase=Inqueue", 1, id="one that is not preemptible"),
    ],
)
def test_whom_pods_are_moved_for(job: str, expected: int) -> None:
    queues = "queue full capability=cpu:3\nqueue closed state=Closed"
    assert len(moved(BLOCKED.replace("cpu=4 phase=Inqueue", f"cpu=4 {job}") + queues)) == expected


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        pytest.param("capability=cpu:4", ["a.0 to n2"], id="it may hold the pod again"),
        pytest.param("capability=cpu:1", ["b.0 to n1"], id="it holds more than it may: it would not get it again"),
        pytest.param("reclaimable=false", ["a.0 to n2"], id="a queue that gives nothing back loses nothing"),
        pytest.param("state=Closed", ["b.0 to n1"], id="a closed queue takes no new pod"),
    ],
)
def test_the_queue_of_a_pod_that_is_moved(queue: str, expected: list[str]) -> None:
    text = BLOCKED.replace("job ns/a", "job ns/a queue=q") + f"queue q {queue}"
    assert moved(text) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(("cpu=2 on=n1", "cpu=1 on=n1"), ["a.0 to n2"], id="the one that has done less work"),
        pytest.param(("job ns/a", "job ns/a class=high"), ["b.0 to n1"], id="the one of lower priority"),
        pytest.param(("job ns/a", "job ns/a min=0"), ["a.0 to n2"], id="the one that its job can spare"),
        pytest.param(("job ns/b", "job ns/b min=0"), ["b.0 to n1"], id="whichever that is"),
        pytest.param((f"on=n1 {OLD}", "on=n1 owned started=7200"), ["b.0 to n1"], id="the one that has run less"),
    ],
)
def test_of_equal_numbers_the_cheapest_is_moved(change: tuple[str, str], expected: list[str]) -> None:
    assert moved(BLOCKED.replace(*change) + "class high 9") == expected


def test_one_large_pod_is_moved_in_place_of_two_small_ones() -> None:
    text = f"""
        class high 9
        node n1 cpu=4
        node n2 cpu=4
        node n3 cpu=2
        job ns/small phase=Running min=0
        pods ns/small 2 cpu=1 on=n1 {OLD}
        job ns/large phase=Running class=high
        pods ns/large 1 cpu=2 on=n2 {OLD}
        job ns/want pods=1 cpu=4 phase=Inqueue
    """
    assert moved(text) in (["large.0 to n1"], ["large.0 to n3"])


def test_a_gang_gets_room_on_several_nodes() -> None:
    nodes = "\n".join(f"node n{number} cpu=4" for number in range(4))
    pods = "\n".join(f"pods ns/a 1 cpu={2 + number % 2} on=n{number} {OLD}" for number in range(4))
    text = f"{nodes}\nnode n4 cpu=3\njob ns/a phase=Running\n{pods}\njob ns/want min=2 pods=2 cpu=4 phase=Inqueue"

    found = plan(text, POLICY).reports[0]
    assert len(found.evictions) == 2
    assert len({one.node for one in found.nominations}) == 2


def test_a_gang_stays_where_it_is_if_only_a_part_of_it_would_fit() -> None:
    assert moved(BLOCKED.replace("pods=1 cpu=4", "min=2 pods=2 cpu=4")) == []


def test_places_that_the_job_leaves_to_successors_are_found() -> None:
    """The best node for the job by its score is the only one that has room for who leaves."""
    text = f"""
        node n1 cpu=4
        node n2 cpu=3
        node n3 cpu=3 zone=b
        job ns/a phase=Running
        pods ns/a 1 cpu=3 on=n1 selector=zone:b {OLD}
        job ns/want min=2 pods=1 cpu=4 phase=Inqueue
        pods ns/want 1 cpu=3
    """
    text = text.replace("node n1", "node n1 zone=b")
    assert moved(text) == ["a.0 to n3"]


def test_no_two_successors_get_one_place() -> None:
    text = f"""
        node n1 cpu=4
        node n2 cpu=2
        job ns/a phase=Running
        pods ns/a 2 cpu=2 on=n1 {OLD}
        job ns/want pods=1 cpu=4 phase=Inqueue
    """
    assert moved(text) == []
    assert sorted(moved(f"{text}\nnode n3 cpu=2")) == ["a.0 to n2", "a.1 to n3"]


def test_room_that_pods_have_yet_to_leave_is_no_place_now() -> None:
    text = BLOCKED.replace("node n2 cpu=4", "node n2 cpu=5") + f"pods ns/b 1 cpu=2 on=n2 {OLD} leaving"
    assert moved(text) == ["b.0 to n1"], "n2 has room for a.0 only once a pod has left it"


def test_two_jobs_do_not_count_on_one_place() -> None:
    text = f"""
        node n1 cpu=4
        node n2 cpu=4
        node n3 cpu=2
        job ns/a phase=Running
        pods ns/a 1 cpu=2 on=n1 {OLD}
        pods ns/a 1 cpu=2 on=n2 {OLD}
        pods ns/a 1 cpu=2 on=n2 volcano.sh/preemptable=false
        job ns/one pods=1 cpu=4 phase=Inqueue age=60
        job ns/two pods=1 cpu=4 phase=Inqueue
    """
    report = plan(text, POLICY).reports[0]
    assert [(one.name, one.beneficiary) for one in report.evictions] == [("a.0", "ns/one")]


def test_later_actions_do_not_take_the_place_of_a_successor() -> None:
    """The place is idle, and still no pod is evicted for another job that would take it."""
    text = f"""
        class high 9
        {BLOCKED}
        job ns/late min=2 pods=2 cpu=2 class=high phase=Inqueue
        node n3 cpu=2
        job ns/low phase=Running min=0
        pods ns/low 1 cpu=2 on=n3 started=3600
    """
    report = plan(text, policy("enqueue, allocate, consolidate, preempt, backfill", "predicates nodeorder")).reports[0]
    taken = {one.node for one in report.nominations if one.name.startswith("late")}
    assert not taken & {one.to for one in report.evictions}


def test_nothing_is_done_without_steps() -> None:
    assert moved(BLOCKED, policy(moveSearchSteps=0)) == []


def test_the_time_a_pod_runs_before_it_is_moved_is_the_policy_s() -> None:
    young = BLOCKED.replace("started=3600", "started=60")
    assert moved(young) == []
    assert moved(young, policy(minRunningTime="1m")) == ["a.0 to n2"]
    report = plan(young, POLICY).reports[0]
    assert report.due - 540 == pytest.approx(1_800_000_000.0), "a session comes once it may be moved"


def test_moves_come_true() -> None:
    """Once the pod has left, and its successor has come, both have their places."""
    found: Plan = plan(BLOCKED, POLICY, cycles=3)
    assert found.nodes == {"want.0": "n1"}
    assert [len(one) for one in found.evicted] == [1, 0, 0]


def test_a_job_that_another_would_evict_at_once_gets_no_moves() -> None:
    text = f"""
        class high 9
        {BLOCKED}
        pods ns/a 1 cpu=1 on=n1 volcano.sh/preemptable=false
        job ns/large pods=1 cpu=9 class=high phase=Inqueue
    """
    again = partial(moved, policy=policy("allocate, consolidate, preempt", "predicates"))
    assert again(text) == []


@pytest.mark.parametrize(
    "argument",
    ["minRunningTime: soon", "moveSearchSteps: -1", "defragment: {movesPerHour: 9999}", "minRuningTime: 1m"],
)
def test_a_mistake_in_the_arguments_is_told_with_its_line(argument: str) -> None:
    key = "defragment.movesPerHour" if "defragment" in argument else argument.partition(":")[0]
    with pytest.raises(BadPolicy, match=rf"policy:11: configurations\[0\]\.arguments\.{key}"):
        policy_from(
            'actions: "allocate, consolidate"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n'
            "  - name: predicates\n  - name: nodeorder\nconfigurations:\n- name: consolidate\n  arguments:\n"
            f"    {argument}\n"
        )


@pytest.mark.parametrize("annotation", ["preempt-min-runtime", "reclaim-min-runtime"])
def test_a_minimum_run_time_is_kept_whoever_it_is_for(annotation: str) -> None:
    text = BLOCKED.replace("job ns/a", f"job ns/a vsched.io/{annotation}=2h")
    assert moved(text, policy(plugins="minruntime predicates nodeorder")) == ["b.0 to n1"]
