"""The domains of a job that asks for closeness, as a small tree with the room in each."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.show import words
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look
from vsched.explain.records import DomainRoom, JobPlaces, SubGroupPlace, TierCounts
from vsched.framework.words.lists import counted
from vsched.model.topology.tiers import WHOLE_CLUSTER

NUMBERS = ("tier", "nodes", "its pods")


def domain_name(name: str) -> str:
    """The name of a domain for people."""
    return words.WHOLE_CLUSTER if name == WHOLE_CLUSTER else name


def places_table(places: JobPlaces, look: Look) -> RenderableType:
    """What the job asks for, the tree of domains, and how many domains are not in it."""
    parts: list[RenderableType] = [Text(words.asks_for(places.asks))]
    if places.domain:
        parts.append(Text(words.pods_are_in(domain_name(places.domain), places.tier)))
    parts.append(_tree(places, look))
    parts += [Text(line, style="dim") for line in map(_left_out, places.tiers) if line]
    parts += [Text(f"sub-group {_sub_group(one)}") for one in places.sub_groups]
    more = places.sub_group_count - len(places.sub_groups)
    if more > 0:
        parts.append(Text(f"and {counted(more, 'more sub-group', 'more sub-groups')}", style="dim"))
    return Group(*parts)


def _sub_group(one: SubGroupPlace) -> str:
    """``seg/a has 2 pods of at least 4 on nodes, in r1, tier 1; asks for one domain of tier 1 (rack) or closer``."""
    where = f", in {domain_name(one.domain)}, tier {one.tier}" if one.domain else ""
    asks = words.and_asks_for(one.asks) if one.asks else ""
    return words.has_on_nodes(one.name, counted(one.holds, "pod", "pods"), one.minimum, where, asks)


def _tree(places: JobPlaces, look: Look) -> Table:
    table = columned(["domain", *NUMBERS, *([words.HAS_ROOM_FOR] if places.wanted else [])], numbers=NUMBERS)
    names = {one.tier: one.name for one in places.tiers}
    for one in places.domains:
        tier = f"{one.tier} ({names[one.tier]})" if names[one.tier] else str(one.tier)
        cells = [
            Text("  " * one.depth + domain_name(one.name)),
            Text(tier),
            Text(str(one.nodes)),
            Text(str(one.holds or "")),
        ]
        if places.wanted:
            cells.append(Text(_room(one, places.wanted)))
        table.add_row(*cells, style=_style(one, places.wanted))
    return table


def _room(one: DomainRoom, wanted: int) -> str:
    """``14 of 16``, with a remark where the job may not be there."""
    return f"{one.room} of {wanted}{'' if one.usable else ' (not allowed)'}"


def _style(one: DomainRoom, wanted: int) -> str:
    if not one.usable:
        return "dim"
    return "green" if wanted and (one.room or 0) >= wanted else ""


def _left_out(one: TierCounts) -> str:
    """``and 12 more domains of tier 1 (rack)``; empty where all are listed."""
    more = one.domains - one.listed
    name = f" ({one.name})" if one.name else ""
    return words.more_domains(counted(more, "more domain", "more domains"), one.tier, name) if more > 0 else ""
