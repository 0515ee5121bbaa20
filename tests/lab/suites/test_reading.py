"""Files of scheduler_perf: what they say, what is refused with its line, and what leaves a workload out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.suites import BASIC, suite_of, workload_of
from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.lab.suites.operations import (
    Barrier,
    Churn,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    DeletePods,
    Operation,
    Sleep,
    SuiteThreshold,
    Workload,
)
from vsched.lab.suites.reading import chosen, read_suite


def only(folder: Path, text: str) -> Workload:
    [found] = read_suite(suite_of(folder, text))
    return found


def test_numbers_are_filled_in_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    found = only(tmp_path, BASIC)
    assert found.full_name == "Basic/small"
    assert found.labels == ("short",)
    assert found.threshold == SuiteThreshold(1.0)
    assert found.operations == (
        CreateNodes(count=2, template=tmp_path / "node.yaml"),
        CreatePods(namespace="namespace-1", count=3, template=tmp_path / "pod.yaml", measured=True),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{opcode: sleep, duration: 1500ms}", Sleep(seconds=1.5), id="sleep"),
        pytest.param("{opcode: sleep, durationParam: $long}", Sleep(seconds=60.0), id="a duration by parameter"),
        pytest.param(
            "{opcode: createNodes, count: 3, labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}}",
            CreateNodes(count=3, label="zone", values=("a", "b")),
            id="labels in turn",
        ),
        pytest.param(
            "{opcode: createNodes, count: 3, uniqueNodeLabelStrategy: {labelKey: rack}}",
            CreateNodes(count=3, label="rack"),
            id="a label of its own for each node",
        ),
        pytest.param(
            "{opcode: createNodes, count: 1, nodeAllocatableStrategy: {nodeAllocatable: {a.io/x: '2'},"
            " csiNodeAllocatable: {d.io: {count: 7}}, migratedPlugins: [kubernetes.io/d]}}",
            CreateNodes(count=1, allocatable={"a.io/x": "2"}, attachable={"d.io": 7}, migrated=("kubernetes.io/d",)),
            id="amounts besides the template's",
        ),
        pytest.param(
            "{opcode: barrier, namespaces: [a], stageRequirement: Attempted, labelSelector: {x: y}}",
            Barrier(namespaces=("a",), labels={"x": "y"}, attempted=True),
            id="a barrier that is content with an attempt",
        ),
        pytest.param(
            "{opcode: deletePods, namespace: a, deletePodsPerSecond: 50, skipWaitToCompletion: true}",
            DeletePods(namespace="a", per_second=50.0, waits=False),
            id="pods deleted at a rate",
        ),
        pytest.param(
            "{opcode: churn, mode: create, number: 3, templatePaths: [a.yaml], intervalMilliseconds: 200}",
            Churn(namespace="namespace-0", templates=(Path("a.yaml"),), seconds=0.2, most=3),
            id="churn that ends after so many times",
        ),
        pytest.param(
            "{opcode: churn, mode: recreate, number: 3, templatePaths: [a.yaml]}",
            Churn(namespace="namespace-0", templates=(Path("a.yaml"),), seconds=0.5, kept=3),
            id="churn that replaces the oldest",
        ),
        pytest.param(
            "{opcode: createPodSets, count: 2, namespacePrefix: init, createPodsOp: {opcode: createPods, count: 4}}",
            CreatePodSets(
                count=2, prefix="init", pods=CreatePods(namespace="namespace-0", count=4, template=Path("pod.yaml"))
            ),
            id="sets of pods",
        ),
        pytest.param(
            "{opcode: createPods, count: 4, steadyState: true, duration: 10s}",
            CreatePods(namespace="namespace-0", count=4, template=Path("pod.yaml"), steady_seconds=10.0),
            id="a steady state",
        ),
        pytest.param(
            "{opcode: createPods, count: 4, steadyState: false, duration: 10s}",
            CreatePods(namespace="namespace-0", count=4, template=Path("pod.yaml")),
            id="no steady state, whatever the duration",
        ),
    ],
)
def test_operations(tmp_path: Path, text: str, expected: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workloads = "[{name: a, params: {long: 1m}}]"
    case = f"name: A, defaultPodTemplatePath: pod.yaml, workloadTemplate: [{text}], workloads: {workloads}"
    suite_of(Path(), f"- {{{case}}}")
    [found] = read_suite(Path("performance-config.yaml"))
    assert found.operations == (expected,)
    assert found.left_out == ""


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(
            "$nodes", "$many", "5: [0].workloadTemplate[0].countParam is '$many'", id="a parameter nobody gives"
        ),
        pytest.param(
            "nodes: 2", "nodes: two", "11: [0].workloads[0].params.nodes is 'two'", id="a number that is none"
        ),
        pytest.param("nodes: 2", "nodes: -2", "'-2': expected a whole number of at least 0", id="a negative number"),
        pytest.param(
            "collectMetrics: true", "collectMetrics: 7", "6: [0].workloadTemplate[1].collectMetrics", id="a flag"
        ),
        pytest.param("threshold: 1", "threshold: high", "10: [0].workloads[0].threshold is 'high'", id="a threshold"),
        pytest.param("opcode: createPods, ", "", words.missing("6: [0].workloadTemplate[1]", "opcode"), id="no opcode"),
        pytest.param("- name: Basic", "- title: Basic", words.missing("2: [0]", "name"), id="no name"),
        pytest.param(
            "labels: [short]", "labels: short", "9: [0].workloads[0].labels is 'short': expected a list", id="a list"
        ),
        pytest.param("    threshold: 1", "    threshold: 1\n    threshold: 2", "the same key twice", id="a key twice"),
        pytest.param("params: {", "params: {{", "not YAML", id="no YAML"),
        pytest.param("pod.yaml", "", "3: ", id="an empty path"),
    ],
)
def test_what_cannot_be_right_is_refused_with_file_and_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in BASIC
    path = suite_of(tmp_path, BASIC.replace(before, after, 1))
    with pytest.raises(BadInput) as caught:
        read_suite(path)
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "empty (expected a list of test cases)", id="an empty file"),
        pytest.param("[]", "no workloads", id="no test case"),
        pytest.param("a: 1", "expected a list", id="no list"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match="performance-config") as caught:
        read_suite(suite_of(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing\.yaml: cannot be read"):
        read_suite(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        pytest.param("- {opcode: createPodGroups, count: 1}", ":4: Case", id="an operation"),
        pytest.param("- {opcode: sleep, duration: 1s, until: noon}", "this field of sleep", id="a field"),
        pytest.param(
            "- {opcode: createNodes, labelNodePrepareStrategy: {labelKey: a, order: b}}", "order", id="deeper"
        ),
    ],
)
def test_what_is_not_known_leaves_the_workload_out_and_is_said(tmp_path: Path, operation: str, reason: str) -> None:
    found = workload_of(tmp_path, operation)
    assert reason.replace(":4: Case", "the operation createPodGroups is not known here") in found.left_out
    assert found.left_out.startswith(f"{tmp_path / 'performance-config.yaml'}:4: ")


def test_other_workloads_of_the_file_are_read(tmp_path: Path) -> None:
    other = "- {name: New, workloadTemplate: [{opcode: fly}], workloads: [{name: one}]}\n"
    assert [bool(each.left_out) for each in read_suite(suite_of(tmp_path, BASIC + other))] == [False, True]


def test_a_threshold_by_topic_is_its_highest_number(tmp_path: Path) -> None:
    found = only(tmp_path, BASIC.replace("threshold: 1", "threshold: {a: 40, b: 56}"))
    assert found.threshold == SuiteThreshold(56.0)


def test_a_threshold_about_something_else_says_so(tmp_path: Path) -> None:
    selector = "thresholdMetricSelector: {name: scheduler_attempt_duration, dataBucket: Perc99}"
    found = only(tmp_path, BASIC.replace("threshold: 1", f"threshold: 1\n    {selector}"))
    assert found.threshold == SuiteThreshold(1.0, "scheduler_attempt_duration (Perc99)")
    usual = "thresholdMetricSelector: {name: SchedulingThroughput, dataBucket: Average}"
    assert only(tmp_path, BASIC.replace("threshold: 1", f"threshold: 1\n    {usual}")).threshold == SuiteThreshold(1.0)


def test_what_is_passed_over_is_said(tmp_path: Path) -> None:
    text = BASIC.replace("pods: 3}", "pods: 3, colours: 7}").replace(
        "- name: Basic", "- name: Basic\n  schedulerConfigPath: x.yaml"
    )
    notes = only(tmp_path, text).notes
    assert notes == (words.configuration_not_used("x.yaml"), words.not_used("colours"))


def test_feature_gates_of_case_and_workload_are_kept(tmp_path: Path) -> None:
    text = BASIC.replace("- name: Basic", "- name: Basic\n  featureGates: {A: true, B: true}")
    found = only(tmp_path, text.replace("labels: [short]", "labels: [short]\n    featureGates: {B: false}"))
    assert found.gates == {"A": True, "B": False}


# -- which workloads

SEVERAL = """
- name: First
  workloadTemplate: [{opcode: sleep, duration: 1s}]
  workloads:
  - {name: 5Nodes, labels: [short]}
  - {name: 500Nodes, labels: [performance]}
