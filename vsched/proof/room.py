"""Room on nodes: nobody gets what somebody else has."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.model.claims.devices import Allocation, DeviceId
from vsched.model.pods.shape import HostPort
from vsched.proof.cycle import Cycle


def nodes_hold_what_is_bound(cycle: Cycle) -> Iterator[str]:
    """On each node, what was bound asks for no more than what was idle: what is leaving still holds its room."""
    for node in dict.fromkeys(cycle.bound.values()):
        left = cycle.idle_after(node)
        asked = cycle.sum_of(cycle.bound_on[node])
        short = {column: value for column, value in asked.items() if left[column] < 0 < value}
        yield f"{node} is bound {cycle.words(short)}, of which it had less idle" if short else ""


def nodes_hold_what_is_kept(cycle: Cycle) -> Iterator[str]:
    """On each node, there is room for what was bound and what it is kept for, once what is leaving is gone."""
    for node in dict.fromkeys(cycle.kept.values()):
        if node not in cycle.nodes:
            yield f"room is kept on {node}, which is no node"
            continue
        room, asked = cycle.room_after(node), cycle.sum_of(cycle.kept_on[node])
        short = {column: value for column, value in asked.items() if value > room[column]}
        yield f"{cycle.words(short)} is kept on {node}, more than there will be" if short else ""


def ports_are_free(cycle: Cycle) -> Iterator[str]:
    """No two pods on a node have the same port of the host; ``0.0.0.0`` is every address."""
    taken: dict[str, list[HostPort]] = {node: [] for node in cycle.nodes}
    for port, counts in cycle.snapshot.placed.ports.items():
        for node in counts.keys() & taken.keys():
            taken[node].append(port)
    for uid, node in cycle.bound.items():
        clash = ""
        for port in cycle.tasks[uid].shape.ports:
            for other in taken[node]:
                same = (port.port, port.protocol) == (other.port, other.protocol)
                if same and (port.ip == other.ip or "0.0.0.0" in (port.ip, other.ip)):
                    clash = f"{cycle.tasks[uid].key} is bound to {node}, where port {port.port} is taken"
            taken[node].append(port)
        yield clash


def devices_are_given_once(cycle: Cycle) -> Iterator[str]:
    """A device goes to one claim, unless it is shared by parts, or an administrator looks on."""
    owners: dict[DeviceId, str] = {}
    for key, claim in cycle.snapshot.claims.devices.allocated.items():
        owners.update(dict.fromkeys(_whole_devices(claim.allocation), key))
    for bind in cycle.report.binds:
        for choice in bind.claims.devices if bind.claims is not None else ():
            owner, clash = choice.claim or f"the claim of {bind.namespace}/{bind.name}", ""
            for device in _whole_devices(choice.allocation):
                other = owners.setdefault(device, owner)
                if other != owner:
                    clash = f"device {device.device} of {device.pool} goes to {owner} and to {other}"
            yield clash


def _whole_devices(allocation: Allocation | None) -> Iterator[DeviceId]:
    for device in allocation.devices if allocation is not None else ():
        if not device.admin and not device.share:
            yield device.device
