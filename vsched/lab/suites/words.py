"""What ``vsched bench --suite`` says."""

from __future__ import annotations

# -- the choice of workloads -------------------------------------------------------------------------------------------


def no_workload(files: str, wanted: str, cases: str, labels: str) -> str:
    return f"{files}: no workload fits {wanted} (expected one of the cases {cases}, and of the labels {labels})"


# -- fields ------------------------------------------------------------------------------------------------------------


def cannot_be_read(where: object, why: object) -> str:
    return f"{where}: cannot be read: {why}"


def cases_nested(path: object) -> str:
    return f"{path}: nested too deeply (expected a list of test cases)"


def empty(path: object) -> str:
    return f"{path}: empty (expected a list of test cases)"


def at_least(least: float) -> str:
    return f"a number of at least {least:g}"


def whole_at_least(least: int) -> str:
    return f"a whole number of at least {least}"


A_DURATION = "a duration such as 10s"


def same_key(file: object, line: int, key: str) -> str:
    return f"{file}:{line}: {key}: the same key twice"


def missing(where: str, key: str) -> str:
    return f"{where}: {key} is missing"


def no_parameter(where: str, name: str) -> str:
    return f"{where} is {name!r}: the workload has no parameter of this name"


def no_workloads(path: object) -> str:
    return f"{path}: no workloads (expected a list of test cases with workloads)"


def configuration_not_used(file: object) -> str:
    return f"{file}, a configuration of kube-scheduler, is not used"


def not_used(operations: str) -> str:
    return f"no operation uses {operations}"


def not_known(where: str) -> str:
    return f"{where}: not known here"


# -- operations --------------------------------------------------------------------------------------------------------


def unknown_operation(where: str, opcode: str) -> str:
    return f"{where}: the operation {opcode} is not known here"


def unknown_field(where: str, opcode: str) -> str:
    return f"{where}: this field of {opcode} is not known here"


AN_OPERATION = "an operation createPods"


def cannot_be_updated(kind: str, key: str) -> str:
    return f"{kind} {key} cannot be updated: there is none"


def not_placed(waiting: int, pods: int) -> str:
    return f"{waiting:,} of {pods:,} pods were not placed"


IN_CORE_ALONE = "updateAny is done in the core alone"


def not_tried(left: int, pods: int) -> str:
    return f"{left:,} of {pods:,} pods were not tried"


ONE_DEVICE_ONLY = "allocResourceClaims is done for claims of one device of any kind only"


def no_device_left(claim: str) -> str:
    return f"allocResourceClaims: no device of a node is left for {claim}"


NO_PODS_MEASURED = "no pods are measured"

# -- templates ---------------------------------------------------------------------------------------------------------


def object_nested(path: object) -> str:
    return f"{path}: nested too deeply (expected a Kubernetes object)"


def cannot_be_filled(path: object, line: int, template: str, error: object) -> str:
    return f"{path}:{line}: {template} cannot be filled in ({error})"


def expected_values(problem: str, known: str) -> str:
    return f"{problem}: expected .Index, .Count and {known}"


def no_object(path: object) -> str:
    return f"{path}: no object (expected one Kubernetes object with apiVersion and kind)"


ENDS_TOO_EARLY = "it ends too early"
NOT_CLOSED = "a parenthesis is not closed"


def word_not_known(word: str) -> str:
    return f"{word} is not known"


# -- the table ---------------------------------------------------------------------------------------------------------

FEATURE_GATES = (
    "featureGates are those of kube-scheduler and mean nothing here; workloads that differ in them alone run once"
)
PODS_PER_SECOND = "pods per second"


def left_out(why: object) -> str:
    return f"left out: {why}"


def not_done(why: object) -> str:
    return f"not done: {why}"


def times_threshold(times: float, threshold: float) -> str:
    return f", {times:,.1f} times the threshold of {threshold:g}"


def pods_per_second(where: str) -> str:
    return f"pods per second, {where}"


def is_left_out(name: str, why: object) -> str:
    return f"{name}: left out: {why}"


def is_not_done(name: str, why: object) -> str:
    return f"{name}: not done: {why}"


def nothing_compared(name: str, counts: object) -> str:
    return f"{name}: its threshold is about {counts}, so nothing is compared"
