"""What is said about bottles."""

from __future__ import annotations

NOTHING_PLANNED = "nothing is planned any more: whoever waits would wait for ever"
DAEMON_DIED = "daemon died"
ERROR_IN_LOG = "error in a log"
STEP_FAILED = "step failed"
NOTHING_GOES_WRONG = "from now on nothing goes wrong"
SEED = "seed"
VIRTUAL_SECONDS = "virtual seconds"
PODS = "pods created, bound, finished"
STARTS = "starts of daemons"
DIGEST = "digest of the log"
ONLY_VIRTUAL = "--hours, --until, --trace, --shrink: only on virtual time (expected --virtual with them)"
NOT_VIRTUAL = "--virtual: expected none of --kill-every, --kills, --claims, --ask and --keep with it"
NOTHING_TO_SHRINK = "--shrink: no promise was broken in this run (expected a seed with which one is)"


def node_refused(node: str) -> str:
    """Why admission lets no pod be bound there."""
    return f"no pod may be bound to {node}"


def pod_refused(reason: str) -> str:
    """What a kubelet says of a pod that it does not run."""
    return f"Pod was rejected: {reason}"


def broken(promise: str, count: int) -> str:
    """A promise that was broken."""
    return f"broken: {promise}, {count} times"


def again(command: str) -> str:
    """How to see what led to the first violation."""
    return f"up to the moment before: {command}"


def smaller(command: str) -> str:
    """A smaller run in which the same goes wrong."""
    return f"the same goes wrong: {command}"


def command(seed: int, minutes: float, nodes: int, daemons: int, pods: float, more: str, until: float) -> str:
    """A run up to a moment, with all that is sent."""
    return (
        f"vsched soak --virtual --seed {seed} --minutes {minutes:g} --nodes {nodes} --daemons {daemons} "
        f"--pods-per-minute {pods:g}{more} --until {until:.3f}s --trace trace.log"
    )
