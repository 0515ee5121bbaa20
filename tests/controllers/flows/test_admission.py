"""What is refused of a new CronJob, JobFlow and JobTemplate: each problem is one line that names the field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.controllers.vcjobs.manifests import worker
from vsched import api
from vsched.controllers.flows import words as flows_words
from vsched.controllers.flows.admission import maker_refusals
from vsched.controllers.vcjobs import words as vcjobs_words

Obj = dict[str, Any]
TEMPLATE = {"spec": {"tasks": [worker()]}}


def refused(kind: type[Any], spec: Any, name: str = "nightly") -> list[str]:
    body = {"metadata": {"name": name, "namespace": "ml"}, "spec": spec}
    return maker_refusals(msgspec.json.decode(msgspec.json.encode(body), type=kind), ("vsched",))


def cron(**fields: Any) -> Obj:
    return {"schedule": "0 3 * * *", "jobTemplate": TEMPLATE, **fields}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(cron(), [], id="a good one"),
        pytest.param(cron(timeZone="Europe/Berlin"), [], id="a time zone"),
        pytest.param(
            cron(timeZone=""),
            [flows_words.NO_TIME_ZONE],
            id="an empty zone",
        ),
        pytest.param(
            cron(timeZone="Local"),
            [flows_words.unknown_time_zone("Local")],
            id="a zone that each machine understands in its own way",
        ),
        pytest.param(
            cron(jobTemplate={"spec": {"tasks": [worker(minAvailable=2)], "maxRetry": -1}}),
            [
                vcjobs_words.too_small("spec.jobTemplate.spec.maxRetry", -1, 0),
                f"spec.jobTemplate.{vcjobs_words.minimum_above_total(2, vcjobs_words.replicas_of_all_tasks(1))}",
                vcjobs_words.minimum_above_replicas("spec.jobTemplate.spec.tasks[0]", 2, 1),
            ],
            id="a template that cannot be run",
        ),
        pytest.param(
            cron(jobTemplate={}),
            [f"spec.jobTemplate.{vcjobs_words.NO_TASKS}"],
            id="no template",
        ),
        pytest.param(
            cron(jobTemplate={"spec": {"schedulerName": "other", "plugins": {"theirs": []}, "tasks": [worker()]}}),
            [],
            id="a template for another scheduler",
        ),
    ],
)
def test_cron_jobs(spec: Obj, expected: list[str]) -> None:
    assert refused(api.VolcanoCronJob, spec) == expected


@pytest.mark.parametrize("schedule", ["", "every night", "TZ=Europe/Berlin 0 3 * * *", "0 25 * * *"])
def test_schedules_that_cannot_be_followed(schedule: str) -> None:
    (problem,) = refused(api.VolcanoCronJob, cron(schedule=schedule))
    assert problem.startswith(f"spec.schedule: {schedule!r}: ")


def test_names_that_leave_no_room_for_those_of_vcjobs() -> None:
    assert refused(api.VolcanoCronJob, cron(), "n" * 53)[0] == flows_words.long_name(53, 52)


def test_names_that_leave_no_room_for_those_of_pods() -> None:
    pod = f"{'n' * 50}-00000000-worker-0"
    assert refused(api.VolcanoCronJob, cron(), "n" * 50) == [
        vcjobs_words.long_pod_name("spec.jobTemplate.spec.tasks[0]", pod, 68, 63)
    ]


@pytest.mark.parametrize(
    ("flows", "expected"),
    [
        pytest.param([{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}], [], id="one after the other"),
        pytest.param(
            [{"name": "a", "dependsOn": {"targets": ["c"]}}],
            [flows_words.no_other_flow("spec.flows[0]", "c")],
            id="an unknown target",
        ),
        pytest.param(
            [{"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b", "dependsOn": {"targets": ["a"]}}],
            [flows_words.depend_on_each_other("a -> b -> a")],
            id="a circle",
        ),
    ],
)
def test_job_flows(flows: list[Obj], expected: list[str]) -> None:
    assert refused(api.JobFlow, {"flows": flows}) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(TEMPLATE["spec"], [], id="a good one"),
        pytest.param({"tasks": []}, [vcjobs_words.NO_TASKS], id="no tasks"),
        pytest.param(
            {"tasks": "two"},
            ['spec: Job.batch.volcano.sh ml/nightly: spec.tasks: must be a list, is "two"'],
            id="another type",
        ),
    ],
)
def test_job_templates(spec: Obj, expected: list[str]) -> None:
    assert refused(api.JobTemplate, spec) == expected
