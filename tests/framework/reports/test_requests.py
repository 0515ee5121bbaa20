"""Pods that were asked to end by themselves: how long requests stand, and what follows then."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.plans import NOW
from tests.support.taking import Busy, taking
from vsched.framework.policy import Policy
from vsched.framework.words.jobs import goes_once
from vsched.framework.words.victims import EVICTION_REFUSED, NO_OTHER_PLACE, UNNEEDED, leaving_by_themselves
from vsched.model.pods.cooperation import EvictionRequest

PREEMPT = taking("allocate, preempt, backfill", "priority gang-P conformance", "predicates")
RECLAIM = taking("enqueue, allocate, reclaim", "priority gang conformance proportion", "predicates")
SHUFFLE = taking("enqueue, allocate, backfill", "priority gang conformance", "predicates")


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def asked(since: float = 10, left: float = 50, reason: str = "preempt for x/want", **answers: str) -> str:
    """Of a pod that was asked ``since`` seconds ago and has so many seconds ``left``; the answers of its owner."""
    said = {"requested": stamp(-since), **answers}
    told = " ".join(f"vsched.io/eviction-{name}={value}" for name, value in said.items())
    return f"askedAgo={since} asked={reason.replace(' ', '~')},~until~{stamp(left)} {told}"


def full(of_old: str, want: str = "nominated=n1") -> str:
    return f"""
        class high 9
        node n1 cpu=1
        job x/old phase=Running
        pods x/old 1 cpu=1 on=n1 {of_old}
        job x/want class=high phase=Inqueue pods=1 cpu=1 {want}
    """


def decided(text: str, policy: Policy = PREEMPT) -> tuple[list[tuple[str, float]], list[tuple[str, str]], float]:
    """Evictions with their waits, withdrawals with their reasons, and in how many seconds the next session is due."""
    report = Busy(text, policy).cycle()
    due = report.due - NOW if report.due else 0.0
    return [(one.name, one.wait) for one in report.evictions], [(one.name, one.why) for one in report.withdrawals], due


# More runs on n1 than it has room for: once who was asked has left, there is still no room for whom it was asked.
ELSEWHERE = f"""
    node n0 cpu=1
    job x/other phase=Running
    pods x/other 1 cpu=1 on=n0
    {full(asked(left=-5))}
    pods x/old 2 cpu=1 on=n1
