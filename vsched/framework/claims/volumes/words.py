"""Why volumes keep a pod waiting: of claims in our own words, which name them.

Of nodes they are kube-scheduler's, and most stand in ``framework/words/nodes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

NAMES_MAX = 2
"""The most claims that are named; others are counted."""


def no_driver(driver: str) -> str:
    """A node cannot attach its volumes."""
    return f"{driver} CSI driver is not installed on the node"


# -- the claim ----------------------------------------------------------------------------------------------------


def not_found(claims: Sequence[str]) -> str:
    """It is not there; names all that people have to make."""
    if len(claims) == 1:
        return f"PersistentVolumeClaim {claims[0]} does not exist"
    names = claims if len(claims) == NAMES_MAX else [*claims[:NAMES_MAX], f"{len(claims) - NAMES_MAX} more"]
    return f"PersistentVolumeClaims {', '.join(names[:-1])} and {names[-1]} do not exist"


def not_made(claim: str) -> str:
    """The claim of a generic ephemeral volume."""
    return f"PersistentVolumeClaim {claim} is not made yet by the ephemeral volume controller"


def not_owner(claim: str, pod: str) -> str:
    """A claim of that name was made for another pod; both with their namespace."""
    return f"PVC {claim} was not created for pod {pod} (pod is not owner)"


def deleting(claim: str) -> str:
    """It is being deleted."""
    return f"PersistentVolumeClaim {claim} is being deleted"


# -- its volume ---------------------------------------------------------------------------------------------------


def lost(claim: str, volume: str) -> str:
    """Its volume was there."""
    return f"PersistentVolumeClaim {claim} is lost: its PersistentVolume {volume} does not exist"


def volume_gone(claim: str) -> str:
    """It is bound, and its volume is not there."""
    return f"PersistentVolumeClaim {claim} is bound to a PersistentVolume that does not exist"


def not_bound(claim: str) -> str:
    """A controller will bind it."""
    return f"PersistentVolumeClaim {claim} is not bound yet"


def names_no_class(claim: str) -> str:
    """Nobody makes a volume for it."""
    return f"PersistentVolumeClaim {claim} is not bound: it names no StorageClass, and no PersistentVolume is for it"


def no_class(claim: str, storage_class: str) -> str:
    """The same, as its class is not there."""
    return f"PersistentVolumeClaim {claim} cannot be bound: StorageClass {storage_class} does not exist"
