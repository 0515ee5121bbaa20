"""What ``vsched cluster`` says."""

from __future__ import annotations

# -- flags, and how to reach the cluster -------------------------------------------------------------------------------


def no_number_and_no_file(value: str) -> str:
    return f"must be a number or a file of nodes, is {value}"


def no_usage(value: str) -> str:
    return f"{value!r}: expected a share of the request such as 0.6, or two such as 0.2-1.4"


USAGE_WITH_API_ONLY = "--usage: has no effect with --api-only, where no pod runs"
DEVICES_WITH_API_ONLY = "--devices: has no effect with --api-only, where no driver runs"
POOLS_WITH_API_ONLY = "--pools: has no effect with --api-only, where no autoscaler runs"
USAGE_WITHOUT_KUBELETS = "--usage: has no effect with --no-kubelets, where no pod runs"


def to_try(kubeconfig: str) -> str:
    return f"try          kubectl --kubeconfig {kubeconfig} get nodes"
