"""Who has what of the cluster, as the stable JSON shape and as tables with bars for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.allocations.source import Share, Shares, readable
from vsched.cli.show.columns import NAMES, USUAL, columned, named
from vsched.cli.show.drawing import Look, bar, short
from vsched.model.arbitration import Told
from vsched.model.counted import CLAIMS, Counted, counted_scale, format_counted, summed
from vsched.sim.tables.ages import short_duration

Document = dict[str, Any]

ALWAYS = ("cpu", "memory")
"""What is told to be nothing where it is nothing."""
PROBLEMS_MAX = 10
"""Problems that are told below a table."""


# -- for programs ---------------------------------------------------------------------------------------------------


def as_document(shares: Shares, names: Sequence[Share] | None = None) -> Document:
    """Everything for programs, or some namespaces and buckets."""
    chosen = [*shares.namespaces.values(), *shares.buckets.values()] if names is None else names
    return {
        "namespaces": {share.name: share_document(share) for share in chosen if not share.is_bucket},
        "buckets": {share.name: share_document(share) for share in chosen if share.is_bucket},
        "total": _quantities(shares.total),
    }


def share_document(share: Share) -> Document:
    """One namespace or bucket; what goes without saying is left out, and so are pods where nobody limits them."""
    told: Document = {
        "deserved": _quantities(share.deserved, ALWAYS if share.deserved else (), counts_pods(share)),
        "hard": dict(share.stated_hard),
        "reserved": dict(share.stated_reserved),
        "allocated": _quantities(share.allocated, pods=counts_pods(share)),
    }
    for key, stated, holds in (
        ("hardInForce", share.stated_hard, share.hard),
        ("reservedInForce", share.stated_reserved, share.reserved),
    ):
        if readable(stated) != holds:
            told[key] = _quantities(holds, tuple(holds))
    ceiling = _quantities(share.ceiling, ALWAYS, counts_pods(share))
    if any(ceiling.get(name, amount) != amount for name, amount in told["deserved"].items()):
        told["ceiling"] = ceiling
    if share.parent:
        told["parent"] = share.parent
    if share.weight is not None and share.weight != 1:
        told["weight"] = share.weight
    if share.overused is not None:
        told["overused"] = {"since": _moment(share.overused.since), "message": share.overused.message}
    if share.problems:
        told["problems"] = [{"type": one.kind, "reason": one.reason, "message": one.message} for one in share.problems]
    return told


def counts_pods(share: Share) -> bool:
    """Whether slots for pods are of interest: elsewhere they only go with everything."""
    return "pods" in share.hard or "pods" in share.reserved


def _quantities(amounts: Counted, always: Sequence[str] = (), pods: bool = True) -> dict[str, str]:
    return {
        name: format_counted(name, value)
        for name, value in sorted(amounts.items())
        if (value or name in always) and (pods or name != "pods")
    }


def _moment(since: float) -> str:
    return datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- for people -----------------------------------------------------------------------------------------------------


def as_table(shares: Shares, look: Look, now: float) -> RenderableType:
    """All buckets with their namespaces below, then the namespaces of none."""
    if not shares.namespaces and not shares.buckets:
        return Text("nothing is divided: there are no Consumers and no Allocations")
    resources = shown(shares)
    table = columned(
        ["namespace", *(["weight"] if look.ranks else []), *resources, "overused"], unicode=look.unicode, giving=NAMES
    )
    for heading in ("deserved", "allocated", "reserved", "hard") if look.wide else ():
        table.add_column(heading)
    idle = 0
    for depth, share in in_tree(shares):
        if share.is_idle and not look.wide:
            idle += 1
        else:
            table.add_row(*_row(shares, share, depth, resources, look, now))
    return Group(table, *_remarks(shares, idle), *([Text(), legend(look)] if look.cells else []))


def as_page(shares: Shares, share: Share, look: Look, now: float) -> RenderableType:
    """Everything about one namespace or bucket."""
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    facts.add_row("bucket" if share.is_bucket else "namespace", Text(share.name, style="bold"))
    if share.is_bucket:
        facts.add_row("namespaces", ", ".join(one.name for one in shares.below(share.name)) or "-")
        if inner := shares.inner(share.name):
            facts.add_row("buckets", ", ".join(one.name for one in inner))
    if share.parent or not share.is_bucket:
        facts.add_row("in bucket" if share.is_bucket else "bucket", share.parent or "-")
    facts.add_row("weight", _weight(share))
    facts.add_row("overused", _overused(share, now))
    kinds = ["allocated", "deserved", "reserved", "hard"]
    kinds += [kind for kind in ("ceiling", "waiting") if getattr(share, kind)]
    amounts: list[Counted] = [getattr(share, kind) for kind in kinds]
    table = columned(["resource", *(["held"] if look.cells else [])], unicode=look.unicode)
    for heading in (*kinds, "cluster"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in (*USUAL, *sorted({name for one in amounts for name in one} - set(USUAL))):
        bar = [_bar(shares, share, name, look)] if look.cells else []
        table.add_row(name, *bar, *(_short(name, one.get(name)) for one in (*amounts, shares.total)))
    told = [Text(f"{_problem(one)}", style="bold red") for one in share.problems]
    if share.overused is not None:
        told.append(Text(_problem(share.overused), style="yellow"))
    return Group(facts, Text(), table, *(([Text(), *told]) if told else []))


def shown(shares: Shares) -> list[str]:
    """The resources that a table has columns for: the usual ones, and the scarcest of the others."""
    parts: dict[str, float] = {}
    for share in (*shares.namespaces.values(), *shares.buckets.values()):
        names = {*share.deserved, *share.hard, *share.reserved, *share.allocated} - set(USUAL)
        for name in names - (set() if counts_pods(share) else {"pods"}):
            part = share.allocated.get(name, 0) / (_scale(shares, share, name) or 1)
            if part or name in share.hard or name in share.reserved:
                parts[name] = max(parts.get(name, 0.0), part)
    extra = max(sorted(parts), key=lambda name: parts[name], default=None)
    return [*USUAL, *([extra] if extra is not None else [])]


def in_tree(shares: Shares) -> Iterator[tuple[int, Share]]:
    """Every bucket followed by the buckets and the namespaces in it, then the namespaces of none, with their depth."""
    yield from _inside(shares, "", 0)
    for share in shares.below(""):
        yield 0, share


def _inside(shares: Shares, bucket: str, depth: int) -> Iterator[tuple[int, Share]]:
    for inner in shares.inner(bucket):
        yield depth, inner
        yield from _inside(shares, inner.name, depth + 1)
        for share in shares.below(inner.name):
            yield depth + 1, share


def legend(look: Look) -> Text:
    """What the signs of the bars mean."""
    full, empty, mark = look.signs
    text = f"{full} held  {look.kept} kept for it  {empty} may be held (hard, else the cluster)  {mark} deserved"
    return Text(f"{text}  numbers: held/deserved", style="dim")


def _row(
    shares: Shares, share: Share, depth: int, resources: list[str], look: Look, now: float
) -> list[RenderableType]:
    name = Text.assemble(
        ("  " * (depth - 1) + look.branch if depth else "", "dim"),
        (share.name, "bold" if share.is_bucket else ""),
        (" (bucket)" if share.is_bucket else "", "dim"),
        (" !" if share.problems else "", "bold red"),
    )
    cells: list[RenderableType] = [named(name, unicode=look.unicode)]
    if look.ranks:
        cells.append(_weight(share))
    cells += [_held(shares, share, resource, look) for resource in resources]
    cells.append(_overused(share, now))
    if look.wide:
        cells += [_told(amounts) for amounts in (share.deserved, share.allocated, share.reserved, share.hard)]
    return cells


def _remarks(shares: Shares, idle: int) -> list[RenderableType]:
    """How many namespaces are not shown, and what is wrong, below the table."""
    problems = [
        Text(f"{share.name}: {_problem(one)}", style="bold red")
        for share in (*shares.buckets.values(), *shares.namespaces.values())
        for one in share.problems
    ]
    left = len(problems) - PROBLEMS_MAX
    told: list[RenderableType] = []
    if idle:
        told.append(
            Text(f"and {idle} that {'hold and ask' if idle > 1 else 'holds and asks'} for nothing", style="dim")
        )
    if problems:
        told += [Text(), *problems[:PROBLEMS_MAX]]
    if left > 0:
        told.append(Text(f"and {left} more (-o json tells all)", style="dim"))
    waiting = [share.name for share in shares.namespaces.values() if not share.divided]
    if waiting:
        count = f"{len(waiting)} namespaces have" if len(waiting) > 1 else f"namespace {waiting[0]} has"
        told += [Text(), Text(f"{count} no Allocation yet: is `vsched run --arbitrate` running?", style="yellow")]
    return told


def _held(shares: Shares, share: Share, resource: str, look: Look) -> Text:
    """What is held of what is deserved, as a bar with numbers."""
    deserved = share.deserved.get(resource, 0) if share.divided else None
    told = Text(f"{_short(resource, share.allocated.get(resource, 0))}/{_short(resource, deserved)}")
    return Text.assemble(_bar(shares, share, resource, look), " ", told) if look.cells else told


def _bar(shares: Shares, share: Share, resource: str, look: Look) -> Text:
    """What is held of what may be held at most; what is beyond what is deserved in another colour."""
    return bar(
        look,
        _scale(shares, share, resource),
        share.allocated.get(resource, 0),
        fair=share.deserved.get(resource, 0) if share.divided else None,
        kept=share.reserved.get(resource, 0),
        beyond="red" if share.overused is not None else "yellow",
    )


def _scale(shares: Shares, share: Share, resource: str) -> int:
    """What a full bar stands for: the limit, else the cluster, else what all deserve."""
    bounds = [amounts[resource] for amounts in (share.hard, shares.total) if resource in amounts]
    return min(bounds) if bounds else summed(one.deserved for one in shares.namespaces.values()).get(resource, 0)


def _overused(share: Share, now: float) -> Text:
    told = share.overused
    if told is None:
        return Text("-", style="dim")
    return Text(f"for {short_duration(max(0.0, now - told.since))}" if told.since else "yes", style="bold red")


def _weight(share: Share) -> str:
    return "-" if share.weight is None else str(share.weight)


def _problem(told: Told) -> str:
    return f"{told.kind}: {told.reason}: {told.message}"


def _told(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {_short(name, value)}" for name, value in sorted(amounts.items())) or "-"


def _short(name: str, value: int | None) -> str:
    """An amount in three digits or so; things that are counted in full."""
    if value is not None and (name == "pods" or name.endswith(CLAIMS)):
        return str(value)
    return short("cpu" if counted_scale(name) == 1000 else "memory", value)
