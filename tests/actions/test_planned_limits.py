"""Planned starts keep every limit that allocate keeps, and work that starts before them leaves what they need of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, Plan, manifests, mirror, plan, policy_from
from tests.support.start_plans import POLICY, hours, starts
from vsched.explain.estimate.passing import Decided, Passing
from vsched.framework.codes import NoStart
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words.nodes import A_START, RESERVED_RUN, reserved_elsewhere, said_of_nodes, start_of
from vsched.model.amounts.counted import LIMITS, parse_counted
from vsched.model.arbitration.records import Ceiling
from vsched.model.snapshot import Snapshot
from vsched.plugins.allocation import ALLOCATION
from vsched.settings.built_in import REGISTRY

TREE = "  - name: capacity\n    enableHierarchy: true\n"


def policy(*, depth: int = 1, also: str = TREE) -> Policy:
    return policy_from(POLICY.format(args=f"    arguments: {{depth: {depth}}}") + also)


def said(reason: str, planned: str) -> str:
    """What is said of two nodes with room that is kept for a planned start."""
    return said_of_nodes(reason, 2).replace(A_START, start_of([f"{planned} at 08:20 UTC"]))


def within(snapshot: Snapshot, ceilings: str) -> Snapshot:
    """The snapshot with what namespaces may hold: ``a cpu=2 limits.cpu=3``, one namespace a line."""
    most: dict[str, Ceiling] = {}
    for line in ceilings.splitlines():
        namespace, *words = line.split()
        counted = {name: parse_counted(name, amount) for name, amount in (word.split("=") for word in words)}
        limits = {name: counted.pop(name) for name in LIMITS if name in counted}
        most[namespace] = Ceiling({snapshot.axis.column(name): value for name, value in counted.items()}, limits)
    return replace(snapshot, ceilings=most)


def arbitrated(text: str, ceilings: str, found: Policy) -> Plan:
    snapshot = mirror(manifests(text), arbitrating=True).snapshot(NOW)
    return Plan([run_cycle(within(snapshot, ceilings), found.with_plugin(ALLOCATION), REGISTRY)])


SHARED = f"""
node n1 cpu=8
node n2 cpu=8
queue top capability=cpu:6
queue a parent=top
queue b parent=top
job x/long min=1 queue=a age=900
pods x/long 1 cpu=2 on=n1 started=0 {hours(60)}
job x/short min=1 queue=b age=900
pods x/short 1 cpu=2 on=n2 started=0 {hours(20)}
job x/big min=1 pods=1 cpu=4 queue=a age=600
"""
"""The nodes have room for x/big, and the queue above has none until work of the sibling ends in 20 minutes."""


@pytest.mark.parametrize(
    ("job", "bound"),
    [
        pytest.param(f"queue=b cpu=1 {hours(20)}", True, id="work of a sibling that ends in time goes before"),
        pytest.param(f"queue=b cpu=1 {hours(21)}", False, id="work of a sibling that ends later waits"),
        pytest.param("queue=c cpu=2", True, id="work of a queue elsewhere is free to go"),
    ],
)
def test_the_room_of_a_queue_above_is_kept(job: str, bound: bool) -> None:
    found = plan(f"{SHARED}\nqueue c\njob x/small min=1 pods=1 {job} age=60", policy())
    at, _ = starts(found) or (None, None)
    assert at == 20
    assert (found.bound == {"small": 1}) is bound
    if not bound:
        told = said(reserved_elsewhere("top", ""), "x/big")
        assert told in found.message("x/small")


def test_what_the_queue_above_has_left_besides_goes_to_siblings() -> None:
    text = SHARED.replace("pods=1 cpu=4", "pods=1 cpu=3") + "\njob x/small min=1 pods=1 cpu=1 queue=b age=60"
    assert plan(text, policy()).bound == {"small": 1}, "2 + 3 + 1 of 6 in 20 minutes"
    assert "small" not in plan(text.replace("pods=1 cpu=1", "pods=1 cpu=2"), policy()).bound


def test_a_full_cluster_is_no_limit_of_the_root_once_work_has_ended() -> None:
    text = (
        f"node n1 cpu=4\nqueue a\nqueue b\njob x/w min=1 queue=b age=900\npods x/w 1 cpu=4 on=n1 started=0 {hours(30)}"
    )
    found = plan(f"{text}\njob x/big min=1 pods=1 cpu=4 queue=a age=600", policy())
    assert starts(found) == (30, ("n1",)), "the work that holds the root's room is of another queue"


def test_the_next_planned_start_keeps_the_limit_of_the_first() -> None:
    text = SHARED.replace("queue=a age=600", "queue=a age=600\njob x/next min=1 pods=1 cpu=3 queue=b age=500")
    found = plan(text, policy(depth=2))
    assert starts(found) == (20, ("n2",))
    assert starts(found, "x/next") is None, "4 + 3 are never of 6"
    assert found.jobs["x/next"].unplanned == NoStart.LIMITS
    found = plan(text.replace("pods=1 cpu=3", "pods=1 cpu=2"), policy(depth=2))
    at, _ = starts(found, "x/next") or (None, None)
    assert at == 60, "beside the first once x/long has ended"


def test_limits_on_running_jobs_hold_for_planned_starts_together() -> None:
    text = f"""
