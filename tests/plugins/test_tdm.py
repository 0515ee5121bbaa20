"""tdm: zones by the time of the day, who may use them, and who has to leave."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import NOW, plan
from tests.support.worlds import World
from vsched.errors import BadPolicy
from vsched.framework.points.extension import Vote
from vsched.framework.points.victims import Purpose
from vsched.framework.policy import Policy
from vsched.plugins.tdm import Tdm, TdmArgs, is_open
from vsched.plugins.words.nodes import NOT_REVOCABLE, ZONE_CLOSED
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

ZONE, REVOCABLE, PREEMPTABLE = "volcano.sh/revocable-zone", "volcano.sh/revocable-zone", "volcano.sh/preemptable"
CLOSED = ZONE_CLOSED
NOT_REVOCABLE = NOT_REVOCABLE
ARGS = TdmArgs(zones={"day": "07:00-21:00", "night": "21:00-23:00", "idle": "9:00-10:00"})
NODES = f"""
node n1
node n2 {ZONE}=day
node n3 {ZONE}=night
node n4 {ZONE}=unheard-of
"""


def at(clock: str) -> float:
    return datetime.fromisoformat(f"2026-08-01T{clock}+00:00").astimezone(UTC).timestamp()


@pytest.mark.parametrize(
    ("window", "clock", "expected"),
    [
        pytest.param("10:00-21:00", "09:59:59", False, id="before it begins"),
        pytest.param("10:00-21:00", "10:00:00", True, id="when it begins"),
        pytest.param("10:00-21:00", "21:00:00", True, id="when it ends"),
        pytest.param("10:00-21:00", "21:00:01", False, id="after it ended"),
        pytest.param("0:00-0:00", "13:00:00", True, id="the whole day"),
        pytest.param("22:00-06:00", "23:59:59", True, id="a window over midnight, on its first day"),
        pytest.param("22:00-06:00", "05:00:00", False, id="it counts from its beginning until midnight"),
        pytest.param("9:05-9:06", "09:05:30", True, id="hours of one digit"),
    ],
)
def test_windows_of_a_day(window: str, clock: str, expected: bool) -> None:
    assert is_open(window, at(clock)) is expected


@pytest.mark.parametrize(
    ("pod", "nodes", "reasons"),
    [
        pytest.param("", "n1", [CLOSED, NOT_REVOCABLE], id="an ordinary pod stays on ordinary nodes"),
        pytest.param(f"{REVOCABLE}=*", "n1 n2", [CLOSED], id="a revocable pod may use open zones"),
        pytest.param(f"{PREEMPTABLE}=true", "n1 n2", [CLOSED], id="preemptable by annotation means revocable"),
        pytest.param(f"{PREEMPTABLE}=false", "n1", [CLOSED, NOT_REVOCABLE], id="not preemptable does not"),
        pytest.param(f"{REVOCABLE}=day", "n1", [CLOSED, NOT_REVOCABLE], id="zones cannot be chosen by name"),
        pytest.param(f"{REVOCABLE}=no {PREEMPTABLE}=true", "n1", [CLOSED, NOT_REVOCABLE], id="its own word counts"),
    ],
)
def test_the_nodes_of_a_pod(pod: str, nodes: str, reasons: list[str]) -> None:
    world = World(f"{NODES}\njob ns/a pods=1 cpu=1 {pod}")
    checks = world.opened(Tdm(ARGS)).static_checks(world.task("a.0").shape, world.nodes)

    assert [check.reason for check in checks] == reasons
    assert not any(check.resolvable for check in checks)
    passing = [all(check.passes[row] for check in checks) for row in range(4)]
    assert [name for name, passes in zip(world.nodes.statics.names, passing, strict=True) if passes] == nodes.split()


@pytest.mark.parametrize(
    ("pod", "scores"),
    [
        pytest.param(f"{REVOCABLE}=*", [0, 100, 0, 0], id="a revocable pod prefers open zones"),
        pytest.param("", None, id="to others it is all the same"),
    ],
)
def test_scores(pod: str, scores: list[float] | None) -> None:
    world = World(f"{NODES}\njob ns/a pods=1 cpu=1 {pod}")
    plugin, shape = world.opened(Tdm(ARGS)), world.task("a.0").shape
    found = plugin.score(shape, world.nodes, slice(None))

    assert (None if found is None else found.tolist()) == scores
    assert [plugin.score_row(shape, world.nodes, row) for row in range(4)] == (scores or [0, 0, 0, 0])
    if found is not None:
        found += 1
        again = plugin.score(shape, world.nodes, [1, 2])
        assert again is not None
        assert again.tolist() == [100, 0], "the array is the caller's"


def test_jobs_that_may_be_preempted_go_last_and_never_starve() -> None:
    world = World(f"{NODES}\njob ns/a pods=1\njob ns/b pods=1 {PREEMPTABLE}=true\njob ns/c {PREEMPTABLE}=false")
    plugin = world.opened(Tdm(ARGS))

    assert {key: plugin.job_key(job) for key, job in world.jobs.items()} == {"ns/a": 0, "ns/b": 1, "ns/c": 0}
    starving = {key: plugin.job_starving(job) for key, job in world.jobs.items()}
    assert starving == {"ns/a": True, "ns/b": False, "ns/c": False}


def test_a_job_is_kept_waiting_only_where_its_minimum_is_in_sight() -> None:
    world = World(f"{NODES}\njob ns/a min=1\npods ns/a 1 cpu=1 on=n1\njob ns/b min=2\npods ns/b 1 cpu=1 on=n1")
    plugin = world.opened(Tdm(ARGS))

    assert plugin.job_pipelined(world.jobs["ns/a"]) is Vote.PERMIT
    assert plugin.job_pipelined(world.jobs["ns/b"]) is Vote.REJECT


JDB_MIN, JDB_MAX = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"


@pytest.mark.parametrize(
    ("budget", "victims"),
    [
        pytest.param("", 1, id="one of a job that does not say"),
        pytest.param(f"{JDB_MIN}=1", 3, id="all but those that have to stay"),
        pytest.param(f"{JDB_MIN}=60%", 1, id="a percentage of all pods, rounded up"),
        pytest.param(f"{JDB_MIN}=9", 0, id="nobody where all have to stay"),
        pytest.param(f"{JDB_MAX}=2", 1, id="as many as may be away, less those that are"),
        pytest.param(f"{JDB_MAX}=50%", 2, id="a percentage of those that may be away"),
        pytest.param(f"{JDB_MAX}=1", 0, id="nobody where enough are away"),
        pytest.param(f"{JDB_MIN}=3 {JDB_MAX}=5", 1, id="of both the minimum counts"),
        pytest.param(f"{JDB_MIN}=some {JDB_MAX}=2", 1, id="what cannot be read is passed over"),
        pytest.param(f"{JDB_MAX}=some", 1, id="then it does not say"),
    ],
)
def test_victims_within_the_budget_of_their_job(budget: str, victims: int) -> None:
    """Of five pods four run; one is pending, another has succeeded long ago."""
    world = World(f"""
{NODES}
job ns/a {budget}
pods ns/a 4 cpu=1 on=n1
pods ns/a 1 cpu=1
job ns/new pods=1 cpu=1 {PREEMPTABLE}=false
""")
    plugin, candidates = world.opened(Tdm(ARGS)), world.tasks("a.0 a.1 a.2 a.3")

    votes = plugin.victim_votes(world.task("new.0"), Purpose.PREEMPT)

    assert list(votes.agreed(candidates) or ()) == candidates[:victims]


MIXED = f"""
{NODES}
job ns/a {JDB_MIN}=0
pods ns/a 1 cpu=1 on=n1
pods ns/a 1 cpu=1 on=n2 {REVOCABLE}=*
pods ns/a 1 cpu=1 on=n1 bound
pods ns/a 1 cpu=1 on=n1 {PREEMPTABLE}=false
pods ns/a 1 cpu=1 on=gone
pods ns/a 2 cpu=1 on=n3 {REVOCABLE}=*
pods ns/a 1 cpu=1 on=n4 {REVOCABLE}=*
job ns/b {JDB_MAX}=1
pods ns/b 2 cpu=1 on=n3 {PREEMPTABLE}=true
job ns/new pods=1 cpu=1
"""
ALL = "a.0 a.1 a.2 a.3 a.4 a.5 a.6 a.7 b.0 b.1"


@pytest.mark.parametrize(
    ("evictor", "victims"),
    [
        pytest.param(f"{PREEMPTABLE}=false", "a.0", id="preemptable ones that run on ordinary nodes"),
        pytest.param("", "", id="nobody for a pod that may be preempted itself"),
        pytest.param(f"{PREEMPTABLE}=false {REVOCABLE}=*", "", id="nobody for a pod that may use lent nodes"),
    ],
)
def test_whom_a_pod_may_take_from(evictor: str, victims: str) -> None:
    world = World(f"{MIXED}\njob ns/evictor pods=1 cpu=1 {evictor}")
    plugin, task = world.opened(Tdm(ARGS)), world.task("evictor.0")

    votes = plugin.victim_votes(task, Purpose.PREEMPT)

    assert [found.name for found in votes.agreed(world.tasks(ALL)) or ()] == victims.split()
    assert votes.rules_out(world.jobs["ns/a"]) is (not victims)
    assert votes.depends_on == (not victims)
    assert votes.could_regain(world.task("a.0")) is bool(victims)


def test_pods_of_closed_zones_have_to_leave() -> None:
    world = World(MIXED)
    plugin = world.opened(Tdm(ARGS))

    assert [found.name for found in plugin.victim_tasks(world.tasks(ALL))] == ["a.5", "a.6", "b.0"]
    assert [found.name for found in world.tasks(ALL) if plugin.must_leave(found)] == ["a.5", "a.6", "b.0", "b.1"]


def test_evictions_of_the_cycle_count() -> None:
    world = World(MIXED)
    plugin, first, new = world.opened(Tdm(ARGS)), world.task("b.0"), world.task("new.0")
    job, rest = world.jobs["ns/b"], world.tasks("b.1")

    plugin.on_release(job, first, 0)
    plugin.on_allocate(world.jobs["ns/new"], new, 0)
    assert list(plugin.victim_tasks(rest)) == []
    plugin.on_allocate(job, first, 0)
    assert list(plugin.victim_tasks(rest)) == rest


@pytest.mark.parametrize(
    ("previous", "period", "evicts"),
    [
        pytest.param(None, 60.0, True, id="in the first cycle of all"),
        pytest.param(NOW, 60.0, False, id="not twice at one time"),
        pytest.param(NOW - 1, 60.0, True, id="in the first cycle of a period"),
        pytest.param(NOW - 1, 420.0, False, id="not in the next one"),
        pytest.param(NOW - 421, 420.0, True, id="when a period has passed"),
        pytest.param(NOW, 0.0, True, id="each time where there is no period"),
    ],
)
def test_evictions_happen_once_a_period(previous: float | None, period: float, evicts: bool) -> None:
    world = World(MIXED, previous=previous)
    plugin = world.opened(Tdm(TdmArgs(ARGS.zones, period)))

    assert bool(plugin.victim_tasks(world.tasks("a.5"))) is evicts


@given(st.lists(st.floats(0.01, 90.0), min_size=1, max_size=40), st.floats(1.0, 200.0))
def test_each_period_that_has_a_cycle_has_one_turn(gaps: list[float], period: float) -> None:
    world, turns = World(MIXED), []
    moments = list(accumulate(gaps, initial=NOW))
    for now in moments:
        if now > NOW:
            world.turn(now)
        if world.opened(Tdm(TdmArgs(ARGS.zones, period))).victim_tasks(world.tasks("a.5")):
            turns.append(now // period)

    assert turns == sorted({now // period for now in moments})


def policy() -> Policy:
    text = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: tdm
    arguments:
      tdm.revocable-zone.day: 07:00-21:00
      tdm.revocable-zone.night: " 21:00-23:00"
  - name: predicates
"""
    return load_text(text, "policy", REGISTRY).policy


def test_a_whole_cycle_lends_the_nodes_of_open_zones() -> None:
    decided = plan(
        f"""
node n1 cpu=1
node n2 cpu=1 {ZONE}=day
node n3 cpu=1 {ZONE}=night
job ns/batch pods=1 cpu=1 {REVOCABLE}=* {PREEMPTABLE}=true
job ns/web min=2 pods=2 cpu=1
job ns/one pods=1 cpu=1
""",
        policy(),
    )

    assert decided.nodes == {"one.0": "n1", "batch.0": "n2"}
    assert NOT_REVOCABLE in decided.why("ns/web.0")
    assert CLOSED in decided.why("ns/web.0")


@pytest.mark.parametrize("window", ["10:00", "10:00-24:00", "10:0-11:00", "ten-eleven", ""])
def test_a_policy_with_a_window_that_is_none_is_refused(window: str) -> None:
    text = f"""
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: tdm
    arguments:
      tdm.revocable-zone.rz1: "{window}"
"""
    with pytest.raises(BadPolicy, match=r"policy:7: .*tdm\.revocable-zone\.rz1: expected HH:MM-HH:MM"):
        load_text(text, "policy", REGISTRY)
