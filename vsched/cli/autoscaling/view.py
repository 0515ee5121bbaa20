"""What a daemon shows of node autoscalers, as tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.ask.daemon import ask_daemon, decoded
from vsched.cli.ask.target import DaemonTarget
from vsched.cli.autoscaling import words
from vsched.cli.show.columns import columned, named
from vsched.cli.show.drawing import Look
from vsched.controllers.provisioning.shown import AutoscalingShown
from vsched.kube.client import ApiClient
from vsched.model.jobs.provisioning import ASKED, FAILED, GIVEN_UP, PROVISIONED

STATE_STYLES = {ASKED: "cyan", PROVISIONED: "green", FAILED: "yellow", GIVEN_UP: "red"}
"""Of requests, and of CapacityBuffers that are there (``provisioned``)."""


def read_autoscaling(target: DaemonTarget) -> AutoscalingShown:
    """What a running daemon shows; raises what ``ask_daemon`` and ``decoded`` raise."""

    async def read(daemon: ApiClient) -> AutoscalingShown:
        answer = await daemon.get("/autoscaling")
        found: AutoscalingShown = decoded(daemon.connection.server, answer, AutoscalingShown)
        return found

    return ask_daemon(target, read)


def shown_page(found: AutoscalingShown) -> Callable[[Look], RenderableType]:
    """The page: a table of gangs, and one of CapacityBuffers."""
    return lambda look: Group(_requests(found, look), Text(), _buffers(found, look))


def _requests(found: AutoscalingShown, look: Look) -> RenderableType:
    if not found.requests:
        return Text(words.NO_NODES_REQUESTED if found.asks else words.NO_PROVISIONING_REQUESTS, style="dim")
    heads = ["gang", "request", "attempt", "state", "kept until", "retry at", "says"]
    table = columned(heads, unicode=look.unicode)
    for one in found.requests:
        state = Text(one.state, style=STATE_STYLES.get(one.state, ""))
        names = (named(one.called or one.gang, unicode=look.unicode), named(one.request, unicode=look.unicode))
        times = (_moment(one.kept_until), _moment(one.retry_at))
        table.add_row(*names, str(one.attempt), state, *times, Text(one.message))
    return table


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%SZ") if at else "-"


def _buffers(found: AutoscalingShown, look: Look) -> RenderableType:
    if not found.buffers:
        return Text(words.NO_BUFFERS, style="dim")
    table: Table = columned(["buffer", "pods", "of", "state", "says"], unicode=look.unicode)
    for one in found.buffers:
        state = Text(one.state, style=STATE_STYLES.get(one.state, ""))
        name = named(f"{one.namespace}/{one.name}", unicode=look.unicode)
        table.add_row(name, str(one.pods), Text(one.of or "-"), state, Text(one.message))
    return table
