"""The deciding core of a daemon at an embedded cluster on virtual time, without HTTP and without a daemon around it.

It decides as ``stepped_daemon`` does, but needs no second to start and a quarter less time: the mirror gets the objects
out of the store, and decisions are written to it. Claims and scheduling gates are left out, as no trace has any; so are
policies that call external services.
"""

from __future__ import annotations

from math import inf

import orjson

from vsched import api
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.workloads.actions import SetStatus
from vsched.clock import Clock
from vsched.daemon.loop.loop import DUE_SLACK_SECONDS
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.trace.daemon import WATCHED
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.memo import Memo, Mode
from vsched.model.plan import Bind, CycleReport
from vsched.settings.installed import registry
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.performing import perform

PRIORITY_CLASSES = {"PriorityClass": "scheduling.k8s.io/priorityclasses"}
MOST_AT_ONCE = 10_000
"""Events taken from the store at a time."""


class DirectCore:
    """Sessions on request, as those of ``SteppedDaemon``."""

    def __init__(self, cluster: Cluster, policy: Policy, clock: Clock, scheduler: str) -> None:
        """``cluster`` has its nodes and queues already."""
        self._store = cluster.store
        self._client = cluster.client
        self._policy = policy
        self._clock = clock
        self._memo = Memo(Mode.ON)
        self._mirror = Mirror(MirrorSettings(frozenset({scheduler}), open_without_state=True))
        self._mirror.history.keep(policy.decays())
        self._pods, self._groups = (self._client.kind(WATCHED[kind]) for kind in ("Pod", "PodGroup"))
        self._events = {}
        for kind, resource in (WATCHED | PRIORITY_CLASSES).items():
            self._events[kind] = self._store.subscribe(self._client.kind(resource))
            for obj in self._client.list(resource):
                self._feed(kind, "ADDED", obj)

    @property
    def remembers(self) -> bool:
        """Whether the policy reads what was used in the past, which is counted from session to session."""
        return bool(self._policy.decays())

    async def session(self) -> float:
        """Hold one session on everything written so far, and carry out its decisions.

        Returns after how many seconds another session may decide more although nothing has changed, infinite for never.
        """
        self._catch_up()
        now = self._clock.now()
        snapshot = self._mirror.snapshot(now)
        report = run_cycle(snapshot, self._policy, registry(), memo=self._memo)
        self._mirror.assumptions.assume(report)
        for eviction in report.evictions:
            self._client.delete("pods", eviction.namespace, eviction.name, grace_seconds=0)
        for bind in report.binds:
            self._bind(bind)
        self._write_phases(report)
        return max(0.0, report.due - now) + DUE_SLACK_SECONDS if report.due else inf

    def _catch_up(self) -> None:
        for kind, events in self._events.items():
            while found := events.take(MOST_AT_ONCE):
                for event in found:
                    self._feed(kind, event.type, event.obj)

    def _feed(self, kind: str, change: str, obj: Obj) -> None:
        self._mirror.intake.apply(kind, change, api.read(kind, orjson.dumps(obj)))

    def _bind(self, bind: Bind) -> None:
        record = self._store.get(self._pods, bind.namespace, bind.name)
        if record is None:
            return  # evicted in the same session
        obj = record.obj
        metadata = obj["metadata"]
        annotations = {**metadata.get("annotations", {}), **dict(bind.annotations)}
        bound = {
            **obj,
            "metadata": {**metadata, "annotations": annotations},
            "spec": {**obj["spec"], "nodeName": bind.node},
        }
        self._store.replace(self._pods, bound, record)

    def _write_phases(self, report: CycleReport) -> None:
        """Write the phases of PodGroups that have changed; nobody reads the rest of their status."""
        for key, outcome in report.jobs.items():
            namespace, _, name = key.partition("/")
            record = self._store.get(self._groups, namespace, name) if outcome.changed else None
            if record is None or record.obj.get("status", {}).get("phase") == outcome.phase:
                continue
            status = {"phase": str(outcome.phase), "running": outcome.running}
            perform(self._store, self._client, SetStatus(WATCHED["PodGroup"], namespace, name, status))
