"""The further parts of ``vsched bench-restart --held``: what a daemon is asked for, and what it has to do.

In the end a second daemon stands by. It takes over when the first one is told to stop, places the pods that were left
for it, and is told to stop itself as soon as the first of them is bound.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError
from vsched.lab.bench.held import metered
from vsched.lab.bench.held.phases import Phases, read_notes
from vsched.lab.bench.observer import Observer, Probe, counter
from vsched.lab.bench.words import restart as words
from vsched.lab.children import beside, child, daemon_arguments
from vsched.lab.claiming import fixtures, with_claims
from vsched.lab.gangs import create, single_pod
from vsched.lab.sender import Obj, Sender
from vsched.settings.load import default_text
from vsched.sim.fleet.sample_gangs import SCHEDULER_NAME, SHAPES

EDIT = "    arguments: {binpack.weight: 2}\n"
"""Behind the built-in policy, whose last plugin is binpack."""
PLACES, TAKES = "allocate, backfill", "allocate, preempt, backfill"
"""Its actions, before and after the edit."""
LATE = "late"
"""The scheduler that pods name which only the second daemon places."""
NODES_A_POD = 25
"""To so many nodes there is one pod with claims, and one that needs most of a node, and room that others have."""
DEVICES_A_NODE = 4
NAMESPACE = QUEUE = "default"
LASTING_SECONDS = 86_400.0
PAGES = ("/metrics", "/queues", "/jobs", "/nodes", "/overview", "/dump")
TRIES = 5
"""For a page: while sessions take long there may be none."""
PAUSE_SECONDS = 0.5
"""After each request and each edit: what follows from it belongs to the same part."""
RELOAD_SECONDS = 120.0
READY_SECONDS = 600.0
END_SECONDS = 60.0


class HeldRun:
    """A daemon whose event loop is measured, and the parts of its run."""

    def __init__(self, directory: Path) -> None:
        self.phases = Phases()
        self.problems: list[str] = []
        """Why pages were not answered."""
        self.module = metered.__name__
        self._directory = directory
        self._notes = directory / "notes"
        self._policy = directory / "policy.yaml"
        self._policy.write_text(default_text(), encoding="utf-8")

    @property
    def arguments(self) -> tuple[str, ...]:
        """Further ones of the daemons."""
        return ("--scheduler-conf", str(self._policy), "--leader-elect")

    @property
    def environment(self) -> Mapping[str, str]:
        """The daemons'."""
        return {**os.environ, metered.VARIABLE: str(self._notes)}

    async def further(
        self, daemon: ApiClient, sender: Sender, observer: Observer, nodes: int, large: dict[str, str]
    ) -> None:
        """Ask for pages, edit the policy, and create pods with claims, and ``large`` ones that others make room for."""
        for page in PAGES:
            self.phases.begin(page)
            try:
                await daemon.request("GET", page, attempts=TRIES)
            except (ApiError, Unavailable) as error:  # what held the loop is known all the same
                self.problems.append(str(error))
            await asyncio.sleep(PAUSE_SECONDS)
        await self._edit(daemon)
        count = -(-nodes // NODES_A_POD)
        self.phases.begin("claims")
        await _claim(sender, observer, count)
        self.phases.begin("evictions")
        await _evict(sender, observer, count, large)

    async def _edit(self, daemon: ApiClient) -> None:
        before = await counter(daemon, "vsched_policy_reloads_total", "result")
        self.phases.begin("policy")
        self._policy.write_text(default_text().replace(PLACES, TAKES) + EDIT, encoding="utf-8")
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                while True:
                    if await counter(daemon, "vsched_policy_reloads_total", "result") != before:
                        break
                    await asyncio.sleep(PAUSE_SECONDS)
        except TimeoutError:
            raise Unavailable(words.policy_not_read(RELOAD_SECONDS)) from None
        await asyncio.sleep(PAUSE_SECONDS)

    async def hand_over(self, first: Process, kubeconfig: Path, observer: Observer) -> None:
        """Start a second daemon, end the first one, and end the second one while it places pods."""
        self.phases.begin("standby")
        arguments, _, healthz = daemon_arguments(kubeconfig)
        arguments += (*self.arguments, "--scheduler-name", SCHEDULER_NAME, "--scheduler-name", LATE)
        log = self._directory / "second.log"
        async with (
            ApiClient(healthz) as health,
            child("second scheduler", arguments, log, self.environment, module=self.module) as second,
        ):
            probe = Probe(health)
            async with beside(probe.run(), second.ended()):
                async with asyncio.timeout(READY_SECONDS):
                    await probe.ready.wait()
                bound = len(observer.bound)
                self.phases.begin("hand-over")
                await _end(first)
                await observer.until(bound + 1)
            self.phases.begin(words.STOP_UNDER_LOAD)
            await _end(second.process)

    def held(self) -> dict[str, Any]:
        """What took long in each part."""
        return self.phases.held(read_notes(self._notes))


async def _claim(sender: Sender, observer: Observer, count: int) -> None:
    """Create pods with a volume and a device each, and wait until they are bound."""
    for path, body in fixtures((f"node-{number}" for number in range(count)), [NAMESPACE], DEVICES_A_NODE):
        await sender.send("POST", path, orjson.dumps(body))
    pods = [single_pod(f"claims-{number}", NAMESPACE, QUEUE, SHAPES[0], LASTING_SECONDS) for number in range(count)]
    for pod in pods:
        with_claims(pod)
    await _place(sender, observer, pods)


async def _evict(sender: Sender, observer: Observer, count: int, request: dict[str, str]) -> None:
    """Create pods that others have to make room for, and wait until they are bound."""
    metadata = {"name": "urgent"}
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 1000}
    await create(sender, kind)
    pods = [single_pod(f"urgent-{number}", NAMESPACE, QUEUE, request, LASTING_SECONDS) for number in range(count)]
    for pod in pods:
        pod["spec"]["priorityClassName"] = "urgent"
    await _place(sender, observer, pods)


async def _place(sender: Sender, observer: Observer, pods: Sequence[Obj]) -> None:
    for pod in pods:
        await create(sender, pod)
    await observer.until_all({pod["metadata"]["name"] for pod in pods})


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):  # on a busy machine it may have lost its lease to the other one
        process.terminate()
    async with asyncio.timeout(END_SECONDS):
        await process.wait()
