"""Statuses of HyperNodes, over HTTP: what is written, how often, and what of others stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support.hypernodes import catalogue, hypernode
from tests.support.recording_server import RecordingServer, Reply, recording, writer_to
from tests.support.small import SmallCluster
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.kernels.topology import words
from vsched.mirror.ingest.hypernodes import ShownStatus
from vsched.model.snapshot import Snapshot
from vsched.model.topology.hypernodes import TopologyCatalogue
from vsched.writes.events import EventRecorder, EventSettings
from vsched.writes.limits import Attempts
from vsched.writes.status.hypernodes import (
    BROKEN,
    READY,
    USABLE,
    HyperNodeContent,
    HyperNodeStatuses,
    HyperNodeStatusSettings,
    conditions_of,
    says,
)

QUICK = HyperNodeStatusSettings(grace_seconds=0.01, repeat_seconds=0.2, attempts=Attempts(1))
SINCE = "2026-01-01T00:00:00Z"


@dataclass
class Mirror:
    """What objects show."""

    shown: dict[str, ShownStatus] = field(default_factory=dict)
    statuses_seen: int = 0
    uids: dict[str, str] = field(default_factory=dict)

    def show(self, name: str, status: ShownStatus) -> None:
        self.uids[name], self.shown[name] = f"uid-{name}", status
        self.statuses_seen += 1


@dataclass
class Bench:
    server: RecordingServer
    statuses: HyperNodeStatuses
    mirror: Mirror
    events: EventRecorder
    told: list[tuple[str, str, str | None]]

    def written(self) -> list[tuple[str, dict[str, Any]]]:
        return [(sent.path.split("/")[-2], sent.body["status"]) for sent in self.server.of("hypernodes")]

    def shows_what_was_written(self) -> None:
        for name, status in self.written():
            self.mirror.show(name, ShownStatus(status["nodeCount"], tuple(status["conditions"])))


@asynccontextmanager
async def bench(settings: HyperNodeStatusSettings = QUICK) -> AsyncIterator[Bench]:
    told: list[tuple[str, str, str | None]] = []
    mirror = Mirror()
    async with recording() as (server, client):
        writer, clock = writer_to(client), FakeClock()
        events = EventRecorder(writer, EventSettings(attempts=Attempts(1)), clock)
        statuses = HyperNodeStatuses(writer, events, settings, clock, lambda *news: told.append(news), mirror)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run()) for run in (statuses.run, statuses.workqueue.run, events.workqueue.run)]
            yield Bench(server, statuses, mirror, events, told)
            for task in tasks:
                task.cancel()


def snapshot(known: TopologyCatalogue, *names: str) -> Snapshot:
    cluster = SmallCluster()
    for name in names:
        cluster.node(name)
    return replace(cluster.snapshot(), topology=known)


def ready(status: str, reason: str, message: str = "", since: str = SINCE) -> dict[str, str]:
    return {"type": READY, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


async def test_counts_and_conditions_are_written_and_then_nothing_more() -> None:
    seen = snapshot(
        catalogue(hypernode("a", 1, "n1", "n9"), hypernode("b", 1, "n1"), hypernode("c", 1, "~n[23]")), "n1", "n2", "n3"
    )
    async with bench() as test:
        for name in "abc":
            test.mirror.show(name, ShownStatus())
        test.statuses.submit(seen)
        await until(lambda: len(test.written()) == 3)
        await until(lambda: len(test.server.of("events")) == 2)
        written = dict(test.written())
        why = words.node_in_two("n1", "a", "b")
        assert [(name, status["nodeCount"]) for name, status in sorted(written.items())] == [
            ("a", None),
            ("b", None),
            ("c", 2),
        ]
        for name, status, reason, message in (
            ("a", "False", BROKEN, why),
            ("b", "False", BROKEN, why),
            ("c", "True", USABLE, ""),
        ):
            [condition] = written[name]["conditions"]
            assert condition == ready(status, reason, message, condition["lastTransitionTime"])
        for event in test.server.of("events"):
            assert (event.body["reason"], event.body["message"], event.body["type"]) == (BROKEN, why, "Warning")
        await until(lambda: len(test.told) == 3)
        assert sorted(test.told) == [("HyperNode", name, "77") for name in "abc"]

        test.shows_what_was_written()
        for _ in range(3):
            test.statuses.submit(seen)
            await asyncio.sleep(0.03)
        assert len(test.written()) == 3
        assert len(test.server.of("events")) == 2


async def test_what_an_earlier_daemon_wrote_is_not_written_again() -> None:
    seen = snapshot(catalogue(hypernode("a", 1, "n1"), hypernode("b", 1, "~n2", "^b")), "n1", "n2")
    async with bench() as test:
        test.mirror.show("a", ShownStatus(1, (ready("True", USABLE),)))
        test.mirror.show("b", ShownStatus(None, (ready("False", BROKEN, words.circle(["b", "b"])),)))
        test.mirror.show("gone", ShownStatus(7))
        test.statuses.submit(seen)
        test.mirror.show("a", ShownStatus(9, (ready("True", USABLE),)))
        test.statuses.submit(seen)
        await until(lambda: test.written())
        assert [name for name, _ in test.written()] == ["a"]
        assert test.server.of("events") == []


async def test_a_write_that_fails_is_tried_again_and_ends_when_the_object_is_gone() -> None:
    async with bench() as test:
        test.server.reply = lambda sent: Reply(500, "no")
        test.mirror.show("a", ShownStatus())
        test.statuses.submit(snapshot(catalogue(hypernode("a", 1, "n1")), "n1"))
        await until(lambda: test.told == [("HyperNode", "a", None)])
        await until(lambda: test.statuses.workqueue.get("a") is not None)
        test.mirror.shown.clear()
        test.mirror.uids.clear()
        test.statuses.submit(snapshot(catalogue()))
        await until(lambda: test.statuses.workqueue.get("a") is None)


async def test_a_cluster_without_hypernodes_costs_nothing() -> None:
    async with bench() as test:
        test.statuses.submit(snapshot(catalogue(), "n1"))
        await asyncio.sleep(0.05)
        assert test.server.sent == []


CONTENT = HyperNodeContent(2, True, "")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param(ShownStatus(2, (ready("True", USABLE),)), True, id="the same"),
        pytest.param(ShownStatus(3, (ready("True", USABLE),)), False, id="another number"),
        pytest.param(ShownStatus(2, (ready("True", USABLE, "x"),)), False, id="another message"),
        pytest.param(ShownStatus(2, (ready("False", BROKEN),)), False, id="another state"),
        pytest.param(ShownStatus(2, ({"type": "Other", "status": "True"},)), False, id="no condition of ours"),
    ],
)
def test_whether_an_object_says_it_already(shown: ShownStatus, expected: bool) -> None:
    assert says(shown, CONTENT) == expected


def test_conditions_of_others_stay_and_ours_keeps_its_time_while_its_state_does() -> None:
    other = {"type": "Other", "status": "True", "observedGeneration": 3}
    before = ShownStatus(1, (ready("True", USABLE, "old"), other))
    assert conditions_of(before, CONTENT, 1e9) == [other, ready("True", USABLE)]
    broken = HyperNodeContent(None, False, "why")
    assert conditions_of(before, broken, 0.0) == [other, ready("False", BROKEN, "why", "1970-01-01T00:00:00Z")]
