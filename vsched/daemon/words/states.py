"""What the daemon says of its own state, and of what looks wrong in the cluster."""

from __future__ import annotations

# -- what it waits for -------------------------------------------------------------------------------------------------

NOT_SYNCED = "the cache is not synced yet"
NOTHING_DIVIDED = "nothing has been divided yet: the cache is not synced"


def not_the_leader(role: str) -> str:
    return f"this daemon is not the leader: it is {role}"


NOBODY = "nobody at present"


def of_another_shard(job: str, shard: int, who: str, ours: str) -> str:
    return f"{job} belongs to shard {shard}, and {who} decides about it (this daemon has {ours})"


def waiting_for_lists(names: str) -> str:
    return f"waiting for the first lists: {names}"


def policy_rejected(why: str) -> str:
    return f"; policy rejected, keeping the previous one: {why}"


# -- sessions ----------------------------------------------------------------------------------------------------------

SESSIONS_FAIL = "its sessions fail: see its log"
SESSION_IS_SLOW = "a session is slow: see its log"


def no_session(seconds: float, why: str) -> str:
    return f"no session within {seconds:g} s ({why})"


def not_bound(namespace: str, pod: str, tries: int) -> str:
    return f"pod {namespace}/{pod} is not bound after {tries} attempts"


def evicting_for_nothing(sessions: int, seconds: float) -> str:
    return f"{sessions} sessions evicted pods within {seconds:.0f} s, but no pod was placed"


# -- pods and jobs -----------------------------------------------------------------------------------------------------


def left_for_nothing(node: str, beneficiary: str) -> str:
    return f"pods left node {node} for {beneficiary}, which was not placed"


def evict_each_other(taker: str, victim: str) -> str:
    return f"{taker} and {victim} evict each other's pods in turn"


def bound_by_another(node: str | None) -> str:
    return f"bound to {node}, but not by this scheduler"


def rival(names: str, bindings: int, latest: str) -> str:
    return (
        f"another scheduler binds pods of {names}: {bindings} so far, the last {latest}; nodes are given "
        "more than they have (expected one daemon for a name, or --leader-elect for all of them)"
    )
