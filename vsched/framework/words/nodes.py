"""Why nodes are out of the question for a pod: kube-scheduler's words, which people look for, and ours in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.framework.words.lists import counted

# -- as kubectl describe shows them, after a number of nodes ------------------------------------------------------

BEGINNING = "node(s) "
NO_ROOM = "Insufficient "
FULL = "Too many pods"
CORDONED = f"{BEGINNING}were unschedulable"
TAINTED = f"{BEGINNING}had untolerated taint "
NOT_SELECTED = f"{BEGINNING}didn't match Pod's node affinity/selector"
NO_PORTS = f"{BEGINNING}didn't have free ports for the requested pod ports"
NO_AFFINITY = f"{BEGINNING}didn't match pod affinity rules"
ANTI_AFFINITY = f"{BEGINNING}didn't match pod anti-affinity rules"
REPELLED = f"{BEGINNING}didn't satisfy existing pods anti-affinity rules"
SKEWED = f"{BEGINNING}didn't match pod topology spread constraints"
NO_TOPOLOGY = f"{SKEWED} (missing required label)"
TOO_FEW_DEVICES = "cannot allocate all claims"
DEVICES_ELSEWHERE = "resourceclaim not available on the node"
VOLUME_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
TOO_MANY_VOLUMES = "node(s) exceed max volume count"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE = "node(s) did not have enough free storage"
OTHER_ZONE = "node(s) had no available volume zone"
OTHER_SHARD = f"{BEGINNING}belonged to another shard"
REFUSED = f"{BEGINNING}were refused by admission"


def insufficient(resource: str) -> str:
    """A node has too little of it."""
    return FULL if resource == "pods" else f"{NO_ROOM}{resource}"


def tainted(key: str, value: str) -> str:
    """A taint that the pod does not tolerate."""
    return f"{TAINTED}{{{key}: {value}}}"


# -- room that is reserved ----------------------------------------------------------------------------------------

OTHERS = "reserved for others"
RESERVED_FOR_OTHERS = f"{BEGINNING}had resources that are {OTHERS}"
"""Room is reserved for other jobs; ``with_others`` puts them in the place of ``OTHERS``."""
A_START = "a planned start"
RESERVED = f"{BEGINNING}had resources that are reserved for {A_START}"
"""Messages put the start of the job (``start_of``) in the place of ``A_START``."""
RESERVED_IN_QUEUE = f"{BEGINNING}had enough, but the rest of the queue's limit is reserved for {A_START}"
"""The job's queue may hold nothing besides the planned job."""
RESERVED_RUN = f"{BEGINNING}had enough, but the last job slot is reserved for {A_START}"
"""One more job may not run besides the planned one."""


def reserved_elsewhere(queue: str, namespace: str) -> str:
    """The same for a queue above, or for a namespace."""
    whose = f"queue {queue}" if queue else f"namespace {namespace}"
    return f"{BEGINNING}had enough, but what {whose} may still hold is reserved for {A_START}"


def provisioned(gangs: int, only: str) -> str:
    """Nodes are being added for gangs; ``only`` is the name of one that is alone."""
    who = f"gang {only} until all its" if gangs == 1 else f"{gangs} gangs until all their"
    return f"{BEGINNING}had resources that are reserved for {who} nodes are there"


def with_others(text: str, others: str) -> str:
    """The sentence with the names of the jobs that room is reserved for; unchanged where ``others`` is empty."""
    return text.replace(OTHERS, f"reserved for {others}") if others else text


def start_of(starts: Iterable[str]) -> str:
    """Jobs, each with the time of its start."""
    return f"the start of {' and '.join(starts)}"


# -- how many nodes -----------------------------------------------------------------------------------------------

NO_NODES_KNOWN = "no nodes are known"


