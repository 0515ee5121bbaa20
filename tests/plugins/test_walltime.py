"""wall-time: jobs that have run for as long as they may are ended, and do not start again."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, Plan, decide, manifests, mirror, plan
from tests.support.taking import Busy, taking
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.jobs.runs import WALL_TIME_OVER, runs_of
from vsched.plugins.walltime import WallTime, WallTimeArgs
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
            "its wall time of 1h is over",
        )


def test_the_condition_is_taken_back_when_the_wall_time_changes() -> None:
    found = manifests(old().replace("on=n1 started=3600", ""))
    over = {"type": WALL_TIME_OVER, "status": "True", "reason": "WallTime", "message": "its wall time of 1h is over"}

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
    assert found.message("ns/old") == "its wall time of 1h is over"


@pytest.mark.parametrize(
    ("words", "most", "says"),
    [
        pytest.param(f"{WALL}=1h30m", "1h", "asks for 1h30m of wall time, and queue default allows 1h", id="too much"),
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


def test_it_is_told_that_the_wall_time_of_plain_pods_has_no_effect() -> None:
    text = f"{old(f'{WALL}=1h')}pods ns/old 1 cpu=9"
    found = [one for one in manifests(text) if one["kind"] != "PodGroup"]
    for one in found:
        if one["kind"] == "Pod":
            one["metadata"]["annotations"] = {WALL: "1h"}
    snapshot = mirror(found).snapshot(NOW)
    report = run_cycle(snapshot, walls(), REGISTRY)
    notes = [note for job in snapshot.jobs.values() for note in WallTime(WallTimeArgs()).job_notes(job)]

    assert not report.evictions
    assert len(notes) == 3
    assert notes[0].startswith("its wall time does not end it: there is no PodGroup")


def test_the_mirror_sorts_running_jobs_by_their_start() -> None:
    text = old(f"{WALL}=1h") + f"job ns/new phase=Running {WALL}=1h\npods ns/new 1 cpu=1 on=n1 started=60"
    found = Busy(text, walls()).snapshot()

    assert found.runs == runs_of(found.jobs.values())
    assert [[run.job for run in runs] for runs in found.runs.values()] == [["ns/old", "ns/new"]]
