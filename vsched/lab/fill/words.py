"""What ``vsched replay --fill`` says."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

NO_NODE_HAS_GPU = "--fill: no node has a GPU (expected nodes with GPUs)"
NO_POD_ASKS = "--fill: no pod asks for a GPU (expected pods that do)"


def asks_for_less(pods: int, part: float) -> str:
    return f"--fill: {pods:,} pods ask for {part:.0%} of that (expected fewer nodes)"


ONE_FILE = "--fill: the trace is one file (expected NODES and PODS in OpenB's format)"


def progress(
    policy: str, seed: int, arrived: float, allocated: float, dropped: int, pods: int, seconds: float, pace: float
) -> str:
    return (
        f"{policy}, seed {seed}: {arrived:.0f}% arrived, {allocated:.2f}% allocated; {dropped:,} of {pods:,} pods "
        f"dropped; {seconds:.0f} s ({pace:,.0f} pods a minute)"
    )


DROPPED_WITH_ROOM = "dropped with room"
POLICY_EVICTS = "--fill: the policy evicts pods, and here none ends (expected one without victims)"


def does_not_fit(pod: str, node: str) -> str:
    return f"the scheduler placed {pod} on {node}, where it does not fit"


# -- the table ---------------------------------------------------------------------------------------------------------

LEGEND = "Per cent of all GPUs: the mean over the seeds ± their standard deviation."


def title(file: str, drawn: str, nodes: str, gpus: str, part: float, seeds: str) -> str:
    return f"{file}: a list of {drawn} on {nodes} with {gpus}; pods ask for {part:.0%} of these; seeds {seeds}"


def allocated_at(fill: float) -> str:
    return f"allocated at {fill:.0%}"


def stranded_at(fill: int) -> str:
    return f"stranded at {fill}%"


WITH_ROOM = "of these with room"

# -- charts ------------------------------------------------------------------------------------------------------------

OF_ALL_GPUS = "% of all GPUs"
NOT_ALLOCATED = "GPUs asked for and not allocated, of those there are"
ASKED_FOR = "asked for by the pods that came, % of all GPUs"