def available(nodes: int, reasons: Mapping[str, int]) -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.``"""
    if not nodes:
        return NO_NODES_KNOWN
    if not reasons:
        return f"0/{nodes} nodes are available"
    return none_available(nodes, ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items())))


def none_available(nodes: int, why: str) -> str:
    """The same, for one reason."""
    return f"0/{nodes} nodes are available: {why}."


# -- the same in sentences ----------------------------------------------------------------------------------------

SAID: dict[str, tuple[str, str]] = {
    FULL: ("has no slot for another pod", "have no slot for another pod"),
    CORDONED: ("is cordoned", "are cordoned"),
    NOT_SELECTED: (
        "does not match its node selector or affinity",
        "do not match its node selector or affinity",
    ),
    NO_PORTS: (
        "has no free host port for it",
        "have no free host port for it",
    ),
    NO_AFFINITY: ("does not match its pod affinity", "do not match its pod affinity"),
    ANTI_AFFINITY: (
        "is ruled out by its pod anti-affinity",
        "are ruled out by its pod anti-affinity",
    ),
    REPELLED: (
        "is ruled out by the anti-affinity of other pods",
        "are ruled out by the anti-affinity of other pods",
    ),
    SKEWED: (
        "does not match its topology spread constraints",
        "do not match its topology spread constraints",
    ),
    NO_TOPOLOGY: (
        "lacks a label that its topology spread constraints name",
        "lack a label that its topology spread constraints name",
    ),
    TOO_FEW_DEVICES: (
        "has too few free devices for its ResourceClaims",
        "have too few free devices for its ResourceClaims",
    ),
    DEVICES_ELSEWHERE: (
        "does not have the devices of its ResourceClaim",
        "do not have the devices of its ResourceClaim",
    ),
    TOO_MANY_VOLUMES: ("cannot attach more volumes", "cannot attach more volumes"),
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
    VOLUME_IN_USE: (
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


def on_nodes(counts: Iterable[tuple[str, int]]) -> str:
    """``3 nodes have too little cpu, 2 are cordoned``, by reasons and their nodes; empty where there are none."""
    parts: list[str] = []
    for reason, count in counts:
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


def resource_in(reason: str) -> str:
    """The resource that a reason about insufficient amounts names."""
    return "pods" if reason == FULL else reason.removeprefix(NO_ROOM)


# -- what no node has ---------------------------------------------------------------------------------------------

NO_NODE = "no node"
IN_GROUP = "is in a group that its queue may use"
HAS_TOPOLOGY = "has the labels that its topology spread constraints name"
REACHES_VOLUMES = "reaches its volumes"
IS_SELECTED = "matches its node selector or affinity"
"""What no node does."""


def none_of(usable: int) -> str:
    """Who has not enough, where nodes are closed to the pod."""
    return "no usable node" if usable == 1 else f"none of the {usable} usable nodes"


def has_no(who: str, resource: str, asked: str, largest: str) -> str:
    """``no node has 16 cpu (largest: 8)``; ``largest`` is empty where no node has any."""
    if largest:
        return f"{who} has {asked} {resource} (largest: {largest})"
    return f"{who} has {'a slot for a pod' if resource == 'pods' else resource}"


def has_not_everything(who: str) -> str:
    """Some have enough of one resource, and others of another."""
    return f"{who} has everything that it asks for"


def closed_by(what: str, *, every: bool) -> str:
    """One check closes all nodes: what every node is, or no node does."""
    return f"{'every node' if every else NO_NODE} {what}"


def none_usable(counts: Iterable[tuple[str, int]]) -> str:
    """Several checks close all nodes together."""
    return f"no node may be used: {', '.join(f'{count} {said_of_nodes(reason, count)}' for reason, count in counts)}"


def not_registered(nodes: int, resource: str) -> str:
    """A device plugin has not registered it."""
    return f"{counted(nodes, 'node has', 'nodes have')} not registered {resource} yet"


def larger_than_nodes(needed: int, room: int, who: str = "", where: str = "") -> str:
    """``8 are needed at once, and 4 would fit if all nodes were empty``; ``where`` says in what of the cluster."""
    return f"{needed} {who}are needed at once, and {room} would fit{where} if all nodes were empty"