"""
NOT_NEEDED = [("old.0", UNNEEDED)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            full("vsched.io/cooperative-eviction=5m", want=""),
            ([("old.0", 300.0)], [], 0.0),
            id="a victim that opts in is asked, for as long as it says",
        ),
        pytest.param(full("", want=""), ([("old.0", 0.0)], [], 0.0), id="a victim that does not is evicted at once"),
        pytest.param(full(asked()), ([], [], 50.0), id="a request stands while its beneficiary waits for the room"),
        pytest.param(full(asked(expected=stamp(20))), ([], [], 50.0), id="an expected end alone evicts nobody"),
        pytest.param(full(asked(expected=stamp(-5))), ([], [], 50.0), id="nor does one that has passed"),
        pytest.param(full(asked(ready="true")), ([("old.0", 0.0)], [], 0.0), id="a pod that is ready is evicted"),
        pytest.param(full(asked(ready="yes")), ([], [], 50.0), id="ready is said by true alone"),
        pytest.param(full(asked(left=0)), ([("old.0", 0.0)], [], 0.0), id="a pod is evicted at the deadline"),
        pytest.param(
            full(asked(since=-120, left=3000)), ([("old.0", 0.0)], [], 0.0), id="a request of the future is due"
        ),
        pytest.param(
            full(asked(since=100_000, left=100_000)),
            ([("old.0", 0.0)], [], 0.0),
            id="no request lasts longer than requests may",
        ),
        pytest.param(
            full(asked(), want="gated"), ([], NOT_NEEDED, 0.0), id="it is withdrawn once the beneficiary has no place"
        ),
        pytest.param(
            full(asked(left=0), want="gated"),
            ([], NOT_NEEDED, 0.0),
            id="at the deadline, too: nobody is evicted for nothing",
        ),
        pytest.param(
            full(asked(reason="shuffle"), want="gated"), ([], [], 50.0), id="without a beneficiary the deadline decides"
        ),
        pytest.param(
            full(asked(reason="preempt for x/gone")), ([], [], 50.0), id="another job that has the place now needs it"
        ),
        pytest.param(
            full(asked(reason="preempt for x/gone")).replace("cpu=1\n", "cpu=2\n", 1),
            ([], NOT_NEEDED, 0.0),
            id="unless it has room enough without",
        ),
        pytest.param(
            ELSEWHERE,
            ([("other.0", 0.0)], NOT_NEEDED, 0.0),
            id="at the deadline, too, it is withdrawn once the beneficiary is nominated to another node",
        ),
    ],
)
def test_what_becomes_of_a_request(
    text: str, expected: tuple[list[tuple[str, float]], list[tuple[str, str]], float]
) -> None:
    assert decided(text) == expected


def test_an_asked_pod_is_no_victim_again_and_its_room_is_not_taken_twice() -> None:
    text = full(asked()) + "\njob x/more class=high phase=Inqueue pods=1 cpu=1"
    assert decided(text) == ([], [], 50.0)


def test_a_pod_that_the_api_server_keeps_need_not_end_and_is_spared() -> None:
    world = Busy(full(asked(left=0)), PREEMPT)
    world.cache.assumptions.spare(world.task("old.0").uid)
    report = world.cycle()
    assert [one.why for one in report.withdrawals] == [EVICTION_REFUSED]
    assert not report.evictions


def test_the_budget_of_an_asked_pod_is_spent() -> None:
    ours = full(asked()) + "\nnode n2 cpu=1\npods x/old 1 cpu=1 on=n2\njob x/more class=high phase=Inqueue pods=1 cpu=1"
    free, bound = decided(ours), decided(ours + "\npdb x/b allowed=1")
    assert (free[0], bound[0]) == ([("old.1", 0.0)], [])


GANG = """
    class high 9
    node n1 cpu=1
    node n2 cpu=1
    job x/old min={least} phase=Running
    pods x/old 1 cpu=1 on=n1 {asked}
    pods x/old 1 cpu=1 on=n2 {asked}
    job x/want class=high phase=Inqueue pods=1 cpu=1 nominated=n1
