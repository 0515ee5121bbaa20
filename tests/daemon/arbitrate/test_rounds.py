"""When rounds of arbitration are due, what becomes of their verdicts, and that none of them stops a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support.builders import Fields, merged, namespace, node, pod, read
from tests.support.parties import amounts, party, pods, world
from tests.support.recording_server import RecordingServer, recording, writer_to
from tests.support.waiting import until
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.placing import Placing
from vsched.clock import FakeClock
from vsched.controllers.allocations import AllocationWriter
from vsched.daemon.arbitrate.rounds import Arbiter, ArbitrationWrites, with_granted
from vsched.daemon.arbitrate.sharing import Alone, Sharing
from vsched.daemon.observe.telemetry import Telemetry
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY
from vsched.writes.events import EventRecorder, EventSettings
from vsched.writes.evictions import EvictionSettings, Evictor

RULES = ArbitrationRules(interval_seconds=1.0, pause_seconds=0.1, grace_seconds=10.0)
GROUP = "kube-arbitrator.incubator.k8s.io/v1"


def consumer(where: str, **spec: Any) -> Fields:
    metadata = {"name": "defaults", "namespace": where, "uid": f"uid-consumer-{where}"}
    return {"apiVersion": GROUP, "kind": "Consumer", "metadata": metadata, "spec": spec}


def overused_since(where: str, time: str) -> Fields:
    """An Allocation that has been telling of overuse."""
    condition = {"type": "Overused", "status": "True", "reason": "Overused", "lastTransitionTime": time}
    return {
        "apiVersion": GROUP,
        "kind": "Allocation",
        "metadata": {"name": "defaults", "namespace": where, "uid": f"uid-allocation-{where}"},
        "status": {"conditions": [condition]},
    }


@dataclass
class Court:
    """An arbiter over a real mirror, with hands that reach a recording server."""

    server: RecordingServer
    cache: Mirror
    arbiter: Arbiter
    clock: FakeClock
    telemetry: Telemetry
    nudges: list[float] = field(default_factory=list)

    def see(self, *objects: Fields, type: str = "ADDED") -> None:
        for found in objects:
            self.cache.intake.apply(found["kind"], type, read(found))

    async def turn(self) -> Snapshot:
        """What the spine does before a session."""
        return await self.arbiter.arbitrate(self.cache.snapshot(self.clock.now()))

    @property
    def rounds(self) -> int:
        return self.count("success")

    def count(self, result: str) -> int:
        name = "vsched_arbitration_rounds_total"
        return int(self.telemetry.registry.get_sample_value(name, {"result": result}) or 0)


@asynccontextmanager
async def court(*objects: Fields, sharing: Callable[[Mirror], Sharing] = Alone) -> AsyncIterator[Court]:
    async with recording() as (server, client):
        cache, clock, nudges = (
            Mirror(MirrorSettings(frozenset({"volcano"}), arbitrating=True)),
            FakeClock(),
            list[float](),
        )
        telemetry, sender = Telemetry(clock), writer_to(client)
        events = EventRecorder(sender, EventSettings(), clock)
        parts = AllocationWriter(sender, events, telemetry.worry)
        evictor = Evictor(sender, telemetry.eviction, EvictionSettings(), clock)
        arbiter = Arbiter(
            cache,
            ArbitrationWrites(parts, evictor),
            RULES,
            lambda: Placing.of(REGISTRY),
            clock,
            telemetry,
            lambda: nudges.append(clock.now()),
            sharing=sharing(cache),
        )
        at = Court(server, cache, arbiter, clock, telemetry, nudges)
        at.see(*objects)
        tasks = [asyncio.create_task(run()) for run in (parts.run, evictor.run, events.workqueue.run)]
        try:
            yield at
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def evictions(at: Court) -> list[str]:
    return [sent.path for sent in at.server.of("eviction")]


ONE_POD = (node(), namespace("ns"), consumer("ns"), pod(node="n1"))


async def test_a_round_limits_what_sessions_place_and_is_kept_for_those_who_look() -> None:
    async with court(*ONE_POD) as at:
        snapshot = await at.turn()
        cpu = at.cache.axis.column("cpu")
        assert snapshot.arbitration is not None
        assert snapshot.ceilings["ns"].most[cpu] == 8_000, "all of it: nobody else asks for any"
        assert at.cache.snapshot(at.clock.now()).ceilings == snapshot.ceilings
        found = at.telemetry.findings.arbitrated
        assert found is not None
        assert found.division.namespaces["ns"].deserved["cpu"] == 1_000
        await until(lambda: at.server.of("allocations"))


async def test_rounds_come_at_least_once_an_interval_and_soon_after_a_change() -> None:
    async with court(*ONE_POD) as at:
        await at.turn()
        at.clock.advance(0.5)
        unchanged = await at.turn()
        assert (at.rounds, unchanged.arbitration) == (1, None), "nothing has changed"
        at.clock.advance(0.5)
        await at.turn()
        assert at.rounds == 2, "the interval is over"
        at.clock.advance(0.2)
        at.see(pod("q"))
        await at.turn()
        assert at.rounds == 3, "something has changed"
        at.clock.advance(0.2)
        at.see(node("n2"))
        await at.turn()
        assert at.rounds == 4, "there is more to divide"


async def test_changes_right_after_a_round_wait_for_the_pause_and_are_not_forgotten() -> None:
    async with court(*ONE_POD) as at:
        await at.turn()
        at.see(pod("q"))
        before = await at.turn()
        await at.turn()
        assert (at.rounds, at.nudges) == (1, [])
        assert before.ceilings, "sessions go by the last round meanwhile"
        await until(lambda: at.nudges)
        assert len(at.nudges) == 1
        at.clock.advance(0.11)
        await at.turn()
        assert at.rounds == 2


async def test_a_round_that_fails_leaves_sessions_alone_and_is_tried_again_ever_more_rarely() -> None:
    async with court(*ONE_POD) as at:
        await at.turn()
        ceilings = at.cache.snapshot(at.clock.now()).ceilings
        for pause_seconds in (1.0, 2.0, 4.0):
            at.clock.advance(pause_seconds)
            broken = replace(at.cache.snapshot(at.clock.now()), total=None)  # type: ignore[arg-type]
            assert await at.arbiter.arbitrate(broken) is broken
            at.clock.advance(pause_seconds * 0.9)
            assert (await at.turn()).arbitration is None
        assert (at.count("failure"), at.rounds) == (3, 1)
        assert at.cache.snapshot(at.clock.now()).ceilings == ceilings
        at.clock.advance(30.0)
        await at.turn()
        assert at.rounds == 2


# -- evictions

TWO_NODES = [node(name, status={"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "110"}}) for name in ("n1", "n2")]
FULL = (
    *TWO_NODES,
    *(found for name in ("one", "two") for found in (namespace(name), consumer(name))),
    *(pod(f"p{number}", namespace="one", node=f"n{number}") for number in (1, 2)),
    merged(pod("w", namespace="two"), {"spec": {"schedulerName": "default-scheduler"}}),
)
LONG_AGO, JUST_NOW = "2023-11-14T22:00:00Z", "2023-11-14T22:13:15Z"
"""FakeClock begins at 22:13:20."""


async def test_a_pod_that_has_to_go_is_evicted_once_and_sessions_see_it_leave() -> None:
    async with court(*FULL, overused_since("one", LONG_AGO)) as at:
        snapshot = await at.turn()
        await until(lambda: evictions(at))
        (path,) = evictions(at)
        victim = at.cache.task("uid-p1" if "/p1/" in path else "uid-p2")
        assert victim is not None
        assert victim.status is Status.RELEASING
        assert snapshot.nodes.releasing.sum() > 0
        assert snapshot.arbitration is not None
        for _ in range(3):
            at.clock.advance(1.0)
            await at.turn()
        assert (at.rounds, len(evictions(at))) == (4, 1)


async def test_what_changed_before_an_eviction_is_still_told_to_the_session_after_it() -> None:
    async with court(*FULL, overused_since("one", LONG_AGO)) as at:
        before = at.cache.snapshot(at.clock.now())
        after = await at.arbiter.arbitrate(before)
        assert after is not before
        assert set(before.changed) <= set(after.changed)
        assert after.previous == before.previous


class Beside(Alone):
    """Beside daemons that decide on some of the jobs."""

    def __init__(self, cache: Mirror) -> None:
        super().__init__(cache)
        self.snapshot = lambda now: replace(cache.snapshot(now), elsewhere=["ns/now"])


async def test_what_changed_of_other_shards_before_an_eviction_is_still_told_to_the_session_after_it() -> None:
    async with court(*FULL, overused_since("one", LONG_AGO), sharing=Beside) as at:
        before = at.cache.snapshot(at.clock.now())
        job = min(before.jobs)
        after = await at.arbiter.arbitrate(replace(before, elsewhere=[job, "ns/gone"]))
        assert sorted(after.elsewhere) == sorted([job, "ns/now"]), "what is gone meanwhile is not named"


class Follower(Alone):
    """Beside the daemon that acts."""

    keeps_room = False

    def acts(self) -> bool:
        return False

    def promised(self, now: float) -> bool:
        return self.keeps_room


async def test_a_daemon_beside_the_one_that_acts_keeps_to_the_same_shares_and_does_nothing_else() -> None:
    async with court(*FULL, overused_since("one", LONG_AGO), sharing=Follower) as at:
        snapshot = await at.turn()
        cpu = at.cache.axis.column("cpu")
        assert (snapshot.ceilings["one"].most[cpu], snapshot.ceilings["two"].most[cpu]) == (1000, 1000)
        found = at.telemetry.findings.arbitrated
        assert found is not None
        assert list(found.verdict.overused) == ["one"]
        assert (found.verdict.effects, found.verdict.evictions) == ((), ())
        await asyncio.sleep(0.01)
        assert (evictions(at), at.server.of("allocations")) == ([], [])


@pytest.mark.parametrize(("keeps_room", "most"), [(False, 2000), (True, 1000)])
async def test_beside_a_daemon_that_keeps_room_for_a_pod_nothing_is_lent(keeps_room: bool, most: int) -> None:
    objects = (*TWO_NODES, namespace("one"), consumer("one"), pod("p1", namespace="one", node="n1"))

    def follower(cache: Mirror) -> Sharing:
        found = Follower(cache)
        found.keeps_room = keeps_room
        return found

    async with court(*objects, sharing=follower) as at:
        assert (await at.turn()).ceilings["one"].most[at.cache.axis.column("cpu")] == most


async def test_nobody_is_evicted_during_the_grace_period() -> None:
    async with court(*FULL, overused_since("one", JUST_NOW)) as at:
        await at.turn()
        found = at.telemetry.findings.arbitrated
        assert found is not None
        assert list(found.verdict.overused) == ["one"]
        assert found.verdict.evictions == ()
        await asyncio.sleep(0.01)
        assert evictions(at) == []
        at.clock.advance(5.5)
        await at.turn()
        await until(lambda: evictions(at))


async def test_a_namespace_cannot_opt_out_by_an_annotation() -> None:
    never = {"metadata": {"annotations": {"volcano.sh/preemptable": "false"}}}
    cluster = [merged(found, never) if found["kind"] == "Pod" else found for found in FULL]
    async with court(*cluster, overused_since("one", LONG_AGO)) as at:
        await at.turn()
        await until(lambda: evictions(at))


async def test_a_pod_whose_eviction_was_refused_while_the_round_was_decided_is_left_alone() -> None:
    async with court(*FULL, overused_since("one", LONG_AGO)) as at:
        turn = asyncio.create_task(at.turn())
        await asyncio.sleep(0)
        for uid in ("uid-p1", "uid-p2"):
            at.cache.assumptions.spare(uid)
        await turn
        found = at.telemetry.findings.arbitrated
        assert found is not None
        assert len(found.verdict.evictions) == 1, "it was decided on before"
        await asyncio.sleep(0.01)
        assert evictions(at) == []


async def test_a_pod_that_went_while_the_round_was_decided_is_not_sent_away_once_more() -> None:
    async with court(*FULL, overused_since("one", LONG_AGO)) as at:
        turn = asyncio.create_task(at.turn())
        await asyncio.sleep(0)
        for name in ("p1", "p2"):
            going = pod(name, namespace="one", node=f"n{name[1]}")
            at.see(merged(going, {"metadata": {"deletionTimestamp": LONG_AGO}}), type="MODIFIED")
        await turn
        found = at.telemetry.findings.arbitrated
        assert found is not None
        assert len(found.verdict.evictions) == 1, "it was decided on before"
        await asyncio.sleep(0.01)
        assert evictions(at) == []


def test_what_others_are_about_to_place_counts_as_held() -> None:
    made = world("cpu=4", [party("a")], pods=pods("a", 1, "cpu=1 limits.cpu=2", on="n1"))
    cpu = made.axis.column("cpu")
    made = replace(made, held={"a": {cpu: 1000}}, held_limits={"a": {"limits.cpu": 2000}})

    found = with_granted(made, {"a": amounts("cpu=2 limits.cpu=1"), "b": amounts("cpu=1 never.seen/gpu=1")})

    assert found.held == {"a": {cpu: 3000}, "b": {cpu: 1000}}
    assert found.held_limits == {"a": {"limits.cpu": 3000}}
    assert made.held == {"a": {cpu: 1000}}, "the mirror's own books stay as they are"
    assert with_granted(made, {}) is made
