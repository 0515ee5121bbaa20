"""Sentences about shortages and nodes, without full stops: 3 nodes have too little cpu, 2 are cordoned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsched.framework.codes import Code
from vsched.framework.nodes.why import Explanation
from vsched.framework.refusal import Bound, Shortage
from vsched.model.amounts.counted import counted_scale, format_counted
from vsched.model.amounts.resources import format_amount
from vsched.model.nodes.table import Mask, NodeTable
from vsched.model.pods.shape import Shape

WAITED_FOR = frozenset((Code.RESOURCES, Code.ORDER, Code.PORTS, Code.POD_AFFINITY, Code.SPREAD, Code.USAGE, Code.KEPT))
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
LISTED_MAX = 2
"""So many of many names are told, and how many others there are."""


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


def taint_key(reason: str) -> str:
    """The key of the taint that a reason is about."""
    return reason.removeprefix(f"{TAINTED}{{").partition(":")[0]


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


def in_all(one: Shortage) -> str:
    """``4 cpu in all: 8 asked``."""
    has, asked = (in_words(one.resource, amount) for amount in (max(0, one.limit), one.asked))
    return f"{has} {one.resource} in all: {asked} asked"


def at_limit(queue: str, subject: str, one: Shortage, bound: Bound | None) -> str:
    """That a queue, or one above it (``subject``), may hold no more: by its own word, or as there is no more for it."""
    who = named_queue(subject, queue)
    if bound is None or bound.holder == subject:
        if one.is_lasting:
            return f"{who} {at_most(one)}"
        return f"{who} is at its capability in {one.resource}: {of_limit(one, 'held')}"
    if bound.guaranteed and one.is_lasting:
        leaves = f"{guaranteed(bound)} leaves {who} {of_all(one, bound)} at most"
        return f"{leaves}: {in_words(one.resource, one.asked)} asked"
    if one.is_lasting:
        return (
            f"{named_queue(bound.holder, queue)} {at_most(one)}" if bound.holder else f"the cluster has {in_all(one)}"
        )
    others = f", and {guaranteed(bound)} is kept free" if bound.guaranteed else ""
    return f"{who} can hold no more {one.resource}: {of_limit(one, 'held')}{others}"


def named_queue(name: str, queue: str) -> str:
    """A queue as a sentence about a job of ``queue`` names it."""
    return f"queue {name}" if name == queue else f"queue {name} above it"


def at_most(one: Shortage) -> str:
    """``may hold 4 cpu at most: 5 asked``."""
    limit, asked = (in_words(one.resource, amount) for amount in (one.limit, one.asked))
    return f"may hold {limit} {one.resource} at most: {asked} asked"


def guaranteed(bound: Bound) -> str:
    """``what queues a and b are guaranteed``."""
    names = bound.guaranteed
    verb = "is" if len(names) == 1 else "are"
    return f"what {listed('queue', names)} {verb} guaranteed"


def of_all(one: Shortage, bound: Bound) -> str:
    """``2 of 8 cpu``."""
    return f"{in_words(one.resource, max(0, one.limit))} of {in_words(one.resource, bound.amount)} {one.resource}"


def listed(noun: str, names: Sequence[str]) -> str:
    """``queue a``, ``queues a and b``, ``queues a, b and 3 more``."""
    if len(names) == 1:
        return f"{noun} {names[0]}"
    shown, more = names[:LISTED_MAX], len(names) - LISTED_MAX
    last = f"{more} more" if more > 0 else shown[-1]
    return f"{noun}s {', '.join(shown if more > 0 else shown[:-1])} and {last}"


def larger_than_nodes(needed: int, room: int, who: str = "") -> str:
    """``8 are needed at once, and 4 would fit if all nodes were empty``."""
    return f"{needed} {who}are needed at once, and {room} would fit if all nodes were empty"


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
