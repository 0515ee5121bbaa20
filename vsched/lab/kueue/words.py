"""What ``vsched replay --kueue`` says."""

from __future__ import annotations

# -- the result --------------------------------------------------------------------------------------------------------

TIME_IS_VIRTUAL = (
    "Time is virtual: a decision, a binding and an eviction take none. Kueue runs beside a real API server "
    "(envtest), so its figures, and the gates made of them, hold the latency of its requests."
)
CORE_ALONE = "Only the deciding core is measured, on its mirror of the cluster. Nothing is written over HTTP."
LOOKS_AT_ALL = "Kueue looks at the first workload of each queue in a cycle; here a cycle looks at all that wait."
EVICTED_WAIT_AGAIN = (
    "An evicted workload waits again at once and in its old place, and begins anew. The time to admission is to "
    "the last admission, as in Kueue's test."
)
NO_NODES = "The generator has no nodes: one node as large as all quotas is used, so that only quotas decide."
ONE_POLICY = "--policy: one at a time with --kueue"


def title(workloads: int, queues: int, cohorts: int, nodes: str, policy: str, apart: float) -> str:
    return (
        f"{workloads:,} workloads in {queues:,} queues of {cohorts:,} cohorts{nodes}, policy {policy}, cycles "
        f"{apart:g} s apart while workloads wait"
    )


def never_ended(workloads: int) -> str:
    return f"{workloads:,} never ended. "


def totals(ended: str, cycles: int, evictions: int, seconds: int, mb: int) -> str:
    return f"{ended}{cycles:,} cycles, {evictions:,} evictions; {seconds:,} s of processor time, {mb:,} MB"


GATE_OF_KUEUE = "gate of Kueue"
WALL_TIME = "wall time, virtual"
USAGE_OF_QUOTA = "usage of nominal quota, {}"
MEAN_TIME = "mean time to admission, {}"


def progress(seconds: float, created: int, workloads: int, run: int, ended: int, cycles: int, took: float) -> str:
    return (
        f"{seconds:.1f} s in, {created:,} of {workloads:,} workloads came, {run:,} run, {ended:,} ended; {cycles:,} "
        f"cycles in {took:.0f} s"
    )


# -- fields ------------------------------------------------------------------------------------------------------------


def expected_text(got: object) -> str:
    return f"expected text, got {got}"


def not_supported_here(found: object, expected: str) -> str:
    return f"{found!r} is not supported here (expected one of {expected})"


def expected_whole(least: int, most: int, got: object) -> str:
    return f"expected a whole number from {least} to {most}, got {got}"


def negative(text: str) -> str:
    return f"{text!r} is negative (expected 0 or more)"


def expected_list(got: object) -> str:
    return f"expected a list with at least one entry, got {got}"


def not_supported(why: str) -> str:
    return f"not supported: {why}"


def unknown_field(known: str, meant: str) -> str:
    return f"unknown field (expected one of {known}){meant}"


def cannot_be_read(path: object, why: object, what: str) -> str:
    return f"{path}: cannot be read: {why} (expected a {what})"


def too_large(path: object, what: str, kib: int) -> str:
    return f"{path}: too large for a {what}: more than {kib} KiB"


# -- gates -------------------------------------------------------------------------------------------------------------

CMD_AND_CLASSES = "cmd and classes"
RANGE_FILE = "range file of Kueue"


def limit_of_process(name: str) -> str:
    return f"cmd.{name}: a limit of the process of Kueue in real time, so it is not compared"


def no_such_class(known: str) -> str:
    return f"the generator has no such class (expected one of {known})"


# -- the generator -----------------------------------------------------------------------------------------------------

NO_CLAIMS = "devices of dynamic resource allocation are not made here"
GENERATOR = "generator of Kueue"


def twice(name: str) -> str:
    return f"{name!r} is there twice (expected a name for each set of cohorts)"


def too_many_nodes(nodes: int, most: int) -> str:
    return f"{nodes} nodes (expected at most {most})"


RECLAIM_DIFFERS = "reclaimWithinCohort differs within a cohort (expected the same for all of its queues)"
WITHOUT_LEVEL = "has no effect without tasLevel, which is missing"
NO_TOPOLOGY = "there is no topology in this file"


def no_level(level: str, known: str) -> str:
    return f"{level!r} is no level of the topology (expected one of {known})"


HOW_MANY_TOGETHER = "expected how many pods of a balanced workload have to be together"


def no_divisor(pods: int) -> str:
    return f"expected a divisor of podCount, which is {pods}"


NOT_BALANCED = "has no effect unless tasConstraint is balanced"


def other_topology(name: str, got: str) -> str:
    return f"expected the name of the topology, {name!r}, got {got!r}"


def other_label(label: str, got: str) -> str:
    return f"expected {label!r}, the label that all nodes have, got {got!r}"


NOT_USED = "no resource flavor uses it (expected resourceFlavor.topologyName)"
NO_CAPACITY = "only nodes, the last level, have a capacity"
TWO_LEVELS = "expected two levels at least"


def same_levels(kind: str) -> str:
    return f"two levels have the same {kind}"


# -- the run -----------------------------------------------------------------------------------------------------------


def comes_to_no_rest(rounds: int) -> str:
    return f"{rounds} cycles at one moment, and each evicts again: this policy comes to no rest"
