"""The controllers a daemon runs beside its sessions, each of which can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsched.cluster import wire
from vsched.cluster.events import EventRecorder
from vsched.cluster.writer import Writer
from vsched.controllers.queue_controller import QueueController
from vsched.daemon.options import Options
from vsched.daemon.tasks import LongLived
from vsched.daemon.telemetry import Telemetry
from vsched.kube.client import ApiClient
from vsched.kube.deltas import Sink


class Housekeeping:
    """What a cluster without other controllers needs, as far as the options ask for it."""

    def __init__(
        self, options: Options, client: ApiClient, writer: Writer, events: EventRecorder, telemetry: Telemetry
    ) -> None:
        self.queues: QueueController | None = None
        if options.schedule and options.queue_controller:
            self.queues = QueueController(client, writer, events, options.default_queue, telemetry.worry)

    @property
    def sinks(self) -> Mapping[str, Sink[wire.Object]]:
        """Who has to be told of objects besides the mirror, by kind."""
        sinks: dict[str, Any] = {}
        if self.queues is not None:
            sinks |= self.queues.sinks
        return sinks

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        tasks = []
        if self.queues is not None:
            tasks.append(LongLived("queues", self.queues.run, "opens and closes queues as asked", acts=True))
        return tuple(tasks)
