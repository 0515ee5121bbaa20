"""What is said of a question to several clusters."""

from __future__ import annotations

# -- flags and files ---------------------------------------------------------------------------------------------------

SUBMIT_ONLY = "several clusters are asked about --submit FILE alone (expected no other change, --buy or --consolidate)"
LIVE_AND_CLUSTERS = "--clusters and --live URL: one of them says which clusters are asked"
TO_WITHOUT_CLUSTERS = "--to is for a question to several clusters (expected --clusters FILE, or --live URL --live URL)"


def no_yaml(path: object, problem: str) -> str:
    return f"{path}: {problem} (expected YAML)"


def how_many_clusters(path: object, count: int, most: int) -> str:
    return f"{path}: clusters: {count} of them (expected 1 to {most})"


def named_twice(where: str, name: str) -> str:
    return f"{where}: {name!r} is there twice (expected different clusters)"


# -- answers -----------------------------------------------------------------------------------------------------------

CLUSTER, STARTS, PLACED, DISPLACES, SAYS = "cluster", "starts", "pods placed", "evicts", "says"
AT_ONCE, NOT_FORESEEN, NOT_ASKED = "at once", "not foreseen", "not asked"
FIRST, CHEAPEST = "first", "evicts least"


def asking(cluster: str) -> str:
    return f"planning on {cluster} …"


def earliest(long: str) -> str:
    return f"in {long}"


def placed(count: int, pods: int) -> str:
    return f"{count} of {pods}"


def displaced(count: int, names: str) -> str:
    return f"{count} ({names})"


NOWHERE = "no cluster is known to start it"

# -- handing over ------------------------------------------------------------------------------------------------------


def handed(cluster: str, kind: str, name: str) -> str:
    return f"{cluster}: {kind} {name} created"


def no_such_cluster(name: str, known: str) -> str:
    return f"--to {name}: no such cluster (expected best, or one of {known})"


def nowhere_to_hand(reason: str) -> str:
    return f"--to best: {reason} (expected --to NAME to hand it over all the same)"


def no_api(cluster: str) -> str:
    return f"--to: no API server of {cluster} is known (expected its kubeconfig or context in --clusters FILE)"


def not_served(cluster: str, kind: str, version: str) -> str:
    return f"{cluster}: its API server serves no {kind} in {version}"


def half_handed(cluster: str, problem: str, there: str) -> str:
    return f"{cluster}: {problem}; created before that, and still there: {there}"
