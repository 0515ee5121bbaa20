"""Pods of vcjobs that others have deleted: evicted, or with their nodes, or after they had ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from vsched.controllers.vcjobs.view import VcjobPod

_NONE: Mapping[str, VcjobPod] = {}


class GonePods:
    """Pods that are gone, by the uid of their job. Those that had ended count for as long as the job wants them."""

    def __init__(self) -> None:
        self._evicted: dict[str, dict[str, VcjobPod]] = {}
        """By their own uid."""
        self._ended: dict[str, dict[str, VcjobPod]] = {}
        """By their name."""

    def evicted(self, owner: str) -> tuple[VcjobPod, ...]:
        """Those that are gone before they had ended, and that no decision has dealt with."""
        return tuple(self._evicted.get(owner, _NONE).values())

    def ended(self, owner: str) -> Mapping[str, VcjobPod]:
        """Those that had ended, by name."""
        return self._ended.get(owner, _NONE)

    def put(self, owner: str, pod: VcjobPod, now: float) -> None:
        """Somebody has deleted a pod."""
        if pod.ended:
            self._ended.setdefault(owner, {})[pod.name] = replace(pod, gone=True, deleting=False)
        else:
            self._evicted.setdefault(owner, {})[pod.uid] = replace(pod, since=now)

    def forget(self, owner: str, uids: Iterable[str]) -> None:
        """Evicted pods are dealt with."""
        _drop(self._evicted, owner, uids)

    def forget_ended(self, owner: str, name: str) -> None:
        """A pod that had ended does not count any more: the job wants it anew, or not at all."""
        _drop(self._ended, owner, (name,))

    def forget_all(self, owner: str) -> None:
        """A job is gone."""
        self._evicted.pop(owner, None)
        self._ended.pop(owner, None)

    def clear(self) -> None:
        """Nobody decides about jobs any more."""
        self._evicted.clear()
        self._ended.clear()


def _drop(pods: dict[str, dict[str, VcjobPod]], owner: str, keys: Iterable[str]) -> None:
    for key in keys:
        pods.get(owner, {}).pop(key, None)
    if not pods.get(owner):
        pods.pop(owner, None)
