"""What ``vsched bench`` says; ``grow`` has what it says with ``--grow``."""

from __future__ import annotations

# -- flags -------------------------------------------------------------------------------------------------------------

OUT_WITHOUT_GROW = "--out is a folder for what --grow measures (expected --grow)"
WITHOUT_SUITE = "--workload, --label and --live are about workloads of a file (expected --suite FILE)"
WITHOUT_BACKLOG = "--waiting-for is about the pods of --backlog (expected --backlog with a number)"
FULL_WITHOUT_RUNNING = "--full needs pods that run already (expected --running 2 or more)"


def not_with_suite(option: str) -> str:
    return f"{option} has no meaning with --suite: its files say what there is"


def takes_nothing_back(path: str, actions: str) -> str:
    return f"{path}: actions: {actions}: nothing is taken back (--full expected preempt or reclaim)"


# -- cycles ------------------------------------------------------------------------------------------------------------

CYCLE_SECONDS = "seconds of cycle time"
NOTHING_NEW = "cycle, nothing new (ms)"
ONE_NEW_POD = "cycle, one new pod (ms)"
BINDING_SHOWN = "cycle, its binding is shown (ms)"
POD_ENDED = "cycle, it has ended (ms)"
TAKING_FOR_GRANTED = "taking decisions for granted"


def time_by(kind: str) -> str:
    return f"time by {kind}"


# -- --full ------------------------------------------------------------------------------------------------------------

IN_VAIN = "taking back, in vain"
BACKLOG_IN_VAIN = "taking back, a backlog in vain"
GANG_RECLAIMS = "taking back, a gang reclaims"
GANG_PREEMPTS = "taking back, a gang preempts"


# -- --backlog ---------------------------------------------------------------------------------------------------------


def waiting_first_cycle(pods: int, reason: str) -> str:
    return f"{pods:,} waiting for {reason}, first cycle (ms)"


SAME_NOTHING_NEW = "the same, nothing new p50 / p99 (ms)"
SAME_ONE_NEW_POD = "the same, one new pod p50 / p99 (ms)"


# -- --claims ----------------------------------------------------------------------------------------------------------


def plain_bench_failed(problem: str) -> str:
    return f"the bench without claims failed: {problem}"


WITHOUT_CLAIMS_PODS = "without claims, pods a second"
TIMES_AS_SLOW = "times as slow with claims"
WITHOUT_CLAIMS_MEMORY = "without claims, peak memory (MB)"
MORE_MEMORY = "more memory with claims (MB)"


# -- --queue-levels, --nominated ---------------------------------------------------------------------------------------

QUEUES_IN_A_TREE = "first cycle, queues in a tree (ms)"
QUEUES_SIDE_BY_SIDE = "the same queues side by side (ms)"


def tree_takes(milliseconds: float, times: float) -> str:
    return f"{milliseconds:,}, the tree takes {times} times"


NODES_KEPT = "first cycle, nodes kept for pods (ms)"
SAME_WITHOUT = "the same without (ms)"


# -- --tiers, --rules --------------------------------------------------------------------------------------------------

GANGS_IN_DOMAINS = "first cycle, gangs in one domain each (ms)"
SAME_GANGS_WITHOUT = "the same gangs without (ms)"


def domains_take(milliseconds: float, times: float) -> str:
    return f"{milliseconds:,}, domains take {times} times"


GANGS_WITHOUT_RULES = "first cycle, gangs without rules (ms)"
ONE_A_HOST = "one pod a host (required anti-affinity)"
SPREAD_OVER_ZONES = "spread over zones (DoNotSchedule)"
CLOSE_BY_ZONE = "close by zone (preferred affinity)"


def same_with(rule: str) -> str:
    return f"the same, {rule}"


# -- --shards ----------------------------------------------------------------------------------------------------------

PART_FAILED = "a part of the bench failed: it says why above"
PLACED_BY_SHARDS = "pods placed by one daemon, by all shards"
SECONDS_BY_SHARDS = "seconds by one daemon, by the slowest of all"
PROCESSOR_TIME_BY_SHARDS = "processor time of one daemon, of the busiest of all (s)"
READING_OTHERS = "reading what the others have bound (s)"
TIMES_BY_CLOCK = "times as fast by the clock"
TIMES_BY_PROCESSOR = "times as fast by processor time; with what the others have bound"


# -- --suite -----------------------------------------------------------------------------------------------------------

CORE_ALONE = "decision core alone"
OVER_HTTP = "over HTTP, with an embedded cluster and a daemon on the same cores"


# -- --mixed -----------------------------------------------------------------------------------------------------------

MIXED_LAUNCHERS = "launchers, and workers for all nodes with GPUs"
MIXED_ONE_TOO_MANY = "the same with one launcher too many"
MIXED_ROLES = "twelve roles on nodes they nearly fill"
MIXED_PACKED = "twelve roles on a hundred nodes, nine tenths full"
MIXED_APART = "others, and a pod that wants a large node alone"


def mixed(gang: str) -> str:
    return f"{gang}: first session / again (ms)"


def mixed_cost(first_ms: float, again_ms: float, steps: int, *, starts: bool) -> str:
    outcome = "starts" if starts else "waits"
    return f"{first_ms:,} / {again_ms:,}, {steps:,} steps, {outcome}"
