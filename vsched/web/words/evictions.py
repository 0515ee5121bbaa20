"""Why a pod was evicted."""

from __future__ import annotations


def by_arbitration(namespace: str, beneficiary: str) -> str:
    return f"arbitration among namespaces evicts from {namespace} for {beneficiary}"


def moved_off(action: str) -> str:
    return f"{action} moves it off this node, for no other pod"


def moved_to(node: str) -> str:
    return f"it makes room, and has room itself on {node}"


def defragments(node: str) -> str:
    return f"free devices stay usable that way, and it has room on {node}"


def makes_room(action: str) -> str:
    return f"{action} makes room"


OF_ITS_JOB = "another pod of its own job goes first"


def reclaims(queue: str, victim: str) -> str:
    return f"queue {queue} reclaims from queue {victim}"


def by_priority(queue: str, first: int, second: int) -> str:
    return f"in queue {queue}, priority {first} goes before priority {second}"


def by_order(queue: str, priority: int) -> str:
    return f"in queue {queue}, that job goes first at the same priority {priority}"
