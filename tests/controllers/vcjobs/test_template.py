"""Pod templates: what has not the shape that is read is named, and all else becomes pods."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.vcjobs import vcjob
from vsched.controllers.vcjobs.objects import content_key, objects_of
from vsched.controllers.vcjobs.plugins import PLUGINS, KeyPair
from vsched.controllers.vcjobs.pods import pod_of
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob, VcjobVolume
from vsched.controllers.vcjobs.template import template_problem

ALL: dict[str, tuple[str, ...]] = dict.fromkeys(PLUGINS, ())
AT = "spec.tasks[0].template"


def job_with(template: dict[str, Any]) -> VcJob:
    """A job of one task with every plugin and a volume."""
    return vcjob(TaskSpec("master", 2, 2, template), plugins=ALL, volumes=(VcjobVolume("/d", "c"),))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param({}, "spec.containers: none (expected at least one)", id="no spec"),
        pytest.param({"spec": None}, "spec.containers: none (expected at least one)", id="an empty spec"),
        pytest.param({"spec": {"containers": []}}, "spec.containers: none (expected at least one)", id="no containers"),
        pytest.param({"spec": "x"}, 'spec: must be an object, is "x"', id="a spec that is no object"),
        pytest.param(
            {"spec": {"containers": ["x"]}}, 'spec.containers[0]: must be an object, is "x"', id="a container"
        ),
        pytest.param(
            {"spec": {"containers": [{"env": {"A": "1"}}]}},
            "spec.containers[0].env: must be a list, is an object",
            id="variables that are no list",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{}]}},
            "metadata.labels[...]: must be a string, is an integer",
            id="a label that is no text",
        ),
        pytest.param(
            {"spec": {"containers": [{}], "hostname": 5}},
            "spec.hostname: must be a string, is 5",
            id="a host name",
        ),
    ],
)
def test_a_field_of_another_type_is_named(template: dict[str, Any], expected: str) -> None:
    assert template_problem(template, AT) == f"{AT}.{expected}"


@pytest.mark.parametrize("empty", [pytest.param("null", id="null"), pytest.param("[]", id="no entries")])
def test_lists_that_are_empty_are_added_to(empty: str) -> None:
    container = {"name": "c"} | {field: json.loads(empty) for field in ("env", "ports", "volumeMounts")}
    spec = {"containers": [container], "initContainers": json.loads(empty), "volumes": json.loads(empty)}
    template = {"metadata": {"labels": None, "annotations": None}, "spec": spec}
    assert template_problem(template, AT) == ""
    job = job_with(template)
    (made,) = pod_of(job, job.tasks[0], 1)["spec"]["containers"]
    assert {"VC_TASK_INDEX", "RANK", "TF_CONFIG"} <= {each["name"] for each in made["env"]}
    assert [each["mountPath"] for each in made["volumeMounts"]] == ["/d", "/etc/volcano", "/root/.ssh"]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1) | st.sampled_from(("", "x", "master")),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(("name", "env", "RANK")), inner, max_size=2)
    ),
    max_leaves=4,
)


def either(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly as it should be, at times anything."""
    return st.one_of(strategy, strategy, strategy, JUNK)


NAMED = st.lists(st.dictionaries(st.sampled_from(("name", "value", "containerPort")), JUNK, max_size=2), max_size=2)
CONTAINER = st.fixed_dictionaries(
    {},
    optional={
        "name": either(st.just("head")),
        "env": either(NAMED),
        "ports": either(NAMED),
        "volumeMounts": either(NAMED),
    },
)
SPEC = st.fixed_dictionaries(
    {"containers": either(st.lists(either(CONTAINER), min_size=1, max_size=2))},
    optional={
        "initContainers": either(st.lists(CONTAINER, max_size=1)),
        "volumes": either(NAMED),
        "hostname": either(st.just("h")),
        "subdomain": either(st.just("s")),
        "schedulerName": either(st.just("mine")),
    },
)
LABELS = st.dictionaries(st.sampled_from(("a", "b")), st.just("1"))
METADATA = st.fixed_dictionaries({}, optional={"labels": either(LABELS), "annotations": either(LABELS)})


@given(st.fixed_dictionaries({"spec": either(SPEC)}, optional={"metadata": either(METADATA)}))
def test_a_template_has_a_problem_or_makes_pods(template: dict[str, Any]) -> None:
    if template_problem(template, AT):
        return
    job = job_with(template)
    for index in range(2):
        assert pod_of(job, job.tasks[0], index)["metadata"]["name"] == f"train-master-{index}"
    assert objects_of(job, KeyPair("", ""))
    assert content_key(job)
