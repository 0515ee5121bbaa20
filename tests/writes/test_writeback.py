"""What is written back of a cycle, over HTTP: paths, contents, how often and how late."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec
import pytest

from tests.support.recording_server import Reply
from tests.support.waiting import until
from tests.writes.writing_back import ONCE, QUICK, UNSCHEDULABLE, bench, outcome, verdict, world
from vsched.clock import FakeClock
from vsched.framework.codes import Code
from vsched.framework.words.nodes import available
from vsched.mirror.ingest.words import fields as words
from vsched.mirror.problems import Problem
from vsched.model.jobs.advice import WOULD_START
from vsched.model.jobs.spec import Condition
from vsched.model.plan import Bind, JobOutcome, Nominate, QueueOutcome
from vsched.model.queues.queue import Queue
from vsched.writes.events import NORMAL, WARNING, EventSettings
from vsched.writes.status.growing import GROWING_SECONDS
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.status.pods import PodConditionSettings
from vsched.writes.status.queues import with_ancestors

# -- PodGroups


@pytest.mark.parametrize(
    ("served", "path"),
    [
        pytest.param(["podgroups", "podgroups/status"], "/podgroups/g/status", id="with a status subresource"),
        pytest.param(["podgroups"], "/podgroups/g", id="without one"),
    ],
)
async def test_a_podgroup_is_written_where_its_definition_has_its_status(served: list[str], path: str) -> None:
    snapshot, job = world()
    async with bench() as test:
        test.server.discovery = {"resources": [{"name": name} for name in served]}
        test.submit(snapshot, jobs={"ns/g": outcome("Running", running=2)})
        await test.quiet()
        [sent] = test.server.sent
        assert (sent.method, sent.path) == ("PATCH", "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns" + path)
        status = {"phase": "Running", "running": 2, "succeeded": 0, "failed": 0}
        assert sent.body == {"metadata": {"uid": job.spec.uid}, "status": status}
        assert test.told == [("PodGroup", "ns/g", "77")]


async def test_many_changes_of_a_podgroup_are_one_write() -> None:
    snapshot, _ = world()
    async with bench() as test:
        for running in range(5):
            test.submit(snapshot, jobs={"ns/g": outcome("Running", running=running)})
        await test.quiet()
        assert [sent.body["status"]["running"] for sent in test.server.of("podgroups")] == [4]


@pytest.mark.parametrize(
    ("first", "next_", "written"),
    [
        pytest.param(
            outcome("Inqueue"), outcome("Inqueue", ready=2, pending=0), 0, id="a gang whose pods were placed meanwhile"
        ),
        pytest.param(
            outcome("Inqueue", ready=2), outcome("Running", ready=2, running=1), 0, id="a gang of which one pod runs"
        ),
        pytest.param(
            outcome("Inqueue", ready=2),
            outcome("Running", ready=2, running=2),
            1,
            id="a gang that runs is told at once",
        ),
        pytest.param(outcome("Pending"), outcome("Inqueue"), 1, id="a gang that waits is told at once"),
    ],
)
async def test_gangs_that_are_about_to_run_are_told_of_once_they_do(
    first: JobOutcome, next_: JobOutcome, written: int
) -> None:
    snapshot, _ = world()
    patient = msgspec.structs.replace(QUICK.jobs, phase_seconds=0.02, grace_seconds=60.0)
    async with bench(replace(QUICK, jobs=patient)) as test:
        test.submit(snapshot, jobs={"ns/g": first})
        test.submit(snapshot, jobs={"ns/g": next_})
        await until(lambda: len(test.server.of("podgroups")) >= written)
        await asyncio.sleep(0.15)  # several times what an urgent write waits, and nothing of a patient one
        assert len(test.server.of("podgroups")) == written


async def test_a_change_that_is_taken_back_is_not_written() -> None:
    snapshot, _ = world()
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Inqueue")})
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", changed=False)})
        await test.quiet()
        assert test.server.sent == []


async def test_what_was_just_written_is_not_repeated_while_the_watch_lags() -> None:
    snapshot, _ = world()
    async with bench() as test:
        for _ in range(3):
            test.submit(snapshot, jobs={"ns/g": outcome("Inqueue")})
            await test.quiet()
        assert len(test.server.of("podgroups")) == 1


async def test_a_podgroup_that_takes_the_name_of_another_one_is_told_the_same_at_once() -> None:
    snapshot, job = world()
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome()})
        await test.quiet()
        job.spec = msgspec.structs.replace(job.spec, uid="g2")
        test.submit(snapshot, jobs={"ns/g": outcome()})
        await test.quiet()
        sent = [(each.body["metadata"]["uid"], each.body["status"]["phase"]) for each in test.server.of("podgroups")]
        assert sent == [("g1", "Inqueue"), ("g2", "Inqueue")]


async def test_of_a_job_that_is_gone_nothing_is_known() -> None:
    snapshot, _ = world()
    async with bench() as at:
        at.submit(snapshot, jobs={"ns/g": outcome()})
        await at.quiet()
        at.submit(replace(snapshot, jobs={}, changed=["ns/g"]))
        at.submit(snapshot, jobs={"ns/g": outcome()})
        await at.quiet()
        assert len(at.server.of("podgroups")) == 2, "another of its name is told what the first one was"


async def test_a_condition_keeps_the_time_it_began_and_is_told_as_an_event() -> None:
    snapshot, _ = world()
    async with bench(clock=FakeClock(1_700_000_000.0)) as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", UNSCHEDULABLE)})
        await test.quiet()
        told = msgspec.structs.replace(UNSCHEDULABLE, since=1_600_000_000.0)
        test.submit(snapshot, jobs={"ns/g": outcome("Inqueue", told)})
        await test.quiet()
        first, second = (sent.body["status"]["conditions"][0] for sent in test.server.of("podgroups"))
        assert first["lastTransitionTime"] == "2023-11-14T22:13:20Z", "it begins now"
        assert second["lastTransitionTime"] == "2020-09-13T12:26:40Z", "it began before"
        assert (first["type"], first["reason"]) == ("Unschedulable", "NotEnoughResources")
        events = [sent.body for sent in test.server.of("events") if sent.method == "POST"]
        assert [(event["reason"], event["type"]) for event in events] == [("Unschedulable", "Warning")]
        assert events[0]["involvedObject"]["uid"] == "g1"


async def test_a_message_that_only_changes_its_numbers_waits() -> None:
    snapshot, _ = world()
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", UNSCHEDULABLE)})
        await test.quiet()
        reworded = msgspec.structs.replace(UNSCHEDULABLE, message="1/2 tasks in gang unschedulable")
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", reworded)})
        test.submit(snapshot, queues={"default": QueueOutcome("default", 1)})
        await until(lambda: test.server.of("queues"))
        assert len(test.server.of("podgroups")) == 1
        test.submit(snapshot, jobs={"ns/g": outcome("Running", running=2)})
        await test.quiet()
        assert len(test.server.of("podgroups")) == 2


async def test_what_would_help_is_added_soon_and_reworded_seldom() -> None:
    """Fifty sessions with other numbers in each are one write; what would help, once it is found, is another."""
    snapshot, _ = world()
    said = msgspec.structs.replace(UNSCHEDULABLE, message="the gang needs 8, 6 fit: 2 nodes have too little cpu")
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", said)})
        await test.quiet()
        for number in range(50):
            wobbling = said.message.replace("2 nodes", f"{number} nodes")
            test.submit(snapshot, jobs={"ns/g": outcome("Pending", msgspec.structs.replace(said, message=wobbling))})
        test.submit(snapshot, queues={"default": QueueOutcome("default", 1)})
        await until(lambda: test.server.of("queues"))
        assert len(test.server.of("podgroups")) == 1
        helped = msgspec.structs.replace(said, message=f"{wobbling}{WOULD_START}2 more cpu")
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", helped)})
        await test.quiet()
        written = [sent.body["status"]["conditions"][0]["message"] for sent in test.server.of("podgroups")]
        assert written == [said.message, helped.message]


LACKS = "the gang needs 8, 6 fit"
HELPED = f"{LACKS}{WOULD_START}minMember 6 (2 fewer)"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(HELPED, LACKS, True, id="what would help is not known any more"),
        pytest.param(HELPED, "the gang needs 8, 5 fit", True, id="it was for other figures"),
        pytest.param(HELPED, "queue default is closed", True, id="it was for another reason"),
        pytest.param(HELPED, f"{LACKS}{WOULD_START}2 more nodes", True, id="something else would help"),
        pytest.param(LACKS, "queue default is closed", True, id="the reason is another one"),
        pytest.param(LACKS, "the gang needs 8, 5 fit", False, id="only figures are others"),
    ],
)
async def test_what_no_longer_holds_is_not_left_standing(old: str, new: str, expected: bool) -> None:
    snapshot, _ = world()
    prompt = replace(QUICK, jobs=msgspec.structs.replace(QUICK.jobs, overtaken_seconds=0.02))
    async with bench(prompt) as test:
        for message in (old, new):
            said = msgspec.structs.replace(UNSCHEDULABLE, message=message)
            test.submit(snapshot, jobs={"ns/g": outcome("Pending", said)})
            test.submit(snapshot, queues={"default": QueueOutcome("default", len(message))})
            await until(lambda: test.server.of("queues"))
            if message == old or expected:
                await test.quiet()
        written = [sent.body["status"]["conditions"][0]["message"] for sent in test.server.of("podgroups")]
        assert written == ([old, new] if expected else [old])


async def test_reasons_that_come_and_go_are_few_writes() -> None:
    """As many as the time between two of them allows."""
    snapshot, _ = world()
    async with bench() as test:

        async def told(count: int) -> None:
            await until(lambda: len(test.server.of("queues")) >= count)

        for number in range(20):
            said = msgspec.structs.replace(UNSCHEDULABLE, message=[LACKS, "queue default is closed"][number % 2])
            test.submit(snapshot, jobs={"ns/g": outcome("Pending", said)})
            test.submit(snapshot, queues={"default": QueueOutcome("default", number)})
            await told(number + 1)
        assert len(test.server.of("podgroups")) == 1


async def test_after_a_change_of_leaders_nothing_is_told_again() -> None:
    """What another daemon found to help stays while this one looks for it, and other numbers are no other Event."""
    snapshot, job = world()
    headline = "the gang needs 8, 6 fit: 2 nodes have too little cpu"
    said = msgspec.structs.replace(UNSCHEDULABLE, message=f"{headline}{WOULD_START}minMember 6 (2 fewer)")
    job.spec = msgspec.structs.replace(job.spec, conditions=(said,))
    waits = verdict(job, message=available(2, {"Insufficient cpu": 2}))
    job.put(msgspec.structs.replace(job.tasks[waits.uid], condition=f"{waits.reason}: {verdict(job).message}"))
    clock = FakeClock(1_700_000_000.0)
    prompt = replace(
        QUICK,
        jobs=msgspec.structs.replace(QUICK.jobs, reword_seconds=0.01),
        pods=msgspec.structs.replace(QUICK.pods, reword_seconds=0.01),
    )
    async with bench(prompt, clock) as test:
        plain = msgspec.structs.replace(said, message=headline)
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", plain)}, unschedulable={waits.uid: waits})
        await test.quiet()
        assert [sent.path for sent in test.server.sent] == ["/api/v1/namespaces/ns/pods/g-0/status"]
        fewer = msgspec.structs.replace(said, message=headline.replace("6 fit", "5 fit"))
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", fewer)})
        await test.quiet()
        assert len(test.server.of("podgroups")) == 1
        assert test.server.of("events") == []
    async with bench(prompt, clock) as test:
        test.submit(snapshot)
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", plain)})
        clock.advance(601.0)
        test.submit(snapshot, jobs={"ns/g": outcome("Pending", plain)})
        await test.quiet()
        assert len(test.server.of("podgroups")) == 1, "nothing was found in ten minutes"
    snapshot, job = world()
    job.spec = msgspec.structs.replace(job.spec, conditions=(said,))
    async with bench(clock=clock) as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Inqueue", plain)})
        job.spec = msgspec.structs.replace(job.spec, phase="Inqueue")  # as the mirror takes it to be from now on
        test.submit(snapshot, jobs={"ns/g": outcome("Inqueue", plain)})
        await test.quiet()
        assert [sent.body["status"]["phase"] for sent in test.server.of("podgroups")] == ["Inqueue"]


async def test_where_many_wait_each_is_reworded_more_seldom() -> None:
    snapshot, job = world()
    snapshot.jobs.update({f"ns/g{n}": job for n in range(6)})
    slow = replace(QUICK, jobs=msgspec.structs.replace(QUICK.jobs, reword_seconds=0.01, rewords_per_second=0.05))
    job.spec = msgspec.structs.replace(job.spec, conditions=(UNSCHEDULABLE,))
    reworded = msgspec.structs.replace(UNSCHEDULABLE, message="1/2 tasks in gang unschedulable")
    async with bench(slow) as test:
        test.submit(snapshot, jobs={f"ns/g{n}": outcome("Pending", reworded, key=f"ns/g{n}") for n in range(6)})
        await until(lambda: test.server.of("podgroups"))
        assert len(test.writeback.jobs.workqueue) == 5, "the first is told at once, the others 20 s apart"


@pytest.mark.parametrize("code", [409, 500, 0], ids=["a conflict", "an internal error", "no answer"])
async def test_a_status_that_cannot_be_written_is_reported(code: int) -> None:
    snapshot, _ = world()
    async with bench() as test:
        test.server.reply = lambda sent: Reply(code)
        test.submit(snapshot, jobs={"ns/g": outcome("Inqueue")})
        await test.quiet()
        assert test.told == [("PodGroup", "ns/g", None)]


async def test_a_made_up_podgroup_is_never_written() -> None:
    snapshot, job = world()
    job.spec = msgspec.structs.replace(job.spec, implicit=True)
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Running", implicit=True)})
        await test.quiet()
        assert test.server.sent == []


# -- Queues


async def test_a_queue_shows_what_it_holds_and_loses_what_it_no_longer_holds() -> None:
    snapshot, _ = world()
    async with bench() as test:
        held = QueueOutcome("default", 1, allocated={"cpu": 1500, "nvidia.com/gpu": 2000})
        test.submit(snapshot, queues={"default": held}, jobs={"ns/g": outcome("Running")})
        await test.quiet()
        test.submit(snapshot, queues={"default": QueueOutcome("default", 1, allocated={"cpu": 500})})
        await test.quiet()
        first, second = (sent.body["status"] for sent in test.server.of("queues"))
        assert first["allocated"] == {"cpu": "1500m", "nvidia.com/gpu": "2"}
        assert second["allocated"] == {"cpu": "500m", "nvidia.com/gpu": None}
        assert (first["running"], first["pending"]) == (1, 0)
        assert "state" not in first


async def test_a_queue_that_stays_as_it_is_is_written_once() -> None:
    snapshot, _ = world()
    async with bench() as test:
        for _ in range(3):
            test.submit(snapshot, queues={"default": QueueOutcome("default", 1, allocated={"cpu": 500})})
            await test.quiet()
        assert len(test.server.of("queues")) == 1


async def test_what_is_wrong_with_a_queue_is_told_once_and_stands_as_a_condition_until_it_is_mended() -> None:
    snapshot, _ = world()
    clipped = QueueOutcome(
        "default", 1, problem_reason="LimitsClipped", problem="deserved: cpu 8 is more than root has"
    )
    reworded = msgspec.structs.replace(clipped, problem="deserved: cpu 9 is more than root has")
    async with bench() as test:
        for found in (clipped, clipped, reworded, QueueOutcome("default", 1)):
            test.submit(snapshot, queues={"default": found})
            await test.quiet()
        first, second, mended = (sent.body["status"]["conditions"] for sent in test.server.of("queues"))
        assert {key: first[0][key] for key in ("type", "status", "reason", "message")} == {
            "type": "Misconfigured",
            "status": "True",
            "reason": "LimitsClipped",
            "message": clipped.problem,
        }
        assert second == [first[0] | {"message": reworded.problem}]
        assert mended is None
        events = [sent.body for sent in test.server.of("events")]
        assert [(event["type"], event["reason"], event["message"]) for event in events] == [
            (WARNING, "LimitsClipped", clipped.problem),
            (WARNING, "LimitsClipped", reworded.problem),
        ]
        assert events[0]["involvedObject"]["uid"] == "q1"


def tree(*rows: tuple[str, str]) -> dict[str, Queue]:
    return {name: Queue(name, parent=parent) for name, parent in rows}


@pytest.mark.parametrize(
    ("queues", "above"),
    [
        pytest.param(tree(("a", ""), ("b", "a")), {"a": 1, "b": 2}, id="nothing without a root"),
        pytest.param(
            tree(("root", ""), ("a", ""), ("b", "a"), ("c", "b")),
            {"root": 7, "a": 7, "b": 6, "c": 4},
            id="all that is below, up to the root",
        ),
        pytest.param(
            tree(("root", ""), ("a", "gone")), {"root": 0, "a": 1}, id="not past a parent that does not exist"
        ),
        pytest.param(
            tree(("root", ""), ("a", "b"), ("b", "a")), {"root": 0, "a": 3, "b": 3}, id="once around a ring of parents"
        ),
    ],
)
def test_what_a_queue_holds_counts_for_those_above(queues: dict[str, Queue], above: dict[str, int]) -> None:
    held = {name: {"cpu": amount} for name, amount in (("a", 1), ("b", 2), ("c", 4)) if name in queues}
    found = with_ancestors({name: held.get(name, {}) for name in queues}, queues)
    assert {name: amounts.get("cpu", 0) for name, amounts in found.items()} == above


async def test_podgroups_that_are_gone_are_no_longer_counted() -> None:
    snapshot, _ = world()
    async with bench() as test:
        test.submit(snapshot, queues={"default": QueueOutcome("default", 1)}, jobs={"ns/g": outcome("Running")})
        await test.quiet()
        after = replace(snapshot, jobs={}, changed=["ns/g"])
        test.submit(after, queues={"default": QueueOutcome("default", 1)})
        await test.quiet()
        assert [sent.body["status"]["running"] for sent in test.server.of("queues")] == [1, 0]


# -- Pods


async def test_a_pod_that_waits_longer_than_the_grace_is_told_why() -> None:
    snapshot, job = world()
    async with bench() as test:
        said = verdict(job)
        for _ in range(3):
            test.submit(snapshot, jobs={"ns/g": outcome(changed=False)}, unschedulable={"ns/g-0": said})
        await test.quiet()
        [sent] = test.server.of("/pods/")
        assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/ns/pods/g-0/status")
        [condition] = sent.body["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "PodScheduled",
            "False",
            "Unschedulable",
        )
        assert sent.body["metadata"] == {"uid": said.uid}
        assert [event.body["reason"] for event in test.server.of("events")] == ["FailedScheduling"]


@pytest.mark.parametrize("code", [403, 409, 500])
async def test_why_a_pod_waits_is_written_again_where_that_was_refused(code: int) -> None:
    snapshot, job = world()
    async with bench() as test:
        test.server.reply = lambda sent: Reply() if len(test.server.of("/pods/")) > 1 else Reply(code, "not now")
        report = {"jobs": {"ns/g": outcome(changed=False)}, "unschedulable": {"ns/g-0": verdict(job)}}
        for count in (1, 2, 2):
            test.submit(snapshot, **report)
            await test.quiet()
            assert len(test.server.of("/pods/")) == count


async def test_why_a_pod_waits_is_written_again_where_the_pod_does_not_say_it_any_more() -> None:
    """The server was restored from a backup: the reason is the same, and the object has lost it."""
    clock = FakeClock()
    changed, job = world()
    still = replace(changed, changed=())
    report = {"jobs": {"ns/g": outcome(changed=False)}, "unschedulable": {"ns/g-0": verdict(job)}}
    async with bench(clock=clock) as test:
        test.submit(still, **report)
        await until(lambda: len(test.server.of("/pods/")) == 1)
        await test.quiet()
        clock.advance(QUICK.pods.reword_seconds)
        test.submit(still, **report)
        await test.quiet()
        assert len(test.server.of("/pods/")) == 1, "nothing has changed"
        test.submit(replace(changed, changed=("ns/g",)), **report)
        await until(lambda: len(test.server.of("/pods/")) == 2)


async def test_a_pod_that_is_placed_within_the_grace_costs_nothing() -> None:
    snapshot, job = world()
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome(changed=False)}, unschedulable={"ns/g-0": verdict(job)})
        test.submit(snapshot, jobs={"ns/g": outcome(changed=False)})
        await test.quiet()
        assert test.server.sent == []


async def test_what_a_gang_lacks_is_not_told_while_its_pods_are_being_made() -> None:
    snapshot, job = world()
    lacks = Condition("Unschedulable", "True", "NotEnoughTasks", "2 of the gang's 3 pods exist")
    last = max(task.created for task in job.tasks.values())
    report = {
        "jobs": {"ns/g": outcome("Inqueue", lacks, min_member=3, code=Code.GANG_INCOMPLETE)},
        "unschedulable": {"ns/g-0": verdict(job)},
    }
    async with bench() as test:
        for _ in range(2):
            test.submit(replace(snapshot, now=last + 1.0), **report)
            await until(lambda: test.server.of("/podgroups/") and not test.writeback.jobs.workqueue.busy)
        [sent] = test.server.of("/podgroups/")
        assert sent.body["status"]["phase"] == "Inqueue", "controllers make pods once they see it"
        assert "conditions" not in sent.body["status"]
        assert test.writeback.pods.workqueue.busy, "what its pods wait for is put off"
        assert not test.server.of("/pods/")
        test.submit(replace(snapshot, now=last + GROWING_SECONDS), **report)
        await until(lambda: len(test.server.of("/podgroups/")) == 2)
        assert test.server.of("/podgroups/")[1].body["status"]["conditions"][0]["reason"] == "NotEnoughTasks"
        await test.quiet()
        assert len(test.server.of("/pods/")) == 1


async def test_a_job_that_was_not_looked_at_keeps_what_its_pods_wait_for() -> None:
    snapshot, job = world()
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome(changed=False)}, unschedulable={"ns/g-0": verdict(job)})
        test.submit(replace(snapshot, changed=[]))
        await test.quiet()
        assert len(test.server.of("/pods/")) == 1


async def test_a_pod_that_already_says_so_is_left_alone() -> None:
    snapshot, job = world()
    said = verdict(job)
    task = job.tasks[said.uid]
    job.put(msgspec.structs.replace(task, condition=f"{said.reason}: {said.message}"))
    async with bench() as test:
        test.submit(snapshot, jobs={"ns/g": outcome(changed=False)}, unschedulable={"ns/g-0": said})
        await test.quiet()
        assert test.server.sent == []


@pytest.mark.parametrize(("node", "written"), [("n1", "n1"), ("", None)], ids=["made", "taken back"])
async def test_a_nomination_is_written_at_once(node: str, written: str | None) -> None:
    snapshot, _ = world()
    async with bench() as test:
        test.submit(snapshot, nominations=(Nominate("u", "ns", "g-0", node, "ns/g"),))
        await test.quiet()
        assert test.server.of("/pods/g-0/status")[0].body["status"] == {"nominatedNodeName": written}


# -- Events


async def test_an_event_that_happens_again_is_counted() -> None:
    async with bench() as test:
        for _ in range(2):
            test.writeback.bind_failed(Bind("u", "ns", "p", "n1", ""), "no")
            await test.quiet()
        made, counted = test.server.sent
        assert (made.method, made.body["count"], made.body["reason"]) == ("POST", 1, "FailedBinding")
        assert (counted.method, counted.path, counted.body["count"]) == (
            "PATCH",
            f"/api/v1/namespaces/ns/events/{made.body['metadata']['name']}",
            2,
        )


async def test_what_can_happen_only_once_is_not_remembered() -> None:
    async with bench() as at:
        for _ in range(2):
            at.writeback.bound(Bind("u1", "ns", "p", "n1", "ns/g"))
            await at.quiet()
        assert [request.method for request in at.server.of("events")] == ["POST", "POST"]


async def test_an_event_that_has_expired_is_made_anew() -> None:
    async with bench() as test:
        test.writeback.bind_failed(Bind("u", "ns", "p", "n1", ""), "no")
        await test.quiet()
        test.server.reply = lambda sent: Reply(404 if sent.method == "PATCH" else 201)
        test.writeback.bind_failed(Bind("u", "ns", "p", "n1", ""), "no")
        await test.quiet()
        assert [sent.method for sent in test.server.sent] == ["POST", "PATCH", "POST"]


async def test_good_news_gives_way_to_bad_news() -> None:
    tight = replace(QUICK, events=EventSettings(per_second=1.0, burst=8.0, attempts=ONCE))
    async with bench(tight) as test:
        for number in range(20):
            test.writeback.bound(Bind(f"u{number}", "ns", f"p{number}", "n1", ""))
        test.writeback.bind_failed(Bind("u", "ns", "p", "n1", ""), "refused")
        await test.quiet()
        severities = sorted(sent.body["type"] for sent in test.server.of("events"))
        assert severities == [NORMAL, NORMAL, WARNING]
        assert test.writeback.events.dropped == {"Scheduled": 18}


# -- objects that cannot be used


async def test_a_broken_object_is_complained_of_once_and_again_when_it_is_broken_otherwise() -> None:
    async with bench() as test:
        broken = Problem("PodGroup", "ns", "bad", "b1", words.negative_number("PodGroup ns/bad: spec.minMember", -1))
        test.mirror.broken["PodGroup", "ns/bad"] = broken
        await until(lambda: test.server.of("events") and test.server.of("podgroups"))
        [event], [marked] = test.server.of("events"), test.server.of("podgroups")
        assert (event.body["reason"], event.body["message"]) == ("BadObject", broken.message)
        assert marked.body["status"]["conditions"][0]["reason"] == "BadObject"
        test.mirror.broken["PodGroup", "ns/bad"] = broken._replace(message="something else")
        await until(lambda: len(test.server.of("events")) == 2)
        assert len(test.server.of("podgroups")) == 2


async def test_an_annotation_that_cannot_be_used_is_told_by_an_event_alone() -> None:
    async with bench() as test:
        message = "PodGroup ns/late: metadata.annotations[sla-waiting-time]: 'soon' (expected a length of time)"
        test.mirror.blemished["PodGroup", "ns/late"] = Problem("PodGroup", "ns", "late", "l1", message, left_out=False)
        test.mirror.broken["Queue", "q"] = Problem("Queue", "", "q", "q1", "Queue q: spec.weight: 0")
        await until(lambda: len(test.server.of("events")) == 2)
        told = {event.body["involvedObject"]["name"]: event.body["message"] for event in test.server.of("events")}
        assert told["late"] == message
        assert not test.server.of("podgroups"), "it is scheduled, so its condition says something else"


async def test_an_event_on_a_cluster_object_lives_in_the_default_namespace() -> None:
    async with bench() as test:
        test.mirror.broken["Queue", "q"] = Problem(
            "Queue", "", "q", "q1", "Queue q: spec.weight: 0 (expected 1 to 65535)"
        )
        await until(lambda: test.server.sent)
        [sent] = test.server.sent
        assert sent.path == "/api/v1/namespaces/default/events"
        assert sent.body["involvedObject"]["kind"] == "Queue"


async def test_a_broken_consumer_is_told_by_an_event_on_it() -> None:
    async with bench() as test:
        message = "Consumer ns/c: spec.weight: 0 (expected 1 to 2147483647)"
        test.mirror.broken["Consumer", "ns/c"] = Problem("Consumer", "ns", "c", "c1", message)
        await until(lambda: test.server.sent)
        [sent] = test.server.sent
        assert sent.path == "/api/v1/namespaces/ns/events"
        assert sent.body["involvedObject"]["apiVersion"] == "kube-arbitrator.incubator.k8s.io/v1"
        assert (sent.body["involvedObject"]["kind"], sent.body["message"]) == ("Consumer", message)


WORKLOADS = {
    "JobSet.jobset.x-k8s.io": ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "Thing.example.com": ("example.com", "Thing"),  # a table without it is in force since
}


@pytest.mark.parametrize(("kind", "told"), WORKLOADS.items(), ids=WORKLOADS)
async def test_a_workload_that_cannot_be_read_is_told_by_an_event_on_it(kind: str, told: tuple[str, str]) -> None:
    async with bench() as test:
        test.mirror.broken[kind, "ns/w"] = Problem(kind, "ns", "w", "w1", f"{kind} ns/w: spec: it cannot be read")
        await until(lambda: test.server.sent)
        [sent] = test.server.sent
        about = sent.body["involvedObject"]
        assert (about["apiVersion"], about["kind"], about["name"]) == (*told, "w")


# -- the end


async def test_draining_writes_statuses_that_are_not_due_yet() -> None:
    snapshot, job = world()
    slow = replace(
        QUICK,
        jobs=JobStatusSettings(phase_seconds=60.0, grace_seconds=60.0),
        pods=PodConditionSettings(grace_seconds=60.0),
    )
    async with bench(slow) as test:
        test.submit(snapshot, jobs={"ns/g": outcome("Inqueue")}, unschedulable={"ns/g-0": verdict(job)})
        assert await test.writeback.drain(2.0) == 0
        assert len(test.server.of("podgroups")) == 1
        assert test.server.of("/pods/") == []
