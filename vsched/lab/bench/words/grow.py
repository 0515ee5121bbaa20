"""What ``vsched bench --grow`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------


def several_sizes(name: str, sizes: str) -> str:
    return f"--{name}: {sizes}: several sizes need --grow (expected one number)"


def not_with_grow(option: str) -> str:
    return f"{option} has no meaning with --grow"


def too_many_pods(pods: int, room: int) -> str:
    return f"--pods: {pods:,} (expected {room:,} or fewer on these nodes)"


# -- the points --------------------------------------------------------------------------------------------------------


def objects_listed(count: int) -> str:
    return f"{count:,} objects listed"


DECIDED_FIRST = "decided for the first time"


def process_ended(nodes: int, pods: int, code: int, why: str) -> str:
    return f"{nodes:,} nodes, {pods:,} pods: the process ended with code {code}{why}"


OUT_OF_MEMORY = ", which may mean that memory ran out"


# -- tables ------------------------------------------------------------------------------------------------------------


def size(queues: int, namespaces: int) -> str:
    return f"{queues:,} queues in a tree, {namespaces:,} namespaces; processor time and memory"


NEW_SHAPE = "new shape, ms"
SERVED = "what is served"


# -- the chart ---------------------------------------------------------------------------------------------------------


def chart(queues: int, namespaces: int) -> str:
    return (
        f"Processor time and memory by nodes and running pods; {queues:,} queues in a tree, {namespaces:,} namespaces"
    )


GANG_WITH_NEW_SHAPE = "A gang of 100 pods with a new shape"
SNAPSHOT_AFTER = "Snapshot after it came"
NOTHING_CHANGED = "Session when nothing changed"
RESTART = "Restart: lists to first decision"
MEMORY = "Memory after a collection"
PICTURE = "The page's picture"
