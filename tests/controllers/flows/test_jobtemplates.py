"""JobTemplates: their status names the vcjobs that were made of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vsched import api
from vsched.api.resources import VCJOB
from vsched.controllers.flows.jobtemplates import LISTED_MAX, TemplateRecord, job_template_of, template_status
from vsched.controllers.flows.made import MadeJob, made_job_of

Obj = dict[str, Any]


def template(**status: Any) -> TemplateRecord:
    body = {"metadata": {"name": "a", "namespace": "x", "uid": "u"}, "spec": {"queue": "q"}, "status": status}
    found = job_template_of(api.decode("JobTemplate", msgspec.json.encode(body)))
    assert found is not None
    return found


def made(name: str, created: float = 1.0) -> MadeJob:
    return MadeJob("x", name, f"uid-{name}", "JobFlow x/f", "f", created=created, template="x/a")


@pytest.mark.parametrize(
    ("before", "jobs", "wanted"),
    [
        pytest.param({}, [], None, id="nothing was made"),
        pytest.param({}, [made("f-a")], {"jobDependsOnList": ["f-a"]}, id="one was made"),
        pytest.param(
            {"jobDependsOnList": ["f-a"]},
            [made("g-a", 2.0), made("f-a", 1.0)],
            {"jobDependsOnList": ["f-a", "g-a"]},
            id="two JobFlows use it: the oldest vcjob comes first",
        ),
        pytest.param({"jobDependsOnList": ["f-a"]}, [made("f-a")], None, id="it is written already"),
        pytest.param({"jobDependsOnList": ["f-a"], "more": 1}, [], {"more": 1}, id="all are gone, other fields stay"),
    ],
)
def test_the_status_names_the_vcjobs_that_are_there(before: Obj, jobs: list[MadeJob], wanted: Obj | None) -> None:
    assert template_status(template(**before), jobs) == wanted


def test_the_status_names_the_newest_of_too_many() -> None:
    jobs = [made(f"j{number}", float(number)) for number in range(LISTED_MAX + 1)]
    names = (template_status(template(), jobs) or {})["jobDependsOnList"]
    assert (len(names), names[0], names[-1]) == (LISTED_MAX, "j1", f"j{LISTED_MAX}")


@pytest.mark.parametrize(
    ("label", "owner", "wanted"),
    [
        pytest.param("x.a", "JobFlow", "x/a", id="as JobFlows label it"),
        pytest.param("x.a.b", "JobFlow", "x/a.b", id="names have dots"),
        pytest.param("y.a", "JobFlow", "", id="a template of another namespace"),
        pytest.param("", "JobFlow", "", id="no label"),
        pytest.param("x.a", "CronJob", "", id="CronJobs have no JobTemplate"),
    ],
)
def test_of_which_template_a_vcjob_was_made(label: str, owner: str, wanted: str) -> None:
    group = "flow" if owner == "JobFlow" else "batch"
    reference = {"apiVersion": f"{group}.volcano.sh/v1alpha1", "kind": owner, "name": "f", "uid": "1"}
    metadata = {
        "name": "f-a",
        "namespace": "x",
        "uid": "u",
        "labels": {"volcano.sh/createdByJobTemplate": label},
        "ownerReferences": [{**reference, "controller": True}],
    }
    found = made_job_of(api.decode(VCJOB, msgspec.json.encode({"metadata": metadata, "spec": {}})))
    assert found is not None
    assert found.template == wanted
