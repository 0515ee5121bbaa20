"""What ``vsched replay --trace`` says."""

from __future__ import annotations

from datetime import datetime

# -- flags -------------------------------------------------------------------------------------------------------------


def no_policy(name: str, known: str) -> str:
    return f"--one-queue: {name!r} is no policy (expected one of {known})"


def no_such_queue(queue: str, known: str) -> str:
    return f"--weight: no pod is in queue {queue!r} (expected one of {known})"


def same_name(name: str) -> str:
    return f"--policy: two files are called {name!r} (expected different names)"


def progress(
    policy: str, seconds: str, created: int, pods: int, run: int, wait: int, sessions: int, took: float, pace: float
) -> str:
    return (
        f"{policy}: {seconds} in, {created:,} of {pods:,} pods came, {run:,} run, {wait:,} wait; {sessions:,} "
        f"sessions in {took:.0f} s ({pace:.0f} a second)"
    )


def no_share(share: float) -> str:
    return f"--nodes: {share:.0%} (expected more than 0% and at most 100%)"


def no_pod_in_time(days: str) -> str:
    return f"--from, --days: no pod comes in that time (expected a part of {days})"


def no_dates(begin: datetime) -> str:
    return f"--from: {begin:%Y-%m-%d}: this trace has no dates (expected days since its first pod, such as 3)"


def load_too_large(load: float, most: float, resource: str) -> str:
    return (
        f"--load: {load:g} is more than these pods ask for: all at once they would take {most:.2f} times the "
        f"{resource} there is (expected a smaller load, or fewer --nodes)"
    )


def load_too_small(load: float, least: float, resource: str) -> str:
    return (
        f"--load: {load:g} is less than these pods ask for however slowly they come: {least:.2f} times the {resource} "
        "there is (expected a larger load, or more --nodes)"
    )


# -- work traces -------------------------------------------------------------------------------------------------------


def no_work(path: object) -> str:
    return f"{path}: no pods were recorded (expected a trace with work)"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count:,} pods"


def still_ran(count: int) -> str:
    return f"{_pods(count)} had not ended when the trace did: each ends as it does"


def never_ran(count: int) -> str:
    return f"{_pods(count)} never ran: each takes as long as it says, else as pods of its queue usually do"


def replaced(count: int) -> str:
    return f"{_pods(count)} deleted while running came again: their work counts once"


def ruled(count: int) -> str:
    what = "affinity, other labels, volumes, devices"
    return f"{_pods(count)} with rules that are not recorded ({what}): these rules are left out"


def partly(count: int) -> str:
    jobs = "1 job" if count == 1 else f"{count:,} jobs"
    return f"{jobs} with more pods than the minimum: the others are pods of their own"


def nodes_for_a_part(count: int) -> str:
    nodes = "1 node" if count == 1 else f"{count:,} nodes"
    return f"{nodes} there for less than half of the time: left out"


def resources_left_out(names: str) -> str:
    return f"resources that a replay does not know: {names}"


def not_seen_for(long: str) -> str:
    return f"nothing is known of {long} of the time"


AS_RECORDED = "as recorded"
"""The column of what really happened."""
MATCH = "jobs that wait as recorded"
OFF_P50, OFF_P90 = "difference to recorded wait, p50", "difference to recorded wait, p90"


def no_machines_with_work(path: object) -> str:
    return f"--machines: {path} says which nodes there were (expected a file of nodes before it, or no --machines)"


def no_nodes(path: object) -> str:
    return f"{path}: no node was there for most of the time (expected a longer part of the trace)"


# -- formats -----------------------------------------------------------------------------------------------------------


def no_known_format(path: object, signs: str) -> str:
    return f"{path}:1: of no known format (expected a column {signs}; or --trace-format)"


def different_formats(path: object, columns: str) -> str:
    return f"{path}:1: columns {columns} are of different formats (expected --trace-format with it)"


def not_with_nodes(nodes: object) -> str:
    return f"--machines: {nodes} says which there are (expected it with a trace in one file)"


def no_times(path: object, columns: str) -> str:
    return f"{path}:1: no column {columns} (expected both: a replay follows them)"


def no_models(path: object, pod: str, model: str) -> str:
    return (
        f"{path}: {pod} asks for GPUs of model {model}, and there are no nodes that say theirs (expected a CSV file "
        "of nodes before it)"
    )


# -- Alibaba's traces --------------------------------------------------------------------------------------------------


def no_node_has(model: str, known: str) -> str:
    return f"gpu_spec: no node has {model!r} (expected models of nodes: {known})"


def scheduled_before(began: int, created: int) -> str:
    return f"scheduled_time: {began} is before creation_time {created}"


def deleted_before(deleted: int, began: int) -> str:
    return f"deletion_time: {deleted} is before the pod was there, at {began}"


# -- other traces ------------------------------------------------------------------------------------------------------


def no_gpus(path: object) -> str:
    return f"{path}: its jobs ask for GPUs, and no node has one (expected nodes with GPUs)"


def mixed_arrivals(path: object, line: int, kind: str, other_line: int, other_kind: str) -> str:
    return f"{path}:{line}: arrival: {kind}, but line {other_line} has {other_kind} (expected the same in all lines)"


def same_names(path: object, name: str) -> str:
    return f"{path}: two lines lead to the name {name!r} (expected names that differ without numbers)"


def not_all_together(least: int, count: int) -> str:
    return f"min_pods: {least} of {count} (expected 1, each pod by itself, or {count}, all together)"


