"""A small mirror that a reflector keeps."""

from __future__ import annotations

import msgspec

from vsched.kube.backoff import BackOffSettings
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import BrokenObject, Delta
from vsched.kube.watch.reflector import ReflectorSettings

PODS = ApiResource("", "v1", "pods")


QUICK = ReflectorSettings(
    silence_seconds=2.0,
    steady_seconds=0.5,
    missing_seconds=0.01,
    back_off=BackOffSettings(first_seconds=0.001, ceiling_seconds=0.02, asked_ceiling_seconds=0.05),
    garbled=BackOffSettings(first_seconds=0.001, ceiling_seconds=0.02),
)


class Metadata(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class Pod(msgspec.Struct):
    metadata: Metadata


class Mirror:
    """A sink that keeps names and versions, and a diary."""

    def __init__(self) -> None:
        self.pods: dict[str, str] = {}
        self.diary: list[str] = []
        self.complaints: list[BrokenObject] = []

    def replace(self, items: list[Pod], resource_version: str) -> None:
        self.pods = {item.metadata.name: item.metadata.resource_version for item in items}
        self.diary.append(f"replace {' '.join(sorted(self.pods))} @{resource_version}")

    def apply(self, delta: Delta, item: Pod) -> None:
        meta = item.metadata
        if delta is Delta.DELETED:
            self.pods.pop(meta.name, None)
        else:
            self.pods[meta.name] = meta.resource_version
        self.diary.append(f"{delta} {meta.name} @{meta.resource_version}")

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        self.complaints.append(error)
        self.diary.append(f"broken {error.identity.name}")
