"""A file of scheduler_perf (``performance-config.yaml``) to workloads with all their numbers.

What cannot be right is refused with file and line. What vsched does not know, such as an operation of a later version,
leaves out the workloads that use it, and they say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.lab.suites.fields import SuiteFields, Value, read_yaml
from vsched.lab.suites.opcodes import UnknownOperation, read_operation
from vsched.lab.suites.operations import Operation, SuiteThreshold, Workload

THROUGHPUT, AVERAGE = "SchedulingThroughput", "Average"
"""What a threshold is about where the file does not say it."""


def read_suite(path: Path) -> list[Workload]:
    """All workloads of a file; raises BadInput with file and line."""
    cases = Value(path, "", read_yaml(path)).items()
    found = [workload for case in cases for workload in _workloads(case)]
    if not found:
        raise BadInput(words.no_workloads(path))
    return found


class _Case:
    """What all workloads of a test case share."""

    def __init__(self, value: Value) -> None:
        fields = SuiteFields(value)
        self.name = fields.need("name", Value.text)
        self.value = value
        self.folder = value.file.parent
        pods = fields.take("defaultPodTemplatePath", Value.text, "")
        self.pods = self.folder / pods if pods else None
        self.gates = fields.take("featureGates", _gates, dict[str, bool]())
        self.labels = fields.take("labels", Value.texts, ())
        self.selector = fields.take("defaultThresholdMetricSelector", _counts, "")
        self.configuration = fields.take("schedulerConfigPath", Value.text, "")
        fields.take("metricsCollectorConfig", Value.mapping, dict[str, Value]())  # other metrics than the rate
        fields.take("description", Value.text, "")
        self.operations = fields.need("workloadTemplate", Value.items)
        self.workloads = fields.need("workloads", Value.items)
        self.unknown = _unknown(fields)


def _workloads(value: Value) -> Iterator[Workload]:
    case = _Case(value)
    for found in case.workloads:
        yield _workload(case, found)


def _workload(case: _Case, value: Value) -> Workload:
    fields = SuiteFields(value)
    name = fields.need("name", Value.text)
    labels = (*case.labels, *fields.take("labels", Value.texts, ()))
    gates = {**case.gates, **fields.take("featureGates", _gates, dict[str, bool]())}
    params = fields.take("params", Value.mapping, dict[str, Value]())
    counts = fields.take("thresholdMetricSelector", _counts, case.selector)
    threshold = fields.take("threshold", _threshold, 0.0)
    left_out = case.unknown or _unknown(fields)
    operations, used = list[Operation](), set[str]()
    try:
        for at, each in enumerate(case.operations):
            operations.append(read_operation(SuiteFields(each, params), at, case.folder, case.pods, used))
    except UnknownOperation as error:
        left_out = left_out or str(error)
    return Workload(
        case=case.name,
        name=name,
        where=f"{value.file}:{value.line}",
        labels=labels,
        gates=gates,
        threshold=SuiteThreshold(threshold, counts) if threshold else None,
        operations=tuple(operations),
        left_out=left_out,
        notes=tuple(_notes(case, left_out, params, used)),
    )


def _notes(case: _Case, left_out: str, params: Mapping[str, Value], used: set[str]) -> Iterator[str]:
    if case.configuration:
        yield words.configuration_not_used(case.configuration)
    unused = sorted(params.keys() - used)
    if unused and not left_out:
        yield words.not_used(", ".join(unused))


def _unknown(fields: SuiteFields) -> str:
    return next((words.not_known(each.where) for each in fields.rest()), "")


def _gates(value: Value) -> dict[str, bool]:
    return {name: gate.flag() for name, gate in value.mapping().items()}


def _threshold(value: Value) -> float:
    """A number, or one for each topic of a dashboard: then the highest."""
    try:
        return max((each.number() for each in value.mapping().values()), default=0.0)
    except BadInput:
        return value.number()


def _counts(value: Value) -> str:
    """What a threshold is about; empty where that is the average number of pods scheduled in a second."""
    fields = value.mapping()
    name = fields["name"].text() if "name" in fields else THROUGHPUT
    bucket = fields["dataBucket"].text() if "dataBucket" in fields else AVERAGE
    return "" if (name, bucket) == (THROUGHPUT, AVERAGE) else f"{name} ({bucket})"


def chosen(files: Sequence[Path], patterns: Sequence[str], labels: Sequence[str]) -> list[Workload]:
    """The workloads of these files with all of these labels that one of the patterns fits, in the files' order.

    A pattern is about ``CASE/WORKLOAD`` with wildcards; the name of a case stands for all its workloads.
    """
    every = [workload for file in files for workload in read_suite(file)]
    found = [each for each in every if set(labels) <= set(each.labels) and _fits(each, patterns)]
    if not found:
        wanted = " and ".join(
            [f"--workload {pattern}" for pattern in patterns] + [f"--label {label}" for label in labels]
        )
        known = sorted({label for each in every for label in each.labels})
        names = ", ".join(dict.fromkeys(each.case for each in every))
        raise BadInput(words.no_workload(", ".join(map(str, files)), wanted, names, ", ".join(known) or "none"))
    return found


def _fits(workload: Workload, patterns: Sequence[str]) -> bool:
    names = (workload.full_name, workload.case)
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
