"""The users of a bottle: all that they do while things go wrong, and what has to hold afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from math import ceil
from random import Random
from typing import Any

from vsched.api.resources import CONSUMERS
from vsched.clock import monotonic
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.watch.bounds import ReflectorSettings
from vsched.lab.outcomes import pod_watch
from vsched.lab.sender import Obj
from vsched.lab.soak import claims
from vsched.lab.soak import words as soak_words
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.broken_gangs import NAMESPACE as BROKEN_GANGS
from vsched.lab.soak.bottle.broken_gangs import BrokenGangs
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.mirrors import untrue_mirror
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS
from vsched.lab.soak.bottle.namesakes import NAMESPACE as NAMESAKES
from vsched.lab.soak.bottle.namesakes import Namesakes
from vsched.lab.soak.bottle.patience import PatientSender
from vsched.lab.soak.bottle.records import untrue_records
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.lab.soak.bottle.statuses import unexplained, untrue_groups, untrue_queues
from vsched.lab.soak.bottle.vcjobs import NAMESPACE as VCJOBS
from vsched.lab.soak.bottle.vcjobs import VcjobUsers
from vsched.lab.soak.churn import NAMESPACES, QUEUES, Rate, SoakUsers
from vsched.lab.soak.claims import key_of
from vsched.lab.soak.outcomes import Overdue, SoakOutcomes, Violations
from vsched.lab.soak.readers import Reader
from vsched.lab.soak.run import NODE_CPUS
from vsched.sim.cluster import Cluster

LOOK_SECONDS = 5.0
RESOURCE_CLAIMS = "resource.k8s.io/resourceclaims"
SETTLE_LOOKS = 120
"""How often it is looked whether all work runs, once nothing goes wrong any more."""
SILENT_LOOKS = ceil(ReflectorSettings().silence_seconds)
"""What a daemon knows may be as old as a watch that is silent and not given up yet."""
PODS_PER_VCJOB = 20
"""For so many pods of gangs there is one vcjob."""
AGENT = "vsched-users"


class BottleUsers:
    """People who create gangs, single pods and vcjobs, delete what is done, and ask the daemons."""

    def __init__(
        self,
        settings: BottleSettings,
        cluster: Cluster,
        daemons: Sequence[BottleDaemon],
        violations: Violations,
        random: Random,
    ) -> None:
        self._settings, self._cluster, self._violations = settings, cluster, violations
        self.outcomes = SoakOutcomes(NODE_CPUS, violations)
        self._vcjobs = VcjobUsers(cluster.client, random, 60.0 * PODS_PER_VCJOB / settings.pods_per_minute)
        self._daemons = daemons
        self._known_refused: set[str] = set()
        self._namesakes = Namesakes(cluster.client, random)
        self._broken = BrokenGangs(cluster.client, random)
        self._reserved = Overdue(violations, soak_words.CLAIM_FOR_NOBODY, claims.IN_VAIN_SECONDS)
        self._reader = Reader(daemons, settings.seed) if settings.asked else None

    async def run(self, begin: Callable[[SoakOutcomes, Callable[[], None]], None], end: Callable[[], None]) -> None:
        """Create work for so long, while things go wrong; then all that fits has to run.

        ``begin`` has things go wrong from the first work on, ``end`` after the last no more.
        """
        settings, outcomes = self._settings, self.outcomes
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(ApiClient(Connection(self._cluster.url, agent=AGENT)))
            sender = await stack.enter_async_context(PatientSender(self._cluster.url))
            rate = Rate(settings.pods_per_minute, settings.seed)
            churn = SoakUsers(sender, outcomes, rate, claims=settings.claims, shards=settings.shards)
            reflector = pod_watch(client, outcomes)
            _meanwhile(stack, reflector.run())
            await churn.settle_in()
            self._vcjobs.settle_in()
            self._namesakes.settle_in()
            if settings.arbitrate:
                self._cluster.apply([*_consumers()])
            if settings.claims:
                self._broken.settle_in()
                await claims.offer(client, sender, (*NAMESPACES, BROKEN_GANGS), NODE_CPUS)
            begin(outcomes, reflector.list_again)
            if self._reader is not None:
                _meanwhile(stack, self._reader.run())
            _meanwhile(stack, self._vcjobs.delete_done())
            _meanwhile(stack, self._look())
            over = asyncio.Event()
            users = [churn.run, self._vcjobs.run]
            users += [self._namesakes.run] if settings.namesakes else []
            users += [self._broken.run] if settings.claims else []
            working = [asyncio.ensure_future(work(over)) for work in users]
            await asyncio.sleep(settings.seconds)
            over.set()
            for work in working:
                await work
            end()
            _meanwhile(stack, churn.delete_done())
            await self._settled()
            outcomes.judge(SETTLE_LOOKS * LOOK_SECONDS)
            for promise, what in (*self._vcjobs.unsettled(), *self._namesakes.unsettled()):
                self._violations.add(promise, what)
            churn.judge(self._violations)
            await self._violations.settle(self._untrue)
            await self._violations.settle(self._unmirrored, SILENT_LOOKS)
            if settings.claims:
                await self._violations.settle(partial(claims.broken, client))
            if any(each.record is not None for each in self._daemons):
                await self._violations.settle(self._unrecorded)

    async def _look(self) -> None:
        """Look after what must not last, until cancelled."""
        while True:
            self.outcomes.look(monotonic())
            if self._settings.claims:
                self._reserved.look(self._reserved_in_vain(), monotonic())
            if not self._settings.faults.cluster:  # else kubelets refuse pods at random, or servers are restored
                self._refused()
            await asyncio.sleep(LOOK_SECONDS)

    def _reserved_in_vain(self) -> Iterator[str]:
        """What is reserved for pods that wait, or are gone."""
        client = self._cluster.client
        return claims.for_nobody(client.list("pods"), client.list(RESOURCE_CLAIMS))

    def _refused(self) -> None:
        """Note pods that their kubelets refused, as too many were bound."""
        for pod in self._cluster.client.list("pods"):
            reason, uid = pod.get("status", {}).get("reason", ""), pod["metadata"]["uid"]
            if reason.startswith("OutOf") and uid not in self._known_refused:
                self._known_refused.add(uid)
                self._violations.add(words.KUBELET_REFUSES, words.kubelet_says(key_of(pod), reason))

    async def _untrue(self) -> list[tuple[str, str]]:
        """The statuses that are not true now."""
        client = self._cluster.client
        pods, groups = (
            [one for namespace in (*NAMESPACES, VCJOBS, NAMESAKES) for one in client.list(each, namespace)]
            for each in ("pods", PODGROUPS)
        )
        queues = client.list("scheduling.volcano.sh/queues")
        told = (
            *untrue_groups(pods, groups),
            *untrue_queues(pods, groups, queues, QUEUES),
            *unexplained((*pods, *client.list("pods", BROKEN_GANGS))),
        )
        return [(words.STATUS_NOT_TRUE, each) for each in told]

    async def _unmirrored(self) -> list[tuple[str, str]]:
        """What daemons know otherwise than it is now."""
        client = self._cluster.client
        pods, groups = client.list("pods"), client.list(PODGROUPS)
        nodes = {each["metadata"]["name"] for each in client.list("nodes")}
        running = [each.daemon.mirror for each in self._daemons if each.process is not None and each.daemon is not None]
        return [
            (words.MIRROR_NOT_TRUE, each) for mirror in running for each in untrue_mirror(mirror, pods, groups, nodes)
        ]

    async def _unrecorded(self) -> list[tuple[str, str]]:
        """What the daemons have recorded otherwise than it is now."""
        folders = [each.record for each in self._daemons if each.record is not None]
        after_losses = [path for each in self._daemons for path in each.disk.after_losses]
        pods = self._cluster.client.list("pods")
        return [(words.RECORD_NOT_TRUE, each) for each in untrue_records(folders, after_losses, pods)]

    async def _settled(self) -> None:
        """Wait until nothing waits, so long at most."""
        for _ in range(SETTLE_LOOKS):
            waiting = any(self._vcjobs.unsettled()) or any(self._namesakes.unsettled())
            if not (self.outcomes.never_bound() or self.outcomes.partial() or waiting):
                return
            await asyncio.sleep(LOOK_SECONDS)


def _consumers() -> Iterator[Obj]:
    """A Consumer with another weight for each namespace; the arbitrator may have made one by now."""
    for weight, namespace in enumerate(NAMESPACES, 1):
        metadata = {"name": "defaults", "namespace": namespace}
        spec = {"weight": weight}
        yield {"apiVersion": CONSUMERS.api_version, "kind": "Consumer", "metadata": metadata, "spec": spec}


def _meanwhile(stack: AsyncExitStack, work: Coroutine[Any, Any, None]) -> None:
    """Have something go on until the stack is closed."""
    stack.callback(asyncio.ensure_future(work).cancel)
