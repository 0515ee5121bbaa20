"""Sentences about shortages and nodes, without full stops: 3 nodes have too little cpu, 2 are cordoned."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal, Shortage
from vsched.framework.why import Explanation
from vsched.model.counted import counted_scale, format_counted
from vsched.model.nodes import Mask, NodeTable
from vsched.model.resources import format_amount
from vsched.model.shape import Shape
from vsched.model.snapshot import Snapshot

WAITED_FOR = frozenset((Code.RESOURCES, Code.PORTS, Code.POD_AFFINITY, Code.SPREAD, Code.USAGE, Code.KEPT))
"""What nodes that are open to a pod lack for now; other reasons are for ever as long as nobody changes anything."""
NO_ROOM = "Insufficient "
FULL = "Too many pods"
BEGINNING = "node(s) "
TAINTED = f"{BEGINNING}had untolerated taint "
SAID: dict[str, tuple[str, str]] = {
    FULL: ("has no slot for another pod", "have no slot for another pod"),
    f"{BEGINNING}were unschedulable": ("is cordoned", "are cordoned"),
    f"{BEGINNING}didn't match Pod's node affinity/selector": (
        "does not match its node selector or affinity",
        "do not match its node selector or affinity",
    ),
}
"""What is said of one node and of several, by reason; where a reason is not named its own words do."""
NOW = {
    "were": ("is", "are"),
    "weren't": ("isn't", "aren't"),
    "had": ("has", "have"),
    "didn't": ("doesn't", "don't"),
    "kept": ("keeps", "keep"),
}
"""How a reason's own words begin, and how they do of what is so now."""
MEBI = 1 << 20


def counted(count: int, one: str, many: str) -> str:
    """``1 node has …``, ``2 nodes have …``."""
    return f"{count} {one if count == 1 else many}"


def binding(why: Explanation) -> Code:
    """The sort of reason that matters: of the nodes that are open to the pod where there are any, else of most."""
    if not why.reasons:
        return Code.NO_NODES
    return why.codes.get(_ranked(why)[0], Code.OTHER)


def on_nodes(why: Explanation) -> str:
    """``3 nodes have too little cpu, 2 are cordoned``; empty where no node is counted."""
    told: list[str] = []
    for reason in _ranked(why):
        count = why.reasons[reason]
        noun = "" if told else "node " if count == 1 else "nodes "
        told.append(f"{count} {noun}{said_of_nodes(reason, count)}")
    return ", ".join(told)


def said_of_nodes(reason: str, count: int) -> str:
    """A reason of ``kubectl describe`` as the end of a sentence about so many nodes."""
    if reason.startswith(NO_ROOM):
        return f"{'has' if count == 1 else 'have'} too little {reason.removeprefix(NO_ROOM)}"
    if reason.startswith(TAINTED):
        taint = reason.removeprefix(TAINTED).replace(": }", "}")
        return f"{'is' if count == 1 else 'are'} tainted {taint}"
    if reason in SAID:
        return SAID[reason][count != 1]
    verb, _, rest = reason.removeprefix(BEGINNING).partition(" ")
    return f"{NOW[verb][count != 1] if verb in NOW else verb} {rest}"


def amounts(short: Iterable[Shortage], held: str) -> str:
    """``nvidia.com/gpu 8 of 8 held, 2 asked``, of several resources one after the other."""
    return "; ".join(f"{one.resource} {of_limit(one, held)}" for one in sorted(short))


def of_limit(one: Shortage, held: str) -> str:
    """``8 of 8 held, 2 asked``."""
    name = one.resource.removeprefix("requests.")
    has, limit, asked = (in_words(name, amount) for amount in (one.held, max(0, one.limit), one.asked))
    return f"{has} of {limit} {held}, {asked} asked"


def in_words(resource: str, amount: int) -> str:
    """An amount as people read it: what a queue deserves of memory seldom comes to whole units, half a GPU is 0.5."""
    if counted_scale(resource) == 1 and amount > MEBI:
        return format_counted(resource, amount // MEBI * MEBI)
    told = format_counted(resource, amount)
    return f"{amount / 1000:g}" if told.endswith("m") and not resource.endswith("cpu") else told


def at_capability(snapshot: Snapshot, queue: str, refusal: Refusal) -> str:
    """That a queue, or one above it, may hold no more: by its own word, or as the cluster has no more for it."""
    known = snapshot.queues.get(refusal.subject)
    names = snapshot.axis.names
    capped = {names[column] for column, _ in known.capability} if known is not None else set[str]()
    who = f"queue {refusal.subject}" if refusal.subject == queue else f"queue {refusal.subject} above it"
    told = []
    for one in sorted(refusal.shortages):
        if one.is_lasting:
            limit, asked = (in_words(one.resource, amount) for amount in (one.limit, one.asked))
            told.append(f"may hold {limit} {one.resource} at most: {asked} asked")
            continue
        what = "is at its capability in" if one.resource in capped else "can hold no more"
        told.append(f"{what} {one.resource}: {of_limit(one, 'held')}")
    return f"{who} {'; '.join(told)}"


def resource_in(reason: str) -> str:
    """The resource of a reason about amounts."""
    return "pods" if reason == FULL else reason.removeprefix(NO_ROOM)


def beyond_any(nodes: NodeTable, shape: Shape, open_rows: Mask | None = None, who: str = "no node") -> str:
    """``no node has 16 cpu, the most is 8``: what is more than any node (of these) has in all; else empty."""
    told = []
    for column, amount in shape.request:
        has = nodes.allocatable[column] if open_rows is None else nodes.allocatable[column][open_rows]
        most = int(has.max(initial=0))
        if most < amount:
            name = nodes.axis.names[column]
            told.append(f"{who} has {format_amount(name, amount)} {name}, the most is {format_amount(name, most)}")
    return "; ".join(told)


def _ranked(why: Explanation) -> list[str]:
    """The reasons, those that are waited for first, then those of most nodes."""
    reasons, codes = why.reasons, why.codes
    return sorted(reasons, key=lambda reason: (codes.get(reason) not in WAITED_FOR, -reasons[reason], reason))
