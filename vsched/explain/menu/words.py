"""What is said of the ways to let a gang start: more nodes, more quota, less other work."""

from __future__ import annotations

from collections.abc import Sequence

# -- a gang without pods -----------------------------------------------------------------------------------------------

WITHOUT_PODS = "its pods do not exist yet: this is what would let it be admitted"


def then_lacks_nodes(change: str) -> str:
    return f"{change}, and then it lacks nodes"


# -- more nodes --------------------------------------------------------------------------------------------------------

NO_KIND_FITS = "no available kind of node fits one of its pods, even if empty"


def node_too_small(has: str, resource: str, asked: str) -> str:
    return f"a node has {has} {resource}, and a pod asks for {asked}"


def more_would_start(count: int, title: str, quota: str, alone: int) -> str:
    """``alone`` are enough if no other job wants them, ``quota`` is what has to be raised as well."""
    before = f"; {alone} if other jobs did not go first" if alone < count else ""
    return f"{count} more {title} would start it{f', with {quota}' if quota else ''}{before}"


def several_would_start(parts: Sequence[tuple[int, str]]) -> str:
    """``1 more of pool cpu and 2 more of pool gpu would start it``; the least of each."""
    *others, last = [f"{count} more {title}" for count, title in parts]
    return f"{', '.join(others)} and {last} would start it"


def all_more_of_pool(most: int, pool: str) -> str:
    return f"the {most} more that pool {pool} may have"


def up_to_more(most: int, title: str) -> str:
    return f"up to {most} more {title}"


def would_not_start(what: str, why: str) -> str:
    return f"{what} would not start it{f': {why}' if why else ''}"


# -- more quota --------------------------------------------------------------------------------------------------------

NO_LIMIT_WOULD_START = "raising no limit of its queue or namespace would start it"
OUT_OF_TIME = "unknown: the search ran out of time"


# -- kinds of nodes ----------------------------------------------------------------------------------------------------


def like_node(node: str) -> str:
    return f"like node {node}"


def of_pool(pool: str) -> str:
    return f"of pool {pool}"


# -- less other work ---------------------------------------------------------------------------------------------------

NOBODY_HOLDS = "no running job holds what it needs"
NO_END_WOULD_START = "even the end of all jobs that hold what it needs would not start it"


def would_have_to_end(jobs: str, names: str) -> str:
    return f"the end of {jobs}: {names}; the policy would not evict for it"


def would_wait_instead(job: str, priority: int) -> str:
    return f"{job} (priority {priority}) would wait instead"


def would_go(pods: str, job: str, priority: int) -> str:
    return f"{pods} of {job} (priority {priority}) would go"
