"""Message parts about shortages and nodes, without full stops: ``3 nodes have too little cpu, 2 are cordoned``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from vsched.framework.claims.devices.words import ELSEWHERE, TOO_FEW
from vsched.framework.claims.volumes.words import IN_USE, NO_STORAGE, NO_VOLUMES, OTHER_ZONE, OUT_OF_REACH, TOO_MANY
from vsched.framework.codes import Code
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import QueueBound, Shortage
from vsched.model.amounts.counted import counted_scale, format_counted
from vsched.model.amounts.resources import format_amount
from vsched.model.nodes.table import Mask, NodeTable
from vsched.model.pods.cooperation import EvictionRequest
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

WAITED_FOR = frozenset(
    (
        Code.RESOURCES,
        Code.ORDER,
        Code.PORTS,
        Code.POD_AFFINITY,
        Code.SPREAD,
        Code.USAGE,
        Code.KEPT,
        Code.RESERVED,
    )
)
"""Codes of reasons that may pass by themselves on a node that is open to a pod. Other reasons last until an object
(node, pod, queue) is changed."""
NOT_FOR_IT = frozenset((Code.NO_DEVICES, Code.SELECTOR))
"""Codes of nodes that are not among those that a pod is for: others say more of why it waits."""
NO_ROOM = "Insufficient "
FULL = "Too many pods"
UNTRIED = "not every way to place its pods was tried"
BEGINNING = "node(s) "
TAINTED = f"{BEGINNING}had untolerated taint "
SAID: dict[str, tuple[str, str]] = {
    FULL: ("has no slot for another pod", "have no slot for another pod"),
    f"{BEGINNING}were unschedulable": ("is cordoned", "are cordoned"),
    f"{BEGINNING}didn't match Pod's node affinity/selector": (
        "does not match its node selector or affinity",
        "do not match its node selector or affinity",
    ),
    f"{BEGINNING}didn't have free ports for the requested pod ports": (
        "has no free host port for it",
        "have no free host port for it",
    ),
    f"{BEGINNING}didn't match pod affinity rules": ("does not match its pod affinity", "do not match its pod affinity"),
    f"{BEGINNING}didn't match pod anti-affinity rules": (
        "is ruled out by its pod anti-affinity",
        "are ruled out by its pod anti-affinity",
    ),
    f"{BEGINNING}didn't satisfy existing pods anti-affinity rules": (
        "is ruled out by the anti-affinity of other pods",
        "are ruled out by the anti-affinity of other pods",
    ),
    f"{BEGINNING}didn't match pod topology spread constraints": (
        "does not match its topology spread constraints",
        "do not match its topology spread constraints",
    ),
    f"{BEGINNING}didn't match pod topology spread constraints (missing required label)": (
        "lacks a label that its topology spread constraints name",
        "lack a label that its topology spread constraints name",
    ),
    TOO_FEW: (
        "has too few free devices for its ResourceClaims",
        "have too few free devices for its ResourceClaims",
    ),
    ELSEWHERE: (
        "does not have the devices of its ResourceClaim",
        "do not have the devices of its ResourceClaim",
    ),
    TOO_MANY: ("cannot attach more volumes", "cannot attach more volumes"),
    NO_STORAGE: ("has too little free storage", "have too little free storage"),
    OUT_OF_REACH: (
        "does not reach its PersistentVolume",
        "do not reach its PersistentVolume",
    ),
    OTHER_ZONE: (
        "is not in the zone of its PersistentVolume",
        "are not in the zone of its PersistentVolume",
    ),
    NO_VOLUMES: (
        "has no volume for its PersistentVolumeClaim",
        "have no volume for its PersistentVolumeClaim",
    ),
    IN_USE: (
        "cannot have its ReadWriteOncePod volume, which another pod uses",
        "cannot have its ReadWriteOncePod volume, which another pod uses",
    ),
}
"""By reason: its words for one node and for several. A reason that is not listed here is used as it is."""
NOW = {
    "were": ("is", "are"),
    "weren't": ("isn't", "aren't"),
    "had": ("has", "have"),
    "didn't": ("doesn't", "don't"),
    "reserved": ("reserves", "reserve"),
    "belonged": ("belongs", "belong"),
}
"""The verb at the start of a reason (past tense), and its present tense for one node and for several."""
MEBI = 1 << 20
LISTED_MAX = 2
"""How many names a list shows before it goes on with ``and N more``."""


def counted(count: int, one: str, many: str) -> str:
    """``1 node has …``, ``2 nodes have …``."""
    return f"{count} {one if count == 1 else many}"


def binding(why: NodeReasons) -> Code:
    """The code of the most important reason: one that may pass comes first, then the one with the most nodes."""
    if not why.reasons:
        return Code.NO_NODES
    return why.codes.get(_ranked(why)[0], Code.OTHER)


def on_nodes(why: NodeReasons) -> str:
    """``3 nodes have too little cpu, 2 are cordoned``; empty where no node is counted."""
    parts: list[str] = []
    for reason in _ranked(why):
        count = why.reasons[reason]
        noun = "" if parts else "node " if count == 1 else "nodes "
        parts.append(f"{count} {noun}{said_of_nodes(reason, count)}")
    return ", ".join(parts)


def said_of_nodes(reason: str, count: int) -> str:
    """A reason as ``kubectl describe`` shows it, turned into the end of a sentence about ``count`` nodes."""
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
    """The key of the taint in a reason about an untolerated taint."""
    return reason.removeprefix(f"{TAINTED}{{").partition(":")[0]


def amounts(short: Iterable[Shortage], held: str) -> str:
    """``8 of 8 nvidia.com/gpu held, 2 more asked``; several resources are separated by semicolons."""

    def of_limit(one: Shortage) -> str:
        has, limit, asked = _figures(one)
        return f"{has} of {limit} {one.resource} {held}, {asked} more asked"

    return "; ".join(map(of_limit, sorted(short)))


def _figures(one: Shortage) -> tuple[str, str, str]:
    """What is held, the limit, and what is asked."""
    name = one.resource.removeprefix("requests.")
    return in_words(name, one.held), in_words(name, max(0, one.limit)), in_words(name, one.asked)


def in_words(resource: str, amount: int) -> str:
    """An amount in readable form: large memory amounts are cut to whole mebibytes, half a GPU is 0.5."""
    if counted_scale(resource) == 1 and amount > MEBI:
        return format_counted(resource, amount // MEBI * MEBI)
    text = format_counted(resource, amount)
    return f"{amount / 1000:g}" if text.endswith("m") and not resource.endswith("cpu") else text


def in_all(one: Shortage) -> str:
    """``4 cpu in all: 8 asked``."""
    has, asked = (in_words(one.resource, amount) for amount in (max(0, one.limit), one.asked))
    return f"{has} {one.resource} in all: {asked} asked"


def at_limit(queue: str, subject: str, one: Shortage, bound: QueueBound | None) -> str:
    """The message that a queue or one above it (``subject``) may hold no more of a resource.

    Its own capability may be the limit, or that of a queue above it, the guarantees of other queues, or the size of the
    cluster; ``bound`` says which.
    """
    who = named_queue(subject, queue)
    if bound is None or bound.holder == subject:
        if one.is_lasting:
            return f"{who} {at_most(one)}"
        return f"{who} {allows(one)}"
    if bound.guaranteed and one.is_lasting:
        leaves = f"{guaranteed(bound)} leaves {who} {of_all(one, bound)} at most"
        return f"{leaves}: {in_words(one.resource, one.asked)} asked"
    if one.is_lasting:
        return (
            f"{named_queue(bound.holder, queue)} {at_most(one)}" if bound.holder else f"the cluster has {in_all(one)}"
        )
    has, limit, asked = _figures(one)
    if bound.holder and not bound.guaranteed:
        return f"queue {bound.holder} allows queue {subject} {limit} {one.resource}: {has} held, {asked} more asked"
    why = f"{guaranteed(bound)} is kept free" if bound.guaranteed else "the cluster has no more"
    return f"{who} may hold {limit} {one.resource}, as {why}: {has} held, {asked} more asked"


def allows(one: Shortage, verb: str = "allows", held: str = "held") -> str:
    """``allows 6 cpu: 4 held, 4 more asked``."""
    has, limit, asked = _figures(one)
    return f"{verb} {limit} {one.resource}: {has} {held}, {asked} more asked"


def named_queue(name: str, queue: str) -> str:
    """``queue a``, or ``queue a above it`` where the job is in another queue."""
    return f"queue {name}" if name == queue else f"queue {name} above it"


def at_most(one: Shortage) -> str:
    """``may hold 4 cpu at most: 5 asked``."""
    limit, asked = (in_words(one.resource, amount) for amount in (one.limit, one.asked))
    return f"may hold {limit} {one.resource} at most: {asked} asked"


def guaranteed(bound: QueueBound) -> str:
    """``what queues a and b are guaranteed``."""
    names = bound.guaranteed
    verb = "is" if len(names) == 1 else "are"
    return f"what {listed('queue', names)} {verb} guaranteed"


def of_all(one: Shortage, bound: QueueBound) -> str:
    """``2 of 8 cpu``."""
    return f"{in_words(one.resource, max(0, one.limit))} of {in_words(one.resource, bound.amount)} {one.resource}"


def listed(noun: str, names: Sequence[str]) -> str:
    """``queue a``, ``queues a and b``, ``queues a, b and 3 more``."""
    if len(names) == 1:
        return f"{noun} {names[0]}".lstrip()
    shown, more = names[:LISTED_MAX], len(names) - LISTED_MAX
    last = f"{more} more" if more > 0 else shown[-1]
    text = f"{', '.join(shown if more > 0 else shown[:-1])} and {last}"
    return f"{noun}s {text}" if noun else text


def listed_jobs(called: Sequence[str]) -> str:
    """``job default/a``, ``jobs default/a and default/b``; names with a kind go without the noun."""
    return listed("job", called) if not any(" " in one for one in called) else listed("", called)


def larger_than_nodes(needed: int, room: int, who: str = "", where: str = "") -> str:
    """``8 are needed at once, and 4 would fit if all nodes were empty``; ``where`` says in what of the cluster."""
    return f"{needed} {who}are needed at once, and {room} would fit{where} if all nodes were empty"


def resource_in(reason: str) -> str:
    """The resource that a reason about insufficient amounts names."""
    return "pods" if reason == FULL else reason.removeprefix(NO_ROOM)


def beyond_any(nodes: NodeTable, shape: Shape, open_rows: Mask | None = None, who: str = "no node") -> str:
    """``no node has 16 cpu (largest: 8)``: requests larger than any node (of ``open_rows``) has; else empty."""
    parts = []
    for column, amount in shape.request:
        has = nodes.allocatable[column] if open_rows is None else nodes.allocatable[column][open_rows]
        most = int(has.max(initial=0))
        if most < amount:
            name = nodes.axis.names[column]
            asked, largest = format_amount(name, amount), format_amount(name, most)
            none = f"{who} has {'a slot for a pod' if name == 'pods' else name}"
            parts.append(f"{who} has {asked} {name} (largest: {largest})" if most else none)
    return "; ".join(parts)


def _ranked(why: NodeReasons) -> list[str]:
    """The reasons: those that may pass first, nodes that the pod is not for last, then by number of nodes, most first.

    Of equals, room that is reserved comes first: without the reservation, the pod would start.
    """
    reasons, codes = why.reasons, why.codes

    def rank(reason: str) -> tuple[bool, bool, int, bool, str]:
        code = codes.get(reason)
        return code in NOT_FOR_IT, code not in WAITED_FOR, -reasons[reason], code is not Code.RESERVED, reason

    return sorted(reasons, key=rank)


def leaving_by_themselves(asked: Sequence[Task]) -> str:
    """``ml/train-0 is done, expected at 14:05:30 UTC``, of the pod that is done last.

    Times are moments, not spans: a message in a condition is not to change with each second.
    """
    ends = [(task.asked, task) for task in asked if task.asked is not None]
    request, last = max(ends, key=lambda one: (one[0].end, one[1].key))
    others = f" and {len(ends) - 1} more" if len(ends) > 1 else ""
    verb = "are" if others else "is"
    if request.expects:
        return f"{last.key}{others} {verb} done, expected at {clock_time(request.end)}"
    return (
        f"{last.key}{others} {verb} done, which {'were' if others else 'was'} asked to end by {clock_time(request.end)}"
    )


def told_of_request(request: EvictionRequest | None, called: Callable[[str], str]) -> str:
    """What a pod that was asked to end by itself is waited for; empty for others. ``called`` names a job by its key."""
    if request is None:
        return ""
    expected = f"expects to be done at {clock_time(request.expects)}" if request.expects else "has not answered"
    expected += said_by_responder(request)
    who = f" for {called(request.beneficiary)}" if request.beneficiary else ""
    return f"asked to end{who}: {expected}, is evicted at {clock_time(request.deadline)} at the latest"


def said_by_responder(request: EvictionRequest) -> str:
    """What a responder says of its progress, as an addition to a sentence; empty where it says nothing."""
    return f" ({request.answer.message})" if request.answer.message else ""


def clock_time(moment: float) -> str:
    """The time of day, such as ``14:05:30 UTC``."""
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S UTC")
