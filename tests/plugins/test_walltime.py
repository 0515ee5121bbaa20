"""wall-time: jobs that have run for as long as they may are ended, and do not start again."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest

from tests.support.plans import NOW, Plan, decide, manifests, mirror, plan
from tests.support.taking import Busy, taking
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.jobs.runs import WALL_TIME_OVER, runs_of
from vsched.model.plan import PlannedStart
from vsched.model.snapshot import Snapshot
from vsched.plugins.walltime import WallTime, WallTimeArgs
from vsched.plugins.words.jobs import asks_for_too_long, wall_time_over
from vsched.settings.built_in import REGISTRY

WALL, MOST = "vsched.io/wall-time", "vsched.io/max-wall-time"


def walls(most: str = "", actions: str = "enqueue, allocate, backfill") -> Policy:
    args = {"wall-time": {"maxWallTime": most}} if most else {}
    return taking(actions, "priority gang wall-time", "minruntime predicates proportion", plugins=args)


def old(words: str = "", *, queue: str = "", started: int = 3600) -> str:
    return (
        f"node n1 cpu=8\n{queue}\njob ns/old min=2 phase=Running {words}\npods ns/old 2 cpu=1 on=n1 started={started}\n"
    )


@pytest.mark.parametrize(
    ("text", "most", "ended"),
    [
        pytest.param(old(), "", False, id="no wall time"),
        pytest.param(old(f"{WALL}=1h"), "", True, id="just over"),
        pytest.param(old(f"{WALL}=1h", started=3599), "", False, id="not over yet"),
        pytest.param(old(), "30m", True, id="by the policy"),
        pytest.param(old(f"{WALL}=2h"), "30m", True, id="the policy bounds what jobs state"),
        pytest.param(old(f"{WALL}=30m"), "2h", True, id="its own is shorter"),
        pytest.param(old(queue=f"queue default {MOST}=30m"), "", True, id="by its queue"),
        pytest.param(old(queue=f"queue default {MOST}=2h"), "30m", False, id="its queue's goes before the policy's"),
        pytest.param(old(queue=f"queue root {MOST}=30m\nqueue default"), "", True, id="by a queue above"),
        pytest.param(
            old(queue=f"queue root {MOST}=30m\nqueue default {MOST}=2h"), "", False, id="the nearest queue decides"
        ),
        pytest.param(
            f"{old(f'{WALL}=1h', started=60)}pods ns/old 1 cpu=1 on=n1 started=7200 succeeded",
            "",
            True,
            id="from the start of its first pod, ended or not",
        ),
        pytest.param(
            old(f"{WALL}=1h vsched.io/preempt-min-runtime=9h volcano.sh/preemptable=false")
            + "pdb ns/none selector=job:old",
            "",
            True,
            id="nothing protects it",
        ),
        pytest.param(old(f"{WALL}=soon"), "", False, id="what cannot be read is passed over"),
    ],
)
def test_which_jobs_end(text: str, most: str, ended: bool) -> None:
    found = plan(text, walls(most))

    assert found.evicted == [["old.0", "old.1"] if ended else []]
    conditions = {one.kind: one.status for one in found.jobs["ns/old"].conditions} if found.jobs else {}
    assert conditions.get(WALL_TIME_OVER) == ("True" if ended else None)


def test_without_the_plugin_nobody_is_ended() -> None:
    assert plan(old(f"{WALL}=1h")).evicted == [[]]


def test_the_next_session_is_due_when_the_first_wall_time_is_over() -> None:
    assert plan(old(f"{WALL}=1h", started=3540), walls()).reports[0].due == NOW + 60
    assert plan(old(), walls()).reports[0].due == 0


def test_a_job_that_was_ended_starts_again_only_when_its_wall_time_changes() -> None:
    world = Busy(f"{old(f'{WALL}=1h')}job ns/b pods=1 cpu=1", walls())
    first = world.cycle()
    assert [one.action for one in first.evictions] == ["wall-time", "wall-time"]
    assert [one.name for one in first.binds] == ["b.0"]
    world.change("pods ns/old 2 cpu=1", "ADDED")
    for _ in range(2):
        again = world.cycle()
        assert not again.binds
        assert not again.evictions
        assert (again.jobs["ns/old"].code, again.jobs["ns/old"].message) == (
            Code.WALL_TIME,
            wall_time_over("1h"),
        )


def test_the_condition_is_taken_back_when_the_wall_time_changes() -> None:
    found = manifests(old().replace("on=n1 started=3600", ""))
    over = {"type": WALL_TIME_OVER, "status": "True", "reason": "WallTime", "message": wall_time_over("1h")}

    def decided(seconds: str) -> Plan:
        for one in found:
            if one["kind"] == "PodGroup":
                one["metadata"]["annotations"] = {WALL: seconds}
                one["status"] = {"phase": "Inqueue", "conditions": [over]}
        return decide(found, walls())

    assert decided("1h").bound == {}
    assert decided("60m").bound == {}, "the same time"
    again = decided("2h")
    assert again.bound == {"old": 2}
    assert [(one.status, one.reason) for one in again.jobs["ns/old"].conditions if one.kind == WALL_TIME_OVER] == [
        ("False", "WallTimeChanged")
    ]


def test_a_running_job_gets_no_more_pods_once_its_wall_time_is_over() -> None:
    found = plan(f"{old(f'{WALL}=1h').replace('min=2', 'min=1')}pods ns/old 1 cpu=1", walls())

    assert found.bound == {}
    assert found.message("ns/old") == wall_time_over("1h")


@pytest.mark.parametrize(
    ("words", "most", "says"),
    [
        pytest.param(f"{WALL}=1h30m", "1h", asks_for_too_long("1h30m", "1h", queue="default"), id="too much"),
        pytest.param(f"{WALL}=1h", "1h", "", id="as much as is allowed"),
        pytest.param("", "1h", "", id="nothing"),
    ],
)
def test_a_job_that_asks_for_too_much_waits(words: str, most: str, says: str) -> None:
    found = plan(f"node n1 cpu=8\njob ns/a pods=1 cpu=1 {words}", walls(most))

    assert found.bound == ({} if says else {"a": 1})
    assert found.message("ns/a") == says
    assert found.jobs["ns/a"].code == (Code.WALL_TIME if says else "")


def test_a_running_job_goes_on_when_its_queue_allows_less_but_no_longer_than_that() -> None:
    text = old(f"{WALL}=9h", queue=f"queue default {MOST}=2h") + "pods ns/old 1 cpu=1"

    assert plan(text, walls()).bound == {"old": 1}


def plain(owner: str = "") -> Snapshot:
    """Two pods without a PodGroup that have run for an hour, which is their wall time."""
    found = [one for one in manifests(old(f"{WALL}=1h")) if one["kind"] != "PodGroup"]
    owners = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}] if owner else []
    for one in found:
        if one["kind"] == "Pod":
            one["metadata"] |= {"annotations": {WALL: "1h"}, "ownerReferences": owners}
    return mirror(found).snapshot(NOW)


def notes_on(snapshot: Snapshot) -> list[str]:
    return [note for job in snapshot.jobs.values() for note in WallTime(WallTimeArgs()).job_notes(job)]


def test_plain_pods_are_ended() -> None:
    snapshot = plain()

    assert [one.action for one in run_cycle(snapshot, walls(), REGISTRY).evictions] == ["wall-time"] * 2
    assert notes_on(snapshot) == []


def test_plain_pods_that_a_controller_would_make_again_are_not_ended_and_that_is_told() -> None:
    snapshot = plain("web")

    assert not run_cycle(snapshot, walls(), REGISTRY).evictions
    [note] = notes_on(snapshot)
    assert note.startswith("its wall time does not end it: its controller would create new pods")
    assert walls().longest_runs({})(next(iter(snapshot.jobs.values()))) == inf


@pytest.mark.parametrize(
    ("limits", "user", "ended"),
    [
        pytest.param({"ann": "30m"}, "ann", True, id="of the user"),
        pytest.param({"ann": "30m"}, "bob", False, id="of another user"),
        pytest.param({"*": "30m"}, "bob", True, id="of all users"),
        pytest.param({"*": "30m", "ann": "2h"}, "ann", False, id="a user's own goes before that of all"),
        pytest.param({"*": "30m"}, "", False, id="nobody is named"),
    ],
)
def test_wall_times_of_users(limits: Mapping[str, str], user: str, ended: bool) -> None:
    found = plan(old(f"vsched.io/user={user}" if user else ""), of_users(limits))

    assert found.evicted == [["old.0", "old.1"] if ended else []]


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        pytest.param("", asks_for_too_long("2h", "1h", queue="default", user="ann"), id="the user's is shorter"),
        pytest.param(f"queue default {MOST}=30m", asks_for_too_long("2h", "30m", queue="default"), id="the queue's is"),
    ],
)
def test_the_shorter_one_of_queue_and_user_is_named(queue: str, says: str) -> None:
    found = plan(f"node n1 cpu=8\n{queue}\njob ns/a pods=1 cpu=1 vsched.io/user=ann {WALL}=2h", of_users({"ann": "1h"}))

    assert found.message("ns/a") == says


def of_users(limits: Mapping[str, str]) -> Policy:
    return taking(
        "enqueue, allocate",
        "priority gang wall-time",
        "predicates",
        plugins={"wall-time": {"maxWallTimePerUser": limits}},
    )


@pytest.mark.parametrize(
    ("text", "policy", "longest"),
    [
        pytest.param(old(), walls(), inf, id="no limit"),
        pytest.param(old(f"{WALL}=1h"), walls("2h"), 3600.0, id="its own"),
        pytest.param(old(), walls("2h"), 7200.0, id="that of the policy"),
        pytest.param(old(queue=f"queue default {MOST}=30m"), walls("2h"), 1800.0, id="that of its queue"),
        pytest.param(old("vsched.io/user=ann"), of_users({"ann": "10m"}), 600.0, id="that of its user"),
        pytest.param(
            old(queue=f"queue default {MOST}=30m"), taking("allocate", "priority gang"), inf, id="nobody ends jobs"
        ),
    ],
)
def test_for_how_long_a_job_may_run_by_the_policy(text: str, policy: Policy, longest: float) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)

    assert policy.longest_runs(snapshot.queues)(snapshot.jobs["ns/old"]) == longest


def test_planned_starts_trust_that_jobs_end_by_the_wall_time_of_their_queue() -> None:
    text = (
        f"node n1 cpu=4\nqueue short {MOST}=1h\nqueue long\n"
        "job ns/old min=1 queue=short phase=Running\npods ns/old 4 cpu=1 on=n1 started=600\n"
        "job ns/new pods=4 min=4 cpu=1 queue=long"
    )

    def planned(*plugins: str) -> PlannedStart | None:
        return (
            plan(text, taking("enqueue, allocate", "priority gang easy-backfill", " ".join(plugins)))
            .jobs["ns/new"]
            .planned
        )

    assert planned("predicates") is None
    found = planned("predicates wall-time")
    assert found is not None
    assert found.at == NOW + 3000


def test_the_mirror_sorts_running_jobs_by_their_start() -> None:
    text = old(f"{WALL}=1h") + f"job ns/new phase=Running {WALL}=1h\npods ns/new 1 cpu=1 on=n1 started=60"
    found = Busy(text, walls()).snapshot()

    assert found.runs == runs_of(found.jobs.values())
    assert [[run.job for run in runs] for runs in found.runs.values()] == [["ns/old", "ns/new"]]
