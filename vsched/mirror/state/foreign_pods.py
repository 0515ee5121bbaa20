"""Pods of other schedulers that name a PodGroup and have no node yet. The gang waits, and its status says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from vsched import api
from vsched.mirror.ingest.implicit import group_named
from vsched.mirror.state import words

OVER = ("Succeeded", "Failed")
NAMED_MAX = 3
"""So many schedulers are named."""
LONGEST = 63
"""The longest name of a scheduler in a message."""


class ForeignPodIndex:
    """How many pods of which schedulers name which PodGroup."""

    def __init__(self, served: Collection[str]) -> None:
        self._served = " and ".join(sorted(name for name in served if name))
        self._pods: dict[str, tuple[str, str]] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._sentences: dict[str, str] = {}
        self._changed: set[str] = set()

    def __len__(self) -> int:
        return len(self._pods)

    def put(self, uid: str, pod: api.Pod) -> str:
        """A pod of another scheduler; the key of the job that it counts for, or did, empty where there is none."""
        metadata = pod.metadata
        group = group_named(metadata)
        if not group or pod.spec.node_name or pod.status.phase in OVER:
            return self.drop(uid)
        key = f"{metadata.namespace or 'default'}/{group}"
        seen = key, (pod.spec.scheduler_name or "default-scheduler")[:LONGEST]
        if self._pods.get(uid) == seen:
            return ""
        self.drop(uid)
        self._pods[uid] = seen
        self._counts.setdefault(key, Counter())[seen[1]] += 1
        self._changed.add(key)
        return key

    def drop(self, uid: str) -> str:
        """The pod is gone, has a node, or is ours; the key of the job that it counted for, empty for none."""
        key, scheduler = self._pods.pop(uid, ("", ""))
        if key:
            counts = self._counts[key]
            counts[scheduler] -= 1
            self._counts[key] = +counts
            if not self._counts[key]:
                del self._counts[key]
            self._changed.add(key)
        return key

    def publish(self) -> Mapping[str, str]:
        """What is to be said of the pods of each job, by its key; changes with the next call only."""
        while self._changed:
            key = self._changed.pop()
            if counts := self._counts.get(key):
                self._sentences[key] = self._sentence(counts)
            else:
                self._sentences.pop(key, None)
        return self._sentences

    def _sentence(self, counts: Mapping[str, int]) -> str:
        total = sum(counts.values())
        whose = sorted(counts, key=lambda name: (-counts[name], name))
        if len(whose) == 1:
            whose_pods = words.one_scheduler(whose[0])
        else:
            parts = [f"{counts[name]} for {name}" for name in whose[:NAMED_MAX]]
            parts += ["…"] if len(whose) > NAMED_MAX else []
            whose_pods = words.other_schedulers(", ".join(parts))
        served = words.daemon_serves(self._served) if self._served else ""
        return words.pods_for_others(total, whose_pods, served)
