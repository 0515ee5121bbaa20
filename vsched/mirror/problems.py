"""Problems of objects that the mirror left out, wholly or in part. Events report them to the owners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched import api
from vsched.mirror.ingest.words import devices, groups
from vsched.mirror.state import words

BAD, NO_EFFECT_REASON, APART_REASON = "BadObject", "NoEffect", "SeveralDevicePlugins"
"""Reasons of Events: the object cannot be used, asks for what is not supported, or may offer its GPUs twice."""
NO_PLUGIN = "NoPlugin"
"""Another one: no plugin of the policy acts on what the object states."""
_REASONS = {groups.NO_EFFECT: NO_EFFECT_REASON, devices.EACH_KIND_BY_ITSELF: APART_REASON}
"""By the end of all remarks on an object."""
LONGEST = 1000
"""The longest message; messages may quote the object."""
PROBLEMS_LIMIT = 4096
"""How many problems of each sort are remembered; the oldest are dropped first."""


class Problem(NamedTuple):
    """An object that was left out, and why."""

    kind: str
    namespace: str
    name: str
    uid: str
    message: str
    left_out: bool = True
    """False where only an annotation or a selector cannot be used, or has no effect."""
    reason: str = BAD


Problems = dict[tuple[str, str], Problem]
"""By kind and identity."""


class ObjectProblems:
    """The problems of objects, each object in one of the tables."""

    def __init__(self) -> None:
        self.broken: Problems = {}
        self.blemished: Problems = {}
        """Of objects that are used except for an annotation or a selector."""
        self.foreign: Problems = {}
        """Pods of other schedulers, for explanations."""
        self.unserved: Problems = {}
        """Of objects, in any other table or in none, that state what no plugin of the policy acts on."""

    def put_broken(self, kind: str, key: str, metadata: api.Metadata, message: str) -> None:
        self.drop(kind, key)
        note_problem(self.broken, key, Problem(kind, metadata.namespace, metadata.name, metadata.uid, message))

    def put_blemished(self, kind: str, key: str, metadata: api.Metadata, remarks: Sequence[str]) -> None:
        """The object is used except for what the remarks say."""
        self.drop(kind, key)
        message = f"{api.named(kind, metadata)}: {'; '.join(remarks)}"
        reasons = (reason for end, reason in _REASONS.items() if all(remark.endswith(end) for remark in remarks))
        reason = next(reasons, BAD)
        note_problem(
            self.blemished, key, Problem(kind, metadata.namespace, metadata.name, metadata.uid, message, False, reason)
        )

    def put_foreign(self, key: str, pod: api.Pod) -> None:
        self.drop("Pod", key)
        metadata, scheduler = pod.metadata, pod.spec.scheduler_name or "default-scheduler"
        message = words.for_another_scheduler(api.named("Pod", metadata), scheduler)
        note_problem(self.foreign, key, Problem("Pod", metadata.namespace, metadata.name, metadata.uid, message))

    def drop(self, kind: str, key: str) -> None:
        """The object has no problem any more, or is gone."""
        if not (self.broken or self.blemished or self.foreign):
            return  # most objects have none, and this is asked of each of them
        for known in (self.foreign, self.broken, self.blemished):
            known.pop((kind, key), None)


def note_problem(notes: Problems, key: str, broken: Problem) -> None:
    if len(notes) >= PROBLEMS_LIMIT:
        del notes[next(iter(notes))]
    if len(broken.message) > LONGEST:
        broken = broken._replace(message=f"{broken.message[: LONGEST - 1]}…")
    notes[broken.kind, key] = broken
