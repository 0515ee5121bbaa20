"""NUMA zones of nodes, as reported, and the pods there that the kubelet aligns."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from vsched import api
from vsched.mirror.ingest.zones import shares_of, volcano_zones_of, zones_of
from vsched.model.nodes.zones import NO_ZONES, NodeZones, ZoneCatalogue, ZonedPod
from vsched.model.plan import TOPOLOGY_DECISION, Bind
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

KINDS = ("NodeResourceTopology", "Numatopology")
"""The kinds of reports; where a node has both, the first one counts."""


class ZoneStore:
    """Reports by kind and node, and pods by node. What a pod costs without reports is a look-up."""

    def __init__(self) -> None:
        self._reports: dict[str, dict[str, NodeZones]] = {kind: {} for kind in KINDS}
        self._pods: dict[str, dict[str, Task]] = {}
        """By node, then by uid."""
        self._decided: dict[str, str] = {}
        """By uid: what was decided for pods whose annotation the watch does not show yet."""
        self._on_paper: set[str] = set()
        """Uids of pods that a simulation started."""
        self._others: dict[str, tuple[ZonedPod, ...]] = {}
        """By node: pods of a snapshot that nothing else is known of, because other schedulers placed them."""
        self._shown: dict[str, tuple[ZonedPod, ...]] = {}
        self._nodes: dict[str, NodeZones] = {}
        self._dirty: set[str] = set()
        """Nodes whose report or whose pods have changed."""
        self._published = NO_ZONES

    def __len__(self) -> int:
        return sum(map(len, self._reports.values()))

    def put(self, key: str, found: api.NodeResourceTopology | api.Numatopology) -> bool:
        """Take in a report; True where it says something new, besides its time. Raises BadObject."""
        if isinstance(found, api.NodeResourceTopology):
            reports, made = self._reports[KINDS[0]], zones_of(found)
        else:
            reports, made = self._reports[KINDS[1]], volcano_zones_of(found)
        before = reports.get(key)
        if before == made:
            return False
        reports[key] = made
        self._dirty.add(key)
        return before is None or replace(before, reported=made.reported) != made

    def drop(self, kind: str, key: str) -> bool:
        """A report is gone; True where there was one."""
        if self._reports[kind].pop(key, None) is None:
            return False
        self._dirty.add(key)
        return True

    def move(self, before: Task | None, after: Task | None) -> None:
        """A pod has changed, has come (``before`` is None) or is gone; those that no kubelet aligns are passed over."""
        task = before if after is None else after
        if task is None or task.shape.zones is None:
            return
        if before is not None and before.node and (after is None or after.node != before.node or not _holds(after)):
            self._leave(before)
        if after is None:
            self._forget(before)
        elif after.node and _holds(after):
            self._pods.setdefault(after.node, {})[after.uid] = after
            self._dirty.add(after.node)
            if after.zones:
                self._decided.pop(after.uid, None)

    def decide(self, bind: Bind, *, on_paper: bool = False) -> None:
        """A pod is about to be bound. With ``on_paper``, a simulation starts it, and no report will count it."""
        if on_paper:
            self._on_paper.add(bind.uid)
        for name, text in bind.annotations:
            if name == TOPOLOGY_DECISION:
                self._decided[bind.uid] = text

    def adopt(self, found: ZoneCatalogue, tasks: Mapping[str, Task]) -> None:
        """Take over what another mirror has published; ``tasks`` are the pods that are known here, by uid."""
        self._reports[KINDS[0]] = dict(found.nodes)
        self._nodes, self._shown, self._published = dict(found.nodes), dict(found.pods), found
        for task in tasks.values():
            self.move(None, task)
        self._dirty.clear()
        for node, pods in found.pods.items():
            self._on_paper.update(pod.uid for pod in pods if pod.on_paper)
            others = tuple(pod for pod in pods if pod.uid not in tasks)
            if others:
                self._others[node] = others

    def publish(self) -> ZoneCatalogue:
        """What snapshots show; the same object while nothing changes."""
        dirty, self._dirty = self._dirty, set()
        if not dirty or not (len(self) or self._nodes):
            return self._published
        changed = False
        for node in dirty:
            report = self._reports[KINDS[0]].get(node) or self._reports[KINDS[1]].get(node)
            if report is None:
                changed |= self._nodes.pop(node, None) is not None
                self._shown.pop(node, None)
                continue
            changed = True
            self._nodes[node] = report
            pods = [*map(self._zoned, self._pods.get(node, {}).values()), *self._others.get(node, ())]
            if pods:
                self._shown[node] = tuple(sorted(pods, key=lambda pod: (pod.name, pod.uid)))
            else:
                self._shown.pop(node, None)
        if changed:
            self._published = ZoneCatalogue(self._nodes, self._shown) if self._nodes else NO_ZONES
        return self._published

    def _zoned(self, task: Task) -> ZonedPod:
        assert task.shape.zones is not None, "no others are stored"
        decision = task.zones or self._decided.get(task.uid, "")
        return ZonedPod(
            uid=task.uid,
            name=task.key,
            request=task.shape.zones,
            running=task.status is Status.RUNNING,
            started=task.started,
            shares=shares_of(decision) if decision else (),
            on_paper=task.uid in self._on_paper,
        )

    def _leave(self, task: Task) -> None:
        pods = self._pods.get(task.node)
        if pods is not None and pods.pop(task.uid, None) is not None:
            self._dirty.add(task.node)
            if not pods:
                del self._pods[task.node]

    def _forget(self, task: Task | None) -> None:
        if task is not None:
            self._decided.pop(task.uid, None)
            self._on_paper.discard(task.uid)


def _holds(task: Task) -> bool:
    """Whether the pod keeps what it has of its zones; a pod that is leaving does until it has left."""
    return HOLDS[task.status].allocated or task.status is Status.RELEASING