node n1 cpu=4
node n2 cpu=4
queue q
job x/one min=1 queue=other age=900
pods x/one 1 cpu=4 on=n1 started=0 {hours(20)}
job x/two min=1 queue=other age=900
pods x/two 1 cpu=4 on=n2 started=0 {hours(40)}
queue other
job x/big min=1 pods=1 cpu=4 queue=q age=600
job x/next min=1 pods=1 cpu=4 queue=q age=500
"""
    for most, expected in ((2, 40), (1, None)):
        limited = policy(depth=2, also=f"  - name: job-limits\n    arguments: {{maxRunningJobs: {most}}}\n")
        found = plan(text, limited)
        assert starts(found) == (20, ("n1",))
        at, _ = starts(found, "x/next") or (None, None)
        assert at == expected


RUNS = f"""
node n1 cpu=8
node n2 cpu=8
queue q
queue other
job x/long min=1 queue=q age=900
pods x/long 1 cpu=1 on=n1 started=0 {hours(60)}
job x/short min=1 queue=q age=900
pods x/short 1 cpu=1 on=n2 started=0 {hours(20)}
job x/big min=2 pods=2 cpu=2 queue=q age=600
"""
"""The nodes have room for x/big, and queue q may run no third job until x/short ends in 20 minutes."""


LIMITED = "  - name: job-limits\n"


def of_runs(text: str, most: int) -> Plan:
    """What is planned where queue q may run so many jobs."""
    return plan(text.replace("queue q\n", f"queue q vsched.io/max-running-jobs={most}\n"), policy(also=LIMITED))


def test_a_job_over_a_limit_on_running_jobs_starts_when_enough_of_them_have_ended() -> None:
    found = of_runs(RUNS, 2)
    at, _ = starts(found) or (None, None)
    assert at == 20
    assert "queue q runs 2 of at most 2 jobs; its start is planned for 08:20 UTC" in found.message("x/big")
    at, _ = starts(of_runs(RUNS, 1)) or (None, None)
    assert at == 60, "once both have ended"


def test_a_limit_that_never_lets_a_job_in_is_named() -> None:
    found = of_runs(re.sub(r" started=0 vsched.io/expected-duration=\d+m", "", RUNS), 2)
    assert starts(found) is None
    assert found.jobs["x/big"].unplanned == NoStart.RUNNING_JOBS


SLOTS = f"""
node n1 cpu=4
node n2 cpu=4
queue q
queue other
job x/long min=1 queue=other age=900
pods x/long 1 cpu=3 on=n1 started=0 {hours(30)}
job x/runs min=1 queue=q age=900
pods x/runs 1 cpu=1 on=n2 started=0 {hours(20)}
job x/big min=1 pods=1 cpu=4 queue=q age=600
"""
"""x/big finds no room for 20 minutes, and n1 has some that it will not take."""


@pytest.mark.parametrize(
    ("most", "job", "bound"),
    [
        pytest.param(1, "queue=q cpu=1", False, id="the last place is taken by work that runs until then"),
        pytest.param(2, "queue=q cpu=1", True, id="a place is left besides the planned job"),
        pytest.param(2, f"queue=q cpu=1 {hours(10)}", True, id="work that ends in time"),
        pytest.param(1, "queue=z cpu=1", True, id="work that the limit does not count"),
    ],
)
def test_a_place_at_a_limit_on_running_jobs_is_kept(most: int, job: str, bound: bool) -> None:
    found = of_runs(f"{SLOTS}\nqueue z\njob x/small min=1 pods=1 {job} age=60", most)
    assert starts(found) == (20, ("n2",))
    assert (found.bound == {"small": 1}) is bound


def test_work_that_would_take_the_last_place_waits_and_says_for_what() -> None:
    text = SLOTS.replace(f"started=0 {hours(20)}", "started=0").replace("x/runs 1 cpu=1 on=n2", "x/runs 1 cpu=1 on=n1")
    text = text.replace("cpu=3 on=n1", "cpu=2 on=n1")
    text += f"job x/ends min=1 queue=other age=900\npods x/ends 1 cpu=1 on=n2 started=0 {hours(20)}\n"
    for most, bound in ((2, False), (3, True)):
        found = of_runs(f"{text}\njob x/small min=2 pods=2 cpu=0.1 queue=q age=60", most)
        assert starts(found) == (20, ("n2",))
        assert (found.bound == {"small": 2}) is bound
        if not bound:
            kept = said(RESERVED_RUN, "x/big")
            assert kept in found.message("x/small")
    assert of_runs(f"{text}\njob x/small min=2 pods=2 cpu=0.1 queue=q age=60 {hours(20)}", 2).bound, "in time"


def test_a_job_that_runs_may_get_more_pods_although_places_are_kept() -> None:
    text = SLOTS.replace("x/runs 1 cpu=1 on=n2 started=0", "x/runs 1 cpu=1 on=n1 started=0").replace(hours(20), "")
    text += f"job x/ends min=1 queue=other age=900\npods x/ends 1 cpu=1 on=n2 started=0 {hours(20)}\n"
    text = text.replace("cpu=3 on=n1", "cpu=2 on=n1") + "pods x/runs 1 cpu=1 prefix=more\n"
    assert sum(of_runs(text, 2).bound.values()) == 1


CEILING = f"""
node n1 cpu=8
node n2 cpu=8
job a/long min=1 age=900
pods a/long 1 cpu=2 on=n1 started=0 {hours(60)}
job a/short min=1 age=900
pods a/short 1 cpu=2 on=n2 started=0 {hours(20)}
job a/big min=1 pods=1 cpu=4 age=600
"""


@pytest.mark.parametrize(
    ("job", "bound"),
    [
        pytest.param(f"a/small min=1 pods=1 cpu=1 {hours(20)}", True, id="work of the namespace that ends in time"),
        pytest.param(f"a/small min=1 pods=1 cpu=1 {hours(21)}", False, id="work of the namespace that ends later"),
        pytest.param("b/small min=1 pods=1 cpu=1", True, id="work of another namespace"),
    ],
)
def test_a_job_at_the_ceiling_of_its_namespace_starts_when_enough_of_the_namespace_has_ended(
    job: str, bound: bool
) -> None:
    found = arbitrated(f"{CEILING}\njob {job} age=60", "a cpu=6", policy(also=""))
    at, _ = starts(found, "a/big") or (None, None)
    assert at == 20
    assert (found.bound == {"small": 1}) is bound
    if not bound:
        told = said(reserved_elsewhere("", "a"), "a/big")
        assert told in found.message("a/small")


def test_a_ceiling_on_limits_of_pods_is_kept_as_well() -> None:
    text = re.sub(r"cpu=(\d)( on|$| age)", r"cpu=\1 limits=cpu:\1\2", CEILING, flags=re.MULTILINE)
    found = arbitrated(f"{text}\njob a/small min=1 pods=1 cpu=1 limits=cpu:1 age=60", "a limits.cpu=6", policy(also=""))
    at, _ = starts(found, "a/big") or (None, None)
    assert at == 20
    assert not found.bound


def test_a_job_that_its_ceiling_never_lets_in_says_so() -> None:
    found = arbitrated(CEILING, "a cpu=3", policy(also=""))
    assert starts(found, "a/big") is None
    assert found.jobs["a/big"].unplanned == NoStart.LIMITS


# -- the property ------------------------------------------------------------------------------------------------------

NODES = 3
QUEUES = ("a", "b", "c")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, str]:
    """A cluster with a tree of queues and ceilings, running work with ends, and jobs that wait."""
    lines = [f"node n{number} cpu=6" for number in range(NODES)]
    lines.append(f"queue top capability=cpu:{draw(st.integers(4, 18))}")
    lines += [f"queue {name} parent=top capability=cpu:{draw(st.integers(3, 18))}" for name in ("a", "b")]
    lines.append(f"queue c capability=cpu:{draw(st.integers(3, 18))}")
    ceilings = [f"{name} cpu={draw(st.integers(4, 18))}" for name in ("x", "y") if draw(st.booleans())]
    namespaces = st.sampled_from(["x", "y"])
    for number in range(NODES):
        for part, minutes in enumerate(draw(st.lists(st.integers(1, 60), max_size=3))):
            key = f"{draw(namespaces)}/r{number}{part}"
            lines.append(f"job {key} min=1 queue={draw(st.sampled_from(QUEUES))} age=900")
            lines.append(f"pods {key} 1 cpu=2 on=n{number} started=0 {hours(minutes)}")
    for number in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 3))
        lasts = draw(st.one_of(st.just(""), st.integers(1, 90).map(hours)))
        cpu = draw(st.integers(1, 5))
        queue = draw(st.sampled_from(QUEUES))
        key = f"{draw(namespaces)}/w{number}"
        lines.append(f"job {key} min={size} pods={size} cpu={cpu} queue={queue} age={500 - number} {lasts}")
    return "\n".join(lines), "\n".join(ceilings)


@settings(max_examples=examples(60))
@given(worlds(), st.sampled_from([1, 3]), st.sampled_from([TREE, "  - name: proportion\n"]))
def test_a_planned_start_keeps_every_limit_that_allocate_keeps(world: tuple[str, str], depth: int, also: str) -> None:
    text, ceilings = world
    if depth > 1:  # limits alone decide: a job may start on other nodes than planned, and so delay those after it
        text = re.sub(r"^(node n\d cpu)=6$", r"\1=60", text, flags=re.MULTILINE)
    keeps_limits(text, ceilings, policy(depth=depth, also=also))


@st.composite
def worlds_of_runs(draw: st.DrawFn) -> str:
    """Queues with limits on running jobs, a job that needs whole nodes, and small ones after it."""
    most, user = st.sampled_from([2, 2, 3]), st.sampled_from(["", " vsched.io/user=ann"])
    small = st.one_of(st.just(""), st.integers(1, 90).map(hours))
    lines = ["node n0 cpu=6", "node n1 cpu=6", f"queue top vsched.io/max-running-jobs={draw(most) + 1}"]
    lines.append(f"queue a parent=top vsched.io/max-running-jobs={draw(most)}")
    lines.append(f"queue b parent=top vsched.io/max-running-jobs-per-user={draw(most)}")
    for number, (queue, lasts) in enumerate([("a", draw(small)), ("b", hours(draw(st.integers(1, 60))))]):
        lines.append(f"job x/r{number} min=1 queue={queue} age=900{draw(user)}")
        lines.append(f"pods x/r{number} 1 cpu={draw(st.integers(1, 3))} on=n{number} started=0 {lasts}")
    size = draw(st.sampled_from([1, 1, 2]))
    lines.append(f"job x/w0 min={size} pods={size} cpu=6 queue=a age=500{draw(user)} {draw(small)}")
    for number in range(1, draw(st.integers(2, 4))):
        asks = f"min=1 pods={draw(st.integers(1, 2))} cpu=1 queue={draw(st.sampled_from('ab'))}"
        lines.append(f"job x/w{number} {asks} age={500 - number}{draw(user)} {draw(small)}")
    return "\n".join(lines)


@settings(max_examples=examples(100))
@given(worlds_of_runs(), st.sampled_from([1, 3]))
def test_a_planned_start_keeps_its_place_at_limits_on_running_jobs(text: str, depth: int) -> None:
    if depth > 1:  # see above
        text = re.sub(r"^(node n\d cpu)=6$", r"\1=60", text, flags=re.MULTILINE)
    keeps_limits(text, "", policy(depth=depth, also=LIMITED))


def keeps_limits(text: str, ceilings: str, limited: Policy) -> None:
    """Check that every planned job starts at its time, when all work has ended that has to."""
    passing = Passing(mirror(manifests(text), arbitrating=True).snapshot(NOW))
    found = limited.with_plugin(ALLOCATION)
    first = run_cycle(within(passing.at(NOW, frozenset(passing.jobs)), ceilings), found, REGISTRY)
    planned = sorted((one.planned.at, key) for key, one in first.jobs.items() if one.planned is not None)
    event(f"{len(planned)} planned starts")
    passing.settle(Decided(first, {key: one.phase for key, one in first.jobs.items()}), NOW)
    minutes = {key: re.search(rf"{key.rpartition('/')[2]} .*expected-duration=(\d+)m", text) for key in passing.jobs}
    ends = {key: NOW + 60 * float(match[1]) for key, match in minutes.items() if match is not None}
    for at, key in planned:
        over = [
            task for name, job in passing.jobs.items() if ends.get(name, at + 1) <= at for task in job.tasks.values()
        ]
        passing.end([task for task in over if task.node])
        report = run_cycle(within(passing.at(at, frozenset({key})), ceilings), found, REGISTRY)
        assert {bind.job for bind in report.binds} == {key}, report.jobs[key].message
        passing.settle(Decided(report, {name: one.phase for name, one in report.jobs.items()}), at)
        ends.pop(key, None)