- name: Second
  workloadTemplate: [{opcode: sleep, duration: 1s}]
  workloads:
  - {name: 5Nodes, labels: [short, performance]}
"""


@pytest.mark.parametrize(
    ("patterns", "labels", "expected"),
    [
        pytest.param((), (), ["First/5Nodes", "First/500Nodes", "Second/5Nodes"], id="all"),
        pytest.param(("First",), (), ["First/5Nodes", "First/500Nodes"], id="a case"),
        pytest.param(("*/5Nodes",), (), ["First/5Nodes", "Second/5Nodes"], id="wildcards"),
        pytest.param(("First/500*", "Second"), (), ["First/500Nodes", "Second/5Nodes"], id="either pattern"),
        pytest.param((), ("short", "performance"), ["Second/5Nodes"], id="both labels"),
        pytest.param(("First",), ("performance",), ["First/500Nodes"], id="a pattern and a label"),
    ],
)
def test_workloads_are_chosen(
    tmp_path: Path, patterns: tuple[str, ...], labels: tuple[str, ...], expected: list[str]
) -> None:
    found = chosen([suite_of(tmp_path, SEVERAL)], patterns, labels)
    assert [each.full_name for each in found] == expected


def test_a_choice_of_nothing_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        chosen([suite_of(tmp_path, SEVERAL)], ["Third"], ["long"])
    message = str(caught.value)
    assert "no workload fits --workload Third and --label long" in message
    assert "First, Second, and of the labels performance, short" in message
