"""The built-in table of workload kinds: what each kind's fields make of its gangs; and files of people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.operators import Obj, Seen, made_of, sample
from vsched.errors import BadInput
from vsched.settings.words import files as words
from vsched.settings.workloads import built_in_table, load_table

Gangs = dict[str, tuple[int, dict[str, int]]]


def gangs_of(name: str, edit: Callable[[Obj], Any]) -> Gangs:
    """The gangs of what an operator makes of an edited sample."""
    obj = sample(name)
    edit(obj)
    seen = Seen()
    seen.tell(obj, *made_of(obj))
    return {key: found[:2] for key, found in seen.gangs().items()}


@pytest.mark.parametrize(
    ("name", "edit", "gangs"),
    [
        pytest.param(
            "jobset",
            lambda obj: obj["spec"].update(startupPolicy={"startupPolicyOrder": "InOrder"}),
            {"jobset-train-driver": (1, {}), "jobset-train-worker": (4, {})},
            id="replicated jobs that are made in order are gangs one by one",
        ),
        pytest.param(
            "jobset",
            lambda obj: obj["spec"]["replicatedJobs"][1].update(dependsOn=[{"name": "driver", "status": "Ready"}]),
            {"jobset-train-driver": (1, {}), "jobset-train-worker": (4, {})},
            id="and so are those that depend on others",
        ),
        pytest.param(
            "jobset",
            lambda obj: obj["spec"]["replicatedJobs"][1]["template"]["spec"].update(completions=1),
            {"jobset-train": (3, {"driver": 1, "worker": 2})},
            id="a Job never has more pods than completions",
        ),
        pytest.param(
            "leaderworkerset",
            lambda obj: obj["spec"].update(startupPolicy="LeaderReady"),
            {"leaderworkerset-llm-0": (1, {"leader": 1}), "leaderworkerset-llm-1": (1, {"leader": 1})},
            id="workers that are made after their leader is ready do not start with it",
        ),
        pytest.param(
            "pytorchjob",
            lambda obj: obj["spec"].update(elasticPolicy={"minReplicas": 2}),
            {"pytorchjob-bert": (3, {"master": 1, "worker": 2})},
            id="an elastic job starts with its minimum",
        ),
        pytest.param(
            "pytorchjob",
            lambda obj: obj["spec"]["runPolicy"]["schedulingPolicy"].update(minAvailable=2),
            {"pytorchjob-bert": (2, {})},
            id="a smaller minimum for all counts instead of those of roles",
        ),
        pytest.param(
            "pytorchjob",
            lambda obj: obj["spec"]["runPolicy"]["schedulingPolicy"].update(minAvailable=4),
            {"pytorchjob-bert": (4, {"master": 1, "worker": 3})},
            id="one that is large enough counts besides them",
        ),
        pytest.param(
            "mpijob",
            lambda obj: obj["spec"].update(launcherCreationPolicy="WaitForWorkersReady"),
            {"mpijob-pi": (3, {"worker": 3})},
            id="a launcher that waits for its workers does not start with them",
        ),
        pytest.param(
            "raycluster",
            lambda obj: obj["spec"]["workerGroupSpecs"][0].update(minReplicas=0),
            {"raycluster-lab": (1, {"head": 1})},
            id="a cluster that grows from nothing starts with its head",
        ),
        pytest.param(
            "raycluster",
            lambda obj: (
                obj["spec"].update(enableInTreeAutoscaling=False),
                obj["spec"]["workerGroupSpecs"][0].update(minReplicas=0),
            ),
            {"raycluster-lab": (5, {"head": 1, "small": 4})},
            id="a cluster that does not grow starts with all workers",
        ),
        pytest.param(
            "raycluster",
            lambda obj: obj["spec"]["workerGroupSpecs"][0].update(numOfHosts=2),
            {"raycluster-lab": (5, {"head": 1, "small": 4})},
            id="a replica on two hosts is two pods",
        ),
        pytest.param(
            "raycluster",
            lambda obj: obj["spec"]["workerGroupSpecs"][0].update(suspend=True),
            {"raycluster-lab": (1, {"head": 1})},
            id="a group that is suspended has no pods",
        ),
        pytest.param(
            "sparkapplication",
            lambda obj: obj["spec"].pop("dynamicAllocation"),
            {"sparkapplication-etl-driver": (1, {}), "sparkapplication-etl-executor": (3, {})},
            id="executors that do not grow start together",
        ),
        pytest.param(
            "statefulset",
            lambda obj: obj["spec"].pop("podManagementPolicy"),
            {"statefulset-ring": (1, {})},
            id="pods that are made one after another cannot start together",
        ),
        pytest.param(
            "job",
            lambda obj: obj["spec"].update(completions=3),
            {"job-sweep": (3, {})},
            id="a Job is a gang of as many pods as it still needs",
        ),
        pytest.param(
            "podgang",
            lambda obj: obj["metadata"].update(annotations={"scheduling.volcano.sh/group-min-member": "1"}),
            {"podgang-chat-0": (1, {})},
            id="an annotation of the owner counts instead of the table",
        ),
    ],
)
def test_what_the_fields_of_a_kind_say(name: str, edit: Callable[[Obj], Any], gangs: Gangs) -> None:
    assert gangs_of(name, edit) == gangs


def test_the_priority_class_is_that_of_the_owner() -> None:
    obj = sample("pytorchjob")
    obj["spec"]["runPolicy"]["schedulingPolicy"]["priorityClass"] = "urgent"
    seen = Seen()
    seen.tell(obj, *made_of(obj))
    assert seen.jobs()["pytorchjob-bert"].priority_class == "urgent"


def test_without_a_file_the_built_in_table_counts() -> None:
    assert load_table(None) is built_in_table()
    assert len(built_in_table().kinds) == len(built_in_table().by_id) > 15


def test_a_file_is_read_with_the_built_in_kinds_around_it(tmp_path: Path) -> None:
    path = tmp_path / "workloads.yaml"
    path.write_text("workloads: [{apiVersions: [ray.io/v1], kind: RayCluster}]\n")
    table = load_table(path)
    assert not table.by_id["RayCluster.ray.io"].forms_gangs
    assert table.by_id["JobSet.jobset.x-k8s.io"] == built_in_table().by_id["JobSet.jobset.x-k8s.io"]
    path.write_text("")
    assert load_table(path).kinds == built_in_table().kinds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("\nworkloads: [}", "{path}:2: not YAML: ", id="no YAML"),
        pytest.param("workloads: {}", "{path}:1: workloads: must be a list, is an object", id="no list"),
        pytest.param(
            "\nworkloads:\n  - apiVersions: [a.b/v1]\n    kind: Thing\n    roles:\n      - each: spec..x\n",
            "{path}:6: workloads[0].roles[0].each: 'spec..x' is no path",
            id="a path that is none, with its line",
        ),
        pytest.param(
            "workloads:\n  - apiVersions: [a.b/v1]\n    kind: Thing\n    rolls: []\n",
            "{path}:2: workloads[0]: object contains unknown field rolls",
            id="an unknown field, with the line of its entry",
        ),
        pytest.param("[" * 2000, words.nested_too_deeply("{path}"), id="too deep"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "workloads.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        load_table(path)
    assert str(caught.value).startswith(message.format(path=path))
    assert "\n" not in str(caught.value)
