"""Who uses what of the cluster, as the stable JSON document and as tables with bars. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.allocations import words
from vsched.cli.allocations.shares import AllocationShare, AllocationShares, readable
from vsched.cli.show.amounts import amounts_table, facts, one_line, scarcest, with_bar
from vsched.cli.show.columns import USUAL, TableColumn, named, ranks, table_of, wide
from vsched.cli.show.drawing import Look, bar, short
from vsched.kube.times import time_stamp
from vsched.model.amounts.counted import CLAIMS, Counted, counted_scale, format_counted, summed
from vsched.model.amounts.durations import short_duration
from vsched.model.arbitration.records import ArbitrationCondition

Document = dict[str, Any]
Row = tuple[int, AllocationShare]
"""A namespace or bucket, and its depth in the tree."""

ALWAYS = ("cpu", "memory")
"""Resources that documents name with the amount 0, too."""
PROBLEMS_MAX = 10
"""Problems shown below a table."""


# -- for programs ---------------------------------------------------------------------------------------------------


def as_document(shares: AllocationShares, names: Sequence[AllocationShare] | None = None) -> Document:
    """The document of everything, or of some namespaces and buckets."""
    chosen = shares.all if names is None else names
    return {
        "namespaces": {share.name: share_document(share) for share in chosen if not share.is_bucket},
        "buckets": {share.name: share_document(share) for share in chosen if share.is_bucket},
        "total": _quantities(shares.total),
    }


def share_document(share: AllocationShare) -> Document:
    """One namespace or bucket; default values are left out, and so are pods where nothing limits them."""
    document: Document = {
        "deserved": _quantities(share.deserved, ALWAYS if share.deserved else (), counts_pods(share)),
        "hard": dict(share.stated_hard),
        "reserved": dict(share.stated_reserved),
        "allocated": _quantities(share.allocated, pods=counts_pods(share)),
    }
    for key, stated, in_force in (
        ("hardInForce", share.stated_hard, share.hard),
        ("reservedInForce", share.stated_reserved, share.reserved),
    ):
        if readable(stated) != in_force:
            document[key] = _quantities(in_force, tuple(in_force))
    ceiling = _quantities(share.ceiling, ALWAYS, counts_pods(share))
    if any(ceiling.get(name, amount) != amount for name, amount in document["deserved"].items()):
        document["ceiling"] = ceiling
    if share.parent:
        document["parent"] = share.parent
    if share.weight is not None and share.weight != 1:
        document["weight"] = share.weight
    if share.overused is not None:
        document["overused"] = {"since": time_stamp(share.overused.since), "message": share.overused.message}
    if share.problems:
        document["problems"] = [
            {"type": one.kind, "reason": one.reason, "message": one.message} for one in share.problems
        ]
    return document


def counts_pods(share: AllocationShare) -> bool:
    """Whether the number of pods is limited or reserved; where it is not, it is not shown."""
    return "pods" in share.hard or "pods" in share.reserved


def _quantities(amounts: Counted, always: Sequence[str] = (), pods: bool = True) -> dict[str, str]:
    return {
        name: format_counted(name, value)
        for name, value in sorted(amounts.items())
        if (value or name in always) and (pods or name != "pods")
    }


# -- for people -----------------------------------------------------------------------------------------------------


def as_table(shares: AllocationShares, look: Look, now: float) -> RenderableType:
    """Every bucket with its namespaces below it, then the namespaces without a bucket."""
    if not shares.namespaces and not shares.buckets:
        return Text(words.NOTHING_IS_DIVIDED)
    rows = list(in_tree(shares))
    busy = [row for row in rows if look.wide or not row[1].is_idle]
    return Group(
        table_of(columns(shares, now), busy, look),
        *_remarks(shares, len(rows) - len(busy)),
        *([Text(), legend(look)] if look.cells else []),
    )


def as_pages(shares: AllocationShares, chosen: Sequence[AllocationShare], look: Look, now: float) -> RenderableType:
    """The pages of some namespaces and buckets, with blank lines between them."""
    pages: list[RenderableType] = []
    for share in chosen:
        pages += [*([Text()] if pages else []), as_page(shares, share, look, now)]
    return Group(*pages)


def as_page(shares: AllocationShares, share: AllocationShare, look: Look, now: float) -> RenderableType:
    """Everything about one namespace or bucket."""
    rows: list[tuple[str, RenderableType]] = [
        ("bucket" if share.is_bucket else "namespace", Text(share.name, style="bold"))
    ]
    if share.is_bucket:
        rows.append(("namespaces", ", ".join(one.name for one in shares.below(share.name)) or "-"))
        if inner := shares.inner(share.name):
            rows.append(("buckets", ", ".join(one.name for one in inner)))
    if share.parent or not share.is_bucket:
        rows.append(("in bucket" if share.is_bucket else "bucket", share.parent or "-"))
    rows += [("weight", _weight(share)), ("overused", _overused(share, now))]
    kinds: dict[str, Counted] = {kind: getattr(share, kind) for kind in ("allocated", "deserved", "reserved", "hard")}
    kinds |= {kind: getattr(share, kind) for kind in ("ceiling", "waiting") if getattr(share, kind)}
    table = amounts_table(look, kinds, shares.total, lambda name: _bar(shares, share, name, look), _short)
    lines = [Text(_problem(one), style="bold red") for one in share.problems]
    if share.overused is not None:
        lines.append(Text(_problem(share.overused), style="yellow"))
    return Group(facts(rows), Text(), table, *(([Text(), *lines]) if lines else []))


def shown(shares: AllocationShares) -> list[str]:
    """The resources that a table has columns for: the usual ones, and the scarcest of the others."""

    def parts(share: AllocationShare) -> Iterator[tuple[str, float]]:
        names = {*share.deserved, *share.hard, *share.reserved, *share.allocated}
        for name in names - (set() if counts_pods(share) else {"pods"}):
            part = share.allocated.get(name, 0) / (_scale(shares, share, name) or 1)
            if part or name in share.hard or name in share.reserved:
                yield name, part

    extra = scarcest(part for share in shares.all for part in parts(share))
    return [*USUAL, *([extra] if extra is not None else [])]


def in_tree(shares: AllocationShares) -> Iterator[Row]:
    """Every bucket, followed by what is in it, then the namespaces without a bucket, each with its depth."""
    yield from _inside(shares, "", 0)
    for share in shares.below(""):
        yield 0, share


def _inside(shares: AllocationShares, bucket: str, depth: int) -> Iterator[Row]:
    for inner in shares.inner(bucket):
        yield depth, inner
        yield from _inside(shares, inner.name, depth + 1)
        for share in shares.below(inner.name):
            yield depth + 1, share


def legend(look: Look) -> Text:
    """The line that explains the signs of the bars."""
    full, empty, mark = look.signs
    text = words.legend(full, look.reserved, empty, mark)
    return Text(f"{text}  numbers: held/deserved", style="dim")


def columns(shares: AllocationShares, now: float) -> list[TableColumn[Row]]:
    """What tables show of each namespace and bucket, with its depth in the tree."""

    def usage(resource: str) -> TableColumn[Row]:
        return TableColumn(resource, cell=lambda row, look: _usage(shares, row[1], resource, look))

    return [
        TableColumn("namespace", cell=_name, gives=True),
        TableColumn("weight", cell=lambda row, _: _weight(row[1]), number=True, fits=ranks),
        *map(usage, shown(shares)),
        TableColumn("overused", cell=lambda row, _: _overused(row[1], now)),
        *map(_amounts, ("deserved", "allocated", "reserved", "hard")),
    ]


def _amounts(kind: str) -> TableColumn[Row]:
    of = attrgetter(kind)
    return TableColumn(kind, cell=lambda row, _: one_line(of(row[1]), _short), gives=True, fits=wide)


def _name(row: Row, look: Look) -> Text:
    depth, share = row
    name = Text.assemble(
        ("  " * (depth - 1) + look.branch if depth else "", "dim"),
        (share.name, "bold" if share.is_bucket else ""),
        (" (bucket)" if share.is_bucket else "", "dim"),
        (" !" if share.problems else "", "bold red"),
    )
    return named(name, unicode=look.unicode)


def _remarks(shares: AllocationShares, idle: int) -> list[RenderableType]:
    """Lines below the table: how many namespaces are not shown, and what is wrong."""
    problems = [
        Text(f"{share.name}: {_problem(one)}", style="bold red")
        for share in (*shares.buckets.values(), *shares.namespaces.values())
        for one in share.problems
    ]
    left = len(problems) - PROBLEMS_MAX
    lines: list[RenderableType] = []
    if idle:
        verbs = words.HOLD_AND_ASK if idle > 1 else words.HOLDS_AND_ASKS
        lines.append(Text(words.idle(idle, verbs), style="dim"))
    if problems:
        lines += [Text(), *problems[:PROBLEMS_MAX]]
    if left > 0:
        lines.append(Text(words.more_problems(left), style="dim"))
    waiting = [share.name for share in shares.namespaces.values() if not share.divided]
    if waiting:
        count = words.namespaces_have(len(waiting)) if len(waiting) > 1 else f"namespace {waiting[0]} has"
        lines += [Text(), Text(words.no_allocation_yet(count), style="yellow")]
    return lines


def _usage(shares: AllocationShares, share: AllocationShare, resource: str, look: Look) -> Text:
    """What is used of what is deserved, as a bar with numbers."""
    deserved = share.deserved.get(resource, 0) if share.divided else None
    amounts = f"{_short(resource, share.allocated.get(resource, 0))}/{_short(resource, deserved)}"
    return with_bar(look, _bar(shares, share, resource, look), amounts)


def _bar(shares: AllocationShares, share: AllocationShare, resource: str, look: Look) -> Text:
    """What is used of what may be used at most; what exceeds the deserved part in another colour."""
    return bar(
        look,
        _scale(shares, share, resource),
        share.allocated.get(resource, 0),
        fair=share.deserved.get(resource, 0) if share.divided else None,
        reserved=share.reserved.get(resource, 0),
        beyond="red" if share.overused is not None else "yellow",
    )


def _scale(shares: AllocationShares, share: AllocationShare, resource: str) -> int:
    """The amount of a full bar: the limit, else the cluster, else what all deserve."""
    bounds = [amounts[resource] for amounts in (share.hard, shares.total) if resource in amounts]
    return min(bounds) if bounds else summed(one.deserved for one in shares.namespaces.values()).get(resource, 0)


def _overused(share: AllocationShare, now: float) -> Text:
    condition = share.overused
    if condition is None:
        return Text("-", style="dim")
    since = condition.since
    return Text(f"for {short_duration(max(0.0, now - since))}" if since else "yes", style="bold red")


def _weight(share: AllocationShare) -> str:
    return "-" if share.weight is None else str(share.weight)


def _problem(condition: ArbitrationCondition) -> str:
    return f"{condition.kind}: {condition.reason}: {condition.message}"


def _short(name: str, value: int | None) -> str:
    """An amount in about three digits; pods and claims are counted in full."""
    if value is not None and (name == "pods" or name.endswith(CLAIMS)):
        return str(value)
    return short("cpu" if counted_scale(name) == 1000 else "memory", value)
