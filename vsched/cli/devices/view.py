"""The devices of nodes as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.ask.daemon import ask_daemon
from vsched.cli.ask.recordings import load
from vsched.cli.devices import words
from vsched.cli.show.amounts import with_bar
from vsched.cli.show.columns import TableColumn, table_of, wide
from vsched.cli.show.drawing import Look, bar, short
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput
from vsched.framework.words.lists import counted
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
OF_DEVICES = frozenset({"model", "memory", "cores"})
"""Columns that say nothing of devices that are only counted."""
Device = DeviceShown | CountedDevices
Row = tuple[str, Device]
"""A node, and a device of it or a resource that only counts devices."""


def devices_of_daemon(target: DaemonTarget, nodes: Sequence[str]) -> DevicesShown:
    """What a running daemon shows of these nodes, or of all; raises what ``DaemonClient`` raises."""
    return ask_daemon(target, lambda daemon: daemon.devices(nodes))


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
    rows: list[Row] = []
    for one in found.nodes:
        rows += [*((one.node, device) for device in one.devices), *((one.node, some) for some in one.counted)]
    counts_only = not any(one.devices for one in found.nodes)
    shown = [column for column in COLUMNS if not (counts_only and column.heading in OF_DEVICES)]
    table = table_of(shown, rows, look)
    lines = [*resources, Text(), Text(_sum(found))]
    if found.total > len(found.nodes):
        lines.append(Text(words.first_nodes(len(found.nodes), found.total)))
    return Group(table, *lines)


def _called(one: Device) -> Text:
    return Text(one.name if isinstance(one, DeviceShown) else one.resource)


def _taken(one: Device, look: Look) -> Text:
    taken = one.taken if isinstance(one, DeviceShown) else one.held * 100 // one.total
    return with_bar(look, bar(look, 100, taken), f"{taken:3d}%")


def _memory(one: Device) -> str:
    return f"{one.memory_held}/{one.memory} MiB" if isinstance(one, DeviceShown) and one.memory else "-"


def _cores(one: Device) -> str:
    return f"{one.cores_held:g}/{one.cores:g}%" if isinstance(one, DeviceShown) else "-"


def _state(one: Device) -> Text:
    if isinstance(one, CountedDevices):
        return Text(f"{one.held} of {one.total} held")
    return Text("unhealthy", style="red") if not one.healthy else Text("in use" if one.parts else "free")


def _held_by(one: Device, look: Look) -> Text:
    most = len(one.holders) if look.wide else HOLDERS
    return Text(_holders(one, most) if isinstance(one, DeviceShown) else _counted_holders(one, most))


def _numbers(one: Device) -> str:
    if isinstance(one, CountedDevices):
        return str(one.held)
    return f"{one.parts} of {one.sharers}" if one.sharers else str(one.parts)


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


COLUMNS: list[TableColumn[Row]] = [
    TableColumn("node", cell=lambda row, _: Text(row[0]), folds=True),
    TableColumn("device", cell=lambda row, _: _called(row[1]), folds=True),
    TableColumn("model", cell=lambda row, _: Text(getattr(row[1], "model", "") or "-"), folds=True),
    TableColumn("taken", cell=lambda row, look: _taken(row[1], look)),
    TableColumn("memory", cell=lambda row, _: _memory(row[1])),
    TableColumn("cores", cell=lambda row, _: _cores(row[1])),
    TableColumn("state", cell=lambda row, _: _state(row[1])),
    TableColumn("held by", cell=lambda row, look: _held_by(row[1], look), folds=True),
    TableColumn("mode", cell=lambda row, _: Text(getattr(row[1], "mode", "") or "-"), fits=wide),
    TableColumn("numbers", cell=lambda row, _: _numbers(row[1]), fits=wide),
]
