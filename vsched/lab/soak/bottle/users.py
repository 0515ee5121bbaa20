"""The users of a bottle: all that they do while things go wrong, and what has to hold afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

from vsched.api.resources import CONSUMERS
from vsched.clock import monotonic
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.lab.outcomes import pod_watch
from vsched.lab.sender import Obj
from vsched.lab.soak import claims
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.patience import PatientSender
from vsched.lab.soak.bottle.settings import BottleSettings
from vsched.lab.soak.bottle.statuses import untrue_groups, untrue_queues
from vsched.lab.soak.bottle.vcjobs import NAMESPACE as VCJOBS
from vsched.lab.soak.bottle.vcjobs import PODGROUPS, VcjobUsers
from vsched.lab.soak.churn import NAMESPACES, QUEUES, Rate, SoakUsers
from vsched.lab.soak.outcomes import SoakOutcomes, Violations
from vsched.lab.soak.readers import Reader
from vsched.lab.soak.run import NODE_CPUS
from vsched.sim.client import LocalClient
from vsched.sim.cluster import Cluster

LOOK_SECONDS = 5.0
SETTLE_LOOKS = 120
"""How often it is looked whether all work runs, once nothing goes wrong any more."""
STATUS_LOOKS = 60
"""How often, a second apart, it is looked whether all statuses are true."""
PODS_PER_VCJOB = 20
"""For so many pods of gangs there is one vcjob."""
CONSUMER, CONSUMER_NAME = "kube-arbitrator.incubator.k8s.io/consumers", "defaults"
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
            if settings.arbitrate:
                _give_weights(self._cluster.client)
            if settings.claims:
                await claims.offer(client, sender, NAMESPACES, NODE_CPUS)
            begin(outcomes, reflector.list_again)
            if self._reader is not None:
                _meanwhile(stack, self._reader.run())
            _meanwhile(stack, self._vcjobs.delete_done())
            _meanwhile(stack, self._look())
            over = asyncio.Event()
            working = [asyncio.ensure_future(work.run(over)) for work in (churn, self._vcjobs)]
            await asyncio.sleep(settings.seconds)
            over.set()
            for work in working:
                await work
            end()
            _meanwhile(stack, churn.delete_done())
            await self._settled()
            outcomes.judge(SETTLE_LOOKS * LOOK_SECONDS)
            for promise, what in self._vcjobs.unsettled():
                self._violations.add(promise, what)
            churn.judge(self._violations)
            await self._judge_statuses()
            if settings.claims:
                await claims.judge(client, self._violations)

    async def _look(self) -> None:
        """Look after what must not last, until cancelled."""
        while True:
            self.outcomes.look(monotonic())
            await asyncio.sleep(LOOK_SECONDS)

    async def _judge_statuses(self) -> None:
        """Look until all statuses are true, so long at most: they are written a moment after what they tell."""
        for _ in range(STATUS_LOOKS):
            found = list(self._untrue())
            if not found:
                return
            await asyncio.sleep(1.0)
        for told in found:
            self._violations.add(words.STATUS_NOT_TRUE, told)

    def _untrue(self) -> Iterator[str]:
        client = self._cluster.client
        pods, groups = (
            [one for namespace in (*NAMESPACES, VCJOBS) for one in client.list(each, namespace)]
            for each in ("pods", PODGROUPS)
        )
        yield from untrue_groups(pods, groups)
        yield from untrue_queues(pods, groups, client.list("scheduling.volcano.sh/queues"), QUEUES)

    async def _settled(self) -> None:
        """Wait until nothing waits, so long at most."""
        for _ in range(SETTLE_LOOKS):
            if not (self.outcomes.never_bound() or self.outcomes.partial() or any(self._vcjobs.unsettled())):
                return
            await asyncio.sleep(LOOK_SECONDS)


def _give_weights(client: LocalClient) -> None:
    """Each namespace has a Consumer with another weight, whether the arbitrator has made one by now or not."""
    for weight, namespace in enumerate(NAMESPACES, 1):
        spec = {"weight": weight}
        if client.get(CONSUMER, namespace, CONSUMER_NAME) is None:
            metadata = {"name": CONSUMER_NAME, "namespace": namespace}
            client.create(
                CONSUMER,
                {"apiVersion": CONSUMERS.api_version, "kind": "Consumer", "metadata": metadata, "spec": spec},
            )
        else:
            client.patch(CONSUMER, namespace, CONSUMER_NAME, partial(_with_spec, spec=spec))


def _with_spec(found: Obj, spec: Obj) -> Obj:
    return {**found, "spec": {**found["spec"], **spec}}


def _meanwhile(stack: AsyncExitStack, work: Coroutine[Any, Any, None]) -> None:
    """Have something go on until the stack is closed."""
    stack.callback(asyncio.ensure_future(work).cancel)
