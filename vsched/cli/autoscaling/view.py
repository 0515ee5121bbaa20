"""What a daemon shows of node autoscalers, as tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.ask.daemon import ask_daemon
from vsched.cli.autoscaling import words
from vsched.cli.show.columns import TableColumn, table_of
from vsched.cli.show.drawing import Look
from vsched.client.target import DaemonTarget
from vsched.controllers.provisioning.shown import AutoscalingShown, Buffer, LatestRequest
from vsched.model.jobs.provisioning import ASKED, FAILED, GIVEN_UP, PROVISIONED

STATE_STYLES = {ASKED: "cyan", PROVISIONED: "green", FAILED: "yellow", GIVEN_UP: "red"}
"""Of requests, and of CapacityBuffers that are there (``provisioned``)."""


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%SZ") if at else "-"


def _state(one: LatestRequest | Buffer, _: Look) -> Text:
    return Text(one.state, style=STATE_STYLES.get(one.state, ""))


REQUEST_COLUMNS: list[TableColumn[LatestRequest]] = [
    TableColumn("gang", lambda one: one.called or one.gang, gives=True),
    TableColumn("request", lambda one: one.request, gives=True),
    TableColumn("attempt", lambda one: one.attempt),
    TableColumn("state", cell=_state),
    TableColumn("kept until", cell=lambda one, _: _moment(one.kept_until)),
    TableColumn("retry at", cell=lambda one, _: _moment(one.retry_at)),
    TableColumn("says", cell=lambda one, _: Text(one.message)),
]
BUFFER_COLUMNS: list[TableColumn[Buffer]] = [
    TableColumn("buffer", lambda one: f"{one.namespace}/{one.name}", gives=True),
    TableColumn("pods", lambda one: one.pods, number=True),
    TableColumn("of", cell=lambda one, _: Text(one.of or "-")),
    TableColumn("state", cell=_state),
    TableColumn("says", cell=lambda one, _: Text(one.message)),
]


def read_autoscaling(target: DaemonTarget) -> AutoscalingShown:
    """What a running daemon shows; raises what ``DaemonClient`` raises."""
    return ask_daemon(target, lambda daemon: daemon.autoscaling())


def shown_page(found: AutoscalingShown) -> Callable[[Look], RenderableType]:
    """The page: a table of gangs, and one of CapacityBuffers."""
    return lambda look: Group(_requests(found, look), Text(), _buffers(found, look))


def _requests(found: AutoscalingShown, look: Look) -> RenderableType:
    if not found.requests:
        return Text(words.NO_NODES_REQUESTED if found.asks else words.NO_PROVISIONING_REQUESTS, style="dim")
    return table_of(REQUEST_COLUMNS, found.requests, look)


def _buffers(found: AutoscalingShown, look: Look) -> RenderableType:
    if not found.buffers:
        return Text(words.NO_BUFFERS, style="dim")
    return table_of(BUFFER_COLUMNS, found.buffers, look)
