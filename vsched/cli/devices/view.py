"""The devices of nodes as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.ask.daemon import ask_daemon, decoded
from vsched.cli.ask.recordings import load
from vsched.cli.ask.target import DaemonTarget
from vsched.cli.devices import words
from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, bar, short
from vsched.errors import BadInput
from vsched.framework.words.lists import counted
from vsched.kube.client import ApiClient
from vsched.web.overview.devices import (
    CountedDevices,
    DeviceHolderShown,
    DeviceShown,
    DevicesShown,
    JobHolderShown,
    devices_shown,
)

HOLDERS = 2
"""How many pods of a device a line names; a wide one has all that are known."""
JOBS = 10
"""How many jobs that hold a resource are listed; a wide answer has all that are known."""
GIVING = frozenset({"node", "device", "model", "held by"})
"""Columns of names, which wrap where there is no room; those of figures never do."""
HEADS = ("node", "device", "model", "taken", "memory", "cores", "state", "held by")
OF_DEVICES = frozenset({"model", "memory", "cores"})
"""Columns that say nothing of devices that are only counted."""


def devices_of_daemon(target: DaemonTarget, nodes: Sequence[str]) -> DevicesShown:
    """What a running daemon shows of these nodes, or of all; raises what ``ask_daemon`` and ``decoded`` raise."""

    async def read(daemon: ApiClient) -> DevicesShown:
        parameters = {"node": ",".join(nodes)} if nodes else None
        answer = await daemon.get("/devices", parameters)
        found: DevicesShown = decoded(daemon.connection.server, answer, DevicesShown)
        return found

    return ask_daemon(target, read)


def devices_of_file(file: Path, nodes: Sequence[str]) -> DevicesShown:
    """The devices in a dump; raises BadInput where a node is not in it."""
    snapshot = load(file).snapshot
    for name in nodes:
        if name not in snapshot.nodes.statics.row:
            raise BadInput(words.no_such_node(file, name))
    return devices_shown(snapshot, nodes)


def device_page(found: DevicesShown, look: Look) -> RenderableType:
    """A line for each device, and for each resource that only counts devices; then who holds each resource."""
    resources = list(_resources(found, look))
    if not any(one.devices or one.counted for one in found.nodes):
        return Group(Text(words.NO_DEVICES if not found.nodes else words.NO_DEVICES_ON_THESE, style="dim"), *resources)
    heads = HEADS if any(one.devices for one in found.nodes) else [head for head in HEADS if head not in OF_DEVICES]
    table = columned([*heads, *(["mode", "numbers"] if look.wide else [])], unicode=look.unicode, giving=GIVING)
    for column in table.columns:
        column.overflow = "fold" if column.header in GIVING else column.overflow
    for one in found.nodes:
        name = Text(one.node)
        for device in one.devices:
            table.add_row(name, *_cells(device, look))
        for some in one.counted:
            told = dict(zip(HEADS, (name, *_counted(some, look)), strict=True))
            table.add_row(*(told[head] for head in heads), *([Text("-"), Text(str(some.held))] if look.wide else []))
    lines = [*resources, Text(), Text(_sum(found))]
    if found.total > len(found.nodes):
        lines.append(Text(words.first_nodes(len(found.nodes), found.total)))
    return Group(table, *lines)


def _cells(device: DeviceShown, look: Look) -> Iterator[RenderableType]:
    yield Text(device.name)
    yield Text(device.model or "-")
    yield with_bar(look, bar(look, 100, device.taken), f"{device.taken:3d}%")
    yield Text(f"{device.memory_held}/{device.memory} MiB" if device.memory else "-")
    yield Text(f"{device.cores_held:g}/{device.cores:g}%")
    yield Text("unhealthy", style="red") if not device.healthy else Text("in use" if device.parts else "free")
    yield Text(_holders(device, len(device.holders) if look.wide else HOLDERS))
    if look.wide:
        yield Text(device.mode or "-")
        yield Text(f"{device.parts} of {device.sharers}" if device.sharers else str(device.parts))


def _counted(some: CountedDevices, look: Look) -> Iterator[RenderableType]:
    taken = some.held * 100 // some.total
    yield Text(some.resource)
    yield Text("-")
    yield with_bar(look, bar(look, 100, taken), f"{taken:3d}%")
    yield Text("-")
    yield Text("-")
    yield Text(f"{some.held} of {some.total} held")
    yield Text(_counted_holders(some, len(some.holders) if look.wide else HOLDERS))


def _resources(found: DevicesShown, look: Look) -> Iterator[Text]:
    """Who holds each resource, on all these nodes, a line for each job; of cpu and the like where any is held."""
    for one in found.resources:
        if not one.held and "/" not in one.resource:
            continue
        yield Text()
        yield Text(f"{one.resource}: {short(one.resource, one.held)} of {short(one.resource, one.total)} held")
        shown = one.holders if look.wide else one.holders[:JOBS]
        for holder in shown:
            cells = bar(look, one.total, holder.held)
            yield with_bar(look, cells, f"{short(one.resource, holder.held):>6}  {_job_holder(holder)}")
        if (more := one.holder_count - len(shown)) > 0:
            yield Text(f"        and {counted(more, 'other holder', 'other holders')}")


def _counted_holders(some: CountedDevices, most: int) -> str:
    """``3 team/a in queue research and 2 more``; a dash for nobody."""
    told = [f"{one.held} {_job_holder(one)}" for one in some.holders[:most]]
    more = some.holder_count - len(told)
    return (", ".join(told) + (f" and {more} more" if more else "")) or "-"


def _job_holder(one: JobHolderShown) -> str:
    if not one.job:
        return words.WITHOUT_A_JOB
    job = one.called or one.job
    return words.job_in_queue(job, one.queue) if one.queue else job


def _holders(device: DeviceShown, most: int) -> str:
    """``team/a-0 (20000 MiB, 30%) and 2 more``; a dash for nobody."""
    told = [_holder(device, one) for one in device.holders[:most]]
    more = device.holder_count - len(told)
    return (", ".join(told) + (f" and {more} more" if more else "")) or "-"


def _holder(device: DeviceShown, one: DeviceHolderShown) -> str:
    parts = [f"{one.memory} MiB"] if device.memory and one.memory else []
    parts += [f"{one.cores:g}%"] if one.cores else []
    parts += ["leaving"] if one.leaving else []
    return f"{one.name} ({', '.join(parts)})" if parts else one.name


def _sum(found: DevicesShown) -> str:
    devices = [device for one in found.nodes for device in one.devices]
    whole = [some for one in found.nodes for some in one.counted]
    parts = [
        f"{counted(len(devices), 'device', 'devices')}",
        f"{sum(not one.parts and one.healthy for one in devices)} free",
        f"{sum(not one.healthy for one in devices)} unhealthy",
    ]
    if whole:
        parts.append(words.held_of_counted(sum(one.held for one in whole), sum(one.total for one in whole)))
    return ", ".join(parts)
