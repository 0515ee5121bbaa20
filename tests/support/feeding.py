"""Lists for sinks that take them in parts, told as a reflector tells them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from vsched.kube.watch.deltas import PartsSink

T = TypeVar("T")


def tell_list(sink: PartsSink[T], items: Iterable[T], version: str) -> None:
    """These are all objects there are."""
    sink.restart()
    for item in items:
        sink.include(item)
    for _ in sink.finish(version):
        pass
