"""What ``vsched queue`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------


def no_dimension(name: str, dimensions: str) -> str:
    return f"{name!r} (expected some of {dimensions}, with commas between them)"


# -- queues that are opened and closed ---------------------------------------------------------------------------------


def is_already(queue: str, state: str) -> str:
    return f"queue {queue} is already {state}"


def still(queue: str, asked: str, state: str, seconds: float) -> str:
    return (
        f"queue {queue}: asked, by {asked}, and still {state} after {seconds:g} s (is vsched running, and does its "
        "--command-namespace include that namespace?)"
    )


# -- names that there are not ------------------------------------------------------------------------------------------


def no_queue(name: str) -> str:
    return f"queue {name!r} does not exist"


# -- the page ----------------------------------------------------------------------------------------------------------

NO_QUEUES = "there are no queues"


def share_of_deserved(share: float) -> str:
    return f"{share:.0%} of what it deserves"


def with_its_parent(parent: str) -> str:
    return f"with its parent {parent}"


def legend(full: str, empty: str, mark: str) -> str:
    return f"{full} held  {empty} may be held (capability, else the cluster)  {mark} deserved"


DAEMON_KNOWS_SHARES = "\nonly a daemon knows shares by weight: --daemon URL"


# -- usage -------------------------------------------------------------------------------------------------------------

NOTHING_COUNTED = "nothing has been counted yet"


def more_rows(number: int) -> str:
    return f"and {number} more (-o wide and -o csv have all)"


def of_which_counted(span: str) -> str:
    return f", of which {span} were counted"


def of_the_last(span: str, missing: str, counted: str) -> str:
    return f"the last {span}{missing}; {counted}; share: the largest part of what the cluster had"


# -- history -----------------------------------------------------------------------------------------------------------

NO_DATA = "there is no data yet"
PODS_REMAIN = "pods without a PodGroup remain"


def held_over(span: str) -> str:
    return f"held over the last {span}"


def shares_explained(step: str, full: str) -> str:
    return (
        f"dominant shares of the cluster, with the queues below; each point is the mean of {step}; a full cell is "
        f"{full}"
    )


def hourly_before(moment: str) -> str:
    return f"before {moment}, when this daemon began to lead, only hourly means of what was held are known"


def no_history(number: int, queues: str) -> str:
    return f"{number} more {queues} no history: there are too many"