def value_without_gpus(column: str, value: str) -> str:
    return f"{column}: {value!r} of no GPU (expected gpus to be 1 or more, or nothing here)"


def no_arrival(found: str) -> str:
    return (
        f"arrival: {found!r} (expected whole seconds since the beginning, or a date and time such as "
        "2026-03-02T09:30:00)"
    )


def model_without_gpus(model: str) -> str:
    return f"gpu_model: {model!r} of no GPU (expected gpus to be 1 or more, or nothing here)"


# -- rows --------------------------------------------------------------------------------------------------------------


def no_name(column: str, found: str, most: int) -> str:
    return f"{column}: {found!r} (expected lower-case letters, digits, '-' and '.', at most {most})"


def no_label(column: str, found: str) -> str:
    return f"{column}: {found!r} (expected letters, digits, '-', '_' and '.', at most 63)"


def no_part(column: str, found: str, what: str) -> str:
    return f"{column}: {found!r} (expected {what}: lower-case letters, digits and '-')"


ZERO_OR_MORE = "0 or more"
MORE_THAN_ZERO = "more than 0"


def no_quantity(column: str, found: str, expected: str) -> str:
    return f"{column}: {found!r} (expected a quantity, {expected}, such as 500m, 2, 1.5Gi)"


def no_unit(column: str, found: str) -> str:
    return f"{column}: {found!r} is less than 1Mi (expected a unit behind it, such as 16Gi)"


def no_fraction(column: str, found: str) -> str:
    return f"{column}: {found!r} (expected more than 0 and at most 1, such as 0.25)"


def no_moment(column: str, found: str) -> str:
    return f"{column}: {found!r} (expected a date and time, 2017-10-09 07:01:55)"


def no_service(column: str, found: str) -> str:
    return f"{column}: {found!r} (expected a word for a queue's name, such as LS or best-effort)"


def no_number(column: str, found: str, least: int, most: int) -> str:
    return f"{column}: {found!r} (expected a whole number from {least} to {most})"


MORE_FIELDS = "more fields than the first line names"


def twice(name: str, line: int) -> str:
    return f"{name!r} was in line {line} already"


def no_lines(path: object) -> str:
    return f"{path}: no line after the first (expected one for each)"


def no_columns(path: object, missing: str, expected: str) -> str:
    return f"{path}:1: no column {missing} (expected at least {expected})"


def too_many_lines(path: object, line: int, most: int) -> str:
    return f"{path}:{line}: more than {most} lines"


def larger(path: object, mib: int) -> str:
    return f"{path}: larger than {mib} MiB"


def cannot_be_read(path: object, why: object) -> str:
    return f"{path}: cannot be read: {why}"


def not_utf8(path: object, why: str, byte: int) -> str:
    return f"{path}: not UTF-8: {why} at byte {byte}"


# -- the replay --------------------------------------------------------------------------------------------------------


def gpus_not_free(pod: str, gpus: object, free: object) -> str:
    return f"the scheduler gave {pod} the GPUs {gpus}, of which {free} are free"


def no_devices(pod: str, annotation: str, assigned: str, node: str) -> str:
    return f"{pod}: {annotation}: {assigned!r} names no devices of {node}"


SESSION_FAILED = "a session failed; the log says why"


def watch_is_behind(resource: str, seconds: float) -> str:
    return f"the watch of {resource} is behind for {seconds:.0f} s"


def comes_to_no_rest(rounds: int) -> str:
    return f"{rounds} sessions at one moment, and each evicts again: this policy comes to no rest"


def replay_under(policy: str) -> str:
    return f"replay under {policy}"


# -- the table ---------------------------------------------------------------------------------------------------------

EIGHT_GPUS = "8 GPUs or more"
PART_OF_GPU = "part of a GPU"
LEGEND = "Over time: while pods come, from the hundredth part of them on. Waits: of pods that were placed.  * best"


def title(there: str, gpus: str, speed: str, load: str) -> str:
    return f"{there} with {gpus}, {speed}; at the peak they ask for {load}"


def times_as_fast(factor: str) -> str:
    return f"{factor} times as fast as recorded"


GPUS_IN_USE = "GPUs in use"
CPU_IN_USE = "cpu in use"
MEMORY_IN_USE = "memory in use"
GPUS_PEAK = "GPUs in use, peak"
FRAGMENTS = "free GPUs that are fragments, mean"
FAIRNESS_MEAN = "fairness among queues, mean"
FAIRNESS_LEAST = "fairness among queues, least"
FAIRNESS_OF_WEEK_MEAN = "fairness over the last week, mean"
FAIRNESS_OF_WEEK_LEAST = "fairness over the last week, least"
WAITING_MEAN = "pods waiting, mean"
WAITING_PEAK = "pods waiting, peak"
GPU_HOURS_LOST = "GPU hours lost to evictions"
LAST_START = "last pod started after"
IN_PIECES = "pods on pieces of more GPUs than asked"
SESSIONS_CHECKED = "sessions checked against the rules"
VIOLATIONS = "violations of rules"

# -- charts ------------------------------------------------------------------------------------------------------------

OF_ALL_GPUS = "% of all GPUs"
OF_FREE_GPUS = "% of free GPUs"
UNUSABLE_GPUS = "Free GPUs that typical pods cannot use"
FAIRNESS = "Fairness among queues"
FAIRNESS_OF_WEEK = "Fairness among queues over the last week"
LAST_POD_COMES = " last pod comes"
WAIT_BY_SIZE = "Wait of 99 in 100 jobs, by what they ask for"
LOGARITHMIC = "at most (logarithmic)"