"""


@pytest.mark.parametrize(
    ("least", "withdrawn"),
    [
        pytest.param(2, [], id="of a gang that cannot do without the one, the other leaves as well"),
        pytest.param(1, ["old.1"], id="of a job that can, the other may stay"),
    ],
)
def test_pods_of_one_job_whose_room_is_needed_in_part(least: int, withdrawn: list[str]) -> None:
    report = Busy(GANG.format(least=least, asked=asked()), PREEMPT).cycle()
    assert [one.name for one in report.withdrawals] == withdrawn


@pytest.mark.parametrize(("role", "withdrawn"), [("ps", []), ("worker", ["old.1"])], ids=["its only one", "one of two"])
def test_pods_of_a_job_that_loses_one_of_a_role(role: str, withdrawn: list[str]) -> None:
    text = f"""
        class high 9
        node n1 cpu=1
        node n2 cpu=2
        job x/old min=2 phase=Running roles={role}:1
        pods x/old 1 cpu=1 on=n1 role={role} {asked()}
        pods x/old 1 cpu=1 on=n2 role=worker {asked()}
        pods x/old 1 cpu=1 on=n2 role=worker
        job x/want class=high phase=Inqueue pods=1 cpu=1 nominated=n1
    """
    assert [one.name for one in Busy(text, PREEMPT).cycle().withdrawals] == withdrawn


def test_the_gang_that_waits_is_told_for_whom_and_until_when() -> None:
    def said(text: str) -> str:
        return Busy(text, PREEMPT).cycle().unschedulable["x/want.0"].message

    def ends(expected: float = 0) -> str:
        request = EvictionRequest(NOW - 10, NOW + 50, expected=expected)
        return goes_once("n1", leaving_by_themselves([("x/old.0", request)]))

    assert said(full(asked())) == ends()
    assert said(full(asked(expected=stamp(20)))) == ends(NOW + 20)
    assert said(full(asked(expected=stamp(900)))) == ends(NOW + 900)


@st.composite
def clusters(draw: st.DrawFn) -> str:
    """Nodes with running pods, some asked for jobs that may or may not have a place, and jobs that wait."""
    lines = ["class high 9"]
    count = draw(st.integers(1, 4))
    for number in range(count):
        lines += [f"node n{number} cpu={draw(st.integers(1, 3))}", f"job x/old{number} phase=Running"]
        for _ in range(draw(st.integers(0, 3))):
            request = asked(
                since=draw(st.sampled_from([0, 10, 100])),
                left=draw(st.sampled_from([-5, 0, 30])),
                reason=draw(st.sampled_from(["preempt for x/want0", "preempt for x/want1", "preempt for x/gone"])),
            )
            opted = draw(st.sampled_from(["", "vsched.io/cooperative-eviction=1m", request]))
            lines.append(f"pods x/old{number} 1 cpu=1 on=n{number} {opted}")
    for number in range(draw(st.integers(0, 2))):
        place = f"nominated=n{draw(st.integers(0, count - 1))}" if draw(st.booleans()) else ""
        lines.append(f"job x/want{number} class=high phase=Inqueue pods=1 cpu=1 {place}")
    return "\n".join(lines)


@given(clusters())
@example(ELSEWHERE)
def test_nobody_is_asked_twice_nobody_needed_is_let_off_and_deadlines_are_kept(text: str) -> None:
    world = Busy(text, PREEMPT)
    before = {task.uid: task for task in world.tasks()}
    report = world.cycle()
    evicted = {one.uid: one for one in report.evictions}
    withdrawn = {one.uid for one in report.withdrawals}
    nominated = {uid: task.nominated for uid, task in before.items() if task.nominated}
    nominated |= {one.uid: one.node for one in report.nominations if one.lasting or one.uid in nominated}
    bound = {one.uid for one in report.binds}
    awaited = {(before[uid].job, node) for uid, node in nominated.items() if node and uid not in bound}
    assert len(evicted) == len(report.evictions)
    assert not withdrawn & evicted.keys()
    for uid, task in before.items():
        if task.asked is None:
            continue
        assert uid not in evicted or not evicted[uid].wait, "whoever was asked is not asked again"
        if (task.asked.beneficiary, task.node) in awaited:
            assert uid not in withdrawn, "the beneficiary waits for the room"
        if task.asked.deadline <= NOW:
            assert uid in withdrawn or uid in evicted
        else:
            assert uid not in evicted
            assert uid in withdrawn or NOW < report.due <= task.asked.deadline


MOVED = asked(left=-5, reason="consolidate for x/want")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param("node n2 cpu=1", ([("old.0", 0.0)], []), id="goes while another node has room for it"),
        pytest.param("", ([], [("old.0", NO_OTHER_PLACE)]), id="stays where none has room any more"),
        pytest.param("node n2 cpu=1 cordoned", ([], [("old.0", NO_OTHER_PLACE)]), id="or none takes it"),
    ],
)
def test_a_pod_that_is_moved(more: str, expected: object) -> None:
    text = full(MOVED, want="nominated=n1 selector=zone:a").replace("node n1 cpu=1", "node n1 cpu=1 zone=a") + more
    evictions, withdrawals, _ = decided(text)
    assert (evictions, withdrawals) == expected


def test_two_pods_that_are_moved_do_not_count_on_one_place() -> None:
    text = full(MOVED, want="nominated=n1 selector=zone:a").replace("node n1 cpu=1", "node n1 cpu=2 zone=a")
    text = text.replace("pods x/old 1", "pods x/old 2").replace("pods=1 cpu=1 nominated", "pods=1 cpu=2 nominated")
    evictions, withdrawals, _ = decided(f"{text}\nnode n2 cpu=1")
    assert (evictions, withdrawals) == ([("old.0", 0.0)], [("old.1", NO_OTHER_PLACE)])
