"""What ``vsched bench-restart`` says."""

from __future__ import annotations


def no_room(pods: int, pending: int, nodes: int, room: int) -> str:
    return (
        f"{pods} pods, {pending} of them pending, on {nodes} nodes (expected at most {room} pods, and at least one "
        "that is pending; with --held as many again, for a second daemon)"
    )


# -- figures -----------------------------------------------------------------------------------------------------------

ON_ANY_CORE = "on any core"
ON_ONE_CORE = "on one core"


def to_complete_mirror(core: str) -> str:
    return f"process start to complete mirror, {core} (s)"


TO_FIRST_BINDING = "process start to first binding (s)"
TO_LAST_BINDING = "process start to last binding (s)"
LONGEST_STALLS = "longest stall while listing / first session / binding (ms)"
MEMORY = "memory until the first binding / at its peak (MB)"
RELIST = "relist of pods (s), kinds listed again"
RELIST_STALL = "longest stall during the relist (ms)"
SINGLE_PODS = "single pods meanwhile, p50 / p99 (ms)"


# -- what held the event loop ------------------------------------------------------------------------------------------

STOP_UNDER_LOAD = "stop under load"


def policy_not_read(seconds: float) -> str:
    return f"the daemon did not read its policy within {seconds:.0f} s"


def held(part: str) -> str:
    return f"{part}: longest call of the loop / hold by a thread / collection of garbage (ms)"
