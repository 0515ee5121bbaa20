"""Runs the controllers: one feed for each resource, and one queue and one worker for each controller.

Controllers are level-triggered, so after any failure everything is reconciled again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.workloads.actions import After, Create, Tell
from vsched.clock import monotonic
from vsched.errors import BadObject
from vsched.sim.controllers.controller import EVERYTHING, Controller
from vsched.sim.controllers.event_messages import Write, of_failure, of_success, of_telling
from vsched.sim.controllers.event_recorder import ControllerEventRecorder
from vsched.sim.controllers.performing import before_of, perform
from vsched.sim.controllers.pod_claims import has_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import Behind, Event, Store, Subscription

log = logging.getLogger(__name__)

UNWATCHED = frozenset({"events"})
"""Not for controllers that watch everything: there are many of them, and they have no owners."""

TURN_SECONDS = 0.004
"""How long one controller works before it yields to the rest of the process."""
BATCH = 256
RETRY_SECONDS, RETRY_LIMIT_SECONDS = 0.05, 30.0
RESTART_SECONDS, RESTART_LIMIT_SECONDS = 0.1, 10.0


class Engine:
    """Has the tasks of the controllers, from ``start`` to ``close``."""

    def __init__(self, store: Store, pod_index: PodIndex, recorder: ControllerEventRecorder | None = None) -> None:
        self._store = store
        self._pod_index = pod_index
        self._recorder = recorder
        self._controllers: list[Controller] = []
        self._sinks: dict[str, list[Controller]] = defaultdict(list)
        self._pod_sinks: dict[tuple[bool, bool], list[Controller]] = {}
        """By whether a pod has claims, and whether it is owned."""
        self._feeds: dict[str, Subscription] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._served = -1

    def add(self, controller: Controller) -> None:
        """Adds a controller, before ``start``."""
        self._controllers.append(controller)
        for resource in controller.watches:
            self._sinks[resource].append(controller)
        self._pod_sinks.clear()

    def start(self) -> None:
        """Reconciles everything once, then follows changes."""
        self._follow_all()
        for controller in self._controllers:
            self._own(controller.name, partial(self._work, controller))

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for controller in self._controllers:
            controller.queue.close()

    def catch_up(self) -> None:
        """Passes on all events so far, without waiting for the tasks of the feeds."""
        for resource, subscription in list(self._feeds.items()):
            while events := subscription.take():
                self._tell(resource, events)

    def busy(self) -> bool:
        """Whether there are keys to reconcile now; delayed keys do not count."""
        self.catch_up()
        return any(len(controller.queue) for controller in self._controllers)

    def _follow_all(self) -> None:
        """Follows the resources that controllers watch; every kind that is served if one of them watches everything."""
        registry = self._store.registry
        self._served = registry.changes
        wanted = {"pods", *self._sinks} - {EVERYTHING}
        if self._sinks.get(EVERYTHING):
            wanted |= {kind.path for kind in registry if "watch" in kind.verbs}
        storages: set[str] = set()
        for resource in sorted(wanted - UNWATCHED):
            group, _, plural = resource.rpartition("/")
            kind = registry.preferred(group, plural)
            if kind is None or kind.storage in storages or kind.plural in UNWATCHED:
                continue
            storages.add(kind.storage)
            if resource not in self._feeds:
                self._follow(resource, kind)

    def _follow(self, resource: str, kind: Kind) -> None:
        self._feeds[resource] = self._store.subscribe(kind)
        self._tell(resource, [Event("ADDED", "", record, None) for record in self._store.items(kind)])
        self._own(f"feed of {resource}", partial(self._feed, resource, kind))

    def _own(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.get_running_loop().create_task(self._supervise(name, run), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _supervise(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Restarts a loop that fails, with growing pauses, and reconciles everything after that."""
        pause = RESTART_SECONDS
        while True:
            began = monotonic()
            try:
                await run()
                return
            except Exception:  # a bug in one controller must not take the whole cluster down
                log.exception("%s failed; it starts again", name)
            pause = RESTART_SECONDS if monotonic() - began > RESTART_LIMIT_SECONDS else pause
            await asyncio.sleep(pause)
            pause = min(2 * pause, RESTART_LIMIT_SECONDS)
            self._look_at_everything()

    def _look_at_everything(self) -> None:
        for controller in self._controllers:
            controller.resync()

    async def _feed(self, resource: str, kind: Kind) -> None:
        """Passes events on until the kind is no longer served."""
        while not self._feeds[resource].closed:
            await self._feeds[resource].wait()
            try:
                events = self._feeds[resource].take(BATCH)
            except Behind as behind:
                log.warning("feed of %s: %s; starting over", resource, behind)
                self._feeds[resource] = self._store.subscribe(kind)
                events = [Event("ADDED", "", record, None) for record in self._store.items(kind)]
                self._look_at_everything()
            self._tell(resource, events)
            await asyncio.sleep(0)
        del self._feeds[resource]
        # Meanwhile the kind may have been defined again.
        self._follow_all()

    def _tell(self, resource: str, events: Sequence[Event]) -> None:
        sinks = self._sinks_of(resource)
        for event in events:
            obj, gone = event.obj, event.type == "DELETED"
            old = event.previous.obj if event.previous is not None else None
            if resource == "pods":
                self._pod_index.note(obj, gone=gone)
                sinks = self._sinks_of_pod(has_claims(obj), _is_owned(obj) or (old is not None and _is_owned(old)))
            for controller in sinks:
                for key in controller.affected(resource, obj, old, gone=gone):
                    controller.queue.add_after(key, controller.settle_seconds)
        if self._store.registry.changes != self._served:
            self._follow_all()

    def _sinks_of(self, resource: str) -> list[Controller]:
        return [*self._sinks.get(resource, ()), *self._sinks.get(EVERYTHING, ())]

    def _sinks_of_pod(self, claims: bool, owned: bool) -> list[Controller]:
        """The controllers to which pods of a kind matter; most pods matter to few."""
        found = self._pod_sinks.get((claims, owned))
        if found is None:
            found = self._pod_sinks[claims, owned] = [
                controller
                for controller in self._sinks_of("pods")
                if (claims or not controller.only_pods_with_claims) and (owned or not controller.only_owned_pods)
            ]
        return found

    async def _work(self, controller: Controller) -> None:
        queue = controller.queue
        while True:
            keys = await queue.take(BATCH)
            began = monotonic()
            for key in keys:
                self._attempt(controller, key)
                if monotonic() - began > TURN_SECONDS:
                    await asyncio.sleep(0)
                    began = monotonic()
            if queue.overflowed and not len(queue):
                controller.resync()
            await asyncio.sleep(0)

    def _attempt(self, controller: Controller, key: str) -> None:
        """Reconciles one key; a failure is tried again, with growing pauses."""
        try:
            for action in controller.reconcile(key):
                if isinstance(action, After):
                    controller.queue.add_after(key, action.seconds)
                    continue
                if isinstance(action, Tell):
                    self._tell_event(controller, action)
                    continue
                made = self._perform(controller, action)
                if made is not None and isinstance(action, Create) and action.resource == "pods":
                    self._pod_index.note(made, gone=False)
        except Failure as failure:
            log.debug("%s: %s: %s", controller.name, key, failure)
            self._retry(controller, key)
        except BadObject as problem:
            log.warning("%s: %s is left alone until it changes: %s", controller.name, key, problem)
        except Exception:  # one object that trips a controller must not stop it for the others
            log.exception("%s: %s", controller.name, key)
            self._retry(controller, key)
        else:
            controller.retries.pop(key, None)

    def _tell_event(self, controller: Controller, action: Tell) -> None:
        if self._recorder is not None:
            kind = controller.client.kind(action.resource)
            self._recorder.tell(of_telling(controller.component, kind, action))

    def _perform(self, controller: Controller, action: Write) -> Obj | None:
        """Carries out an action, and records its Events."""
        recorder = self._recorder if controller.component else None
        if recorder is None:
            return perform(self._store, controller.client, action)
        before = before_of(controller.client, action)
        try:
            made = perform(self._store, controller.client, action)
        except Failure as failure:
            recorder.tell_all(of_failure(controller.component, action, before, failure.message))
            raise
        recorder.tell_all(of_success(controller.component, action, before, made))
        return made

    def _retry(self, controller: Controller, key: str) -> None:
        tries = controller.retries.get(key, 0)
        controller.retries[key] = tries + 1
        controller.queue.add_after(key, min(RETRY_LIMIT_SECONDS, RETRY_SECONDS * 2.0 ** min(tries, 16)))


def _is_owned(pod: Obj) -> bool:
    metadata = pod["metadata"]
    return bool(metadata.get("ownerReferences") or metadata.get("finalizers"))
