"""What ``vsched allocations`` says."""

from __future__ import annotations

# -- names that there are not ------------------------------------------------------------------------------------------


def no_share(name: str, meant: str) -> str:
    return f"no namespace and no bucket {name!r} has a share of the cluster{meant}"


# -- what is asked -----------------------------------------------------------------------------------------------------


def are_not_served(server: str, resource: object) -> str:
    return (
        f"{resource} are not served by {server} (expected the definitions of the arbitrator to be installed, and "
        "`vsched run --arbitrate`)"
    )


# -- the page ----------------------------------------------------------------------------------------------------------

NOTHING_IS_DIVIDED = "nothing is divided: there are no Consumers and no Allocations"


def legend(full: str, reserved: str, empty: str, mark: str) -> str:
    return f"{full} held  {reserved} reserved for it  {empty} may be held (hard, else the cluster)  {mark} deserved"


HOLD_AND_ASK = "hold and ask"
HOLDS_AND_ASKS = "holds and asks"


def idle(number: int, verbs: str) -> str:
    return f"and {number} that {verbs} for nothing"


def more_problems(number: int) -> str:
    return f"and {number} more (-o json has all)"


def namespaces_have(number: int) -> str:
    return f"{number} namespaces have"


def no_allocation_yet(whose: str) -> str:
    return f"{whose} no Allocation yet: is `vsched run --arbitrate` running?"
