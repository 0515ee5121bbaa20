"""Jobs in pictures, and what they add up to."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, mirror, policy_of
from tests.support.sights import AROUND, JOBS, frozen, of
from vsched.model.jobs.spec import USER, USER_CHARACTERS
from vsched.web.overview import jobs as picture_jobs
from vsched.web.overview.assembly import Most, assemble


def test_jobs_stand_as_the_session_left_them() -> None:
    found = of(JOBS, policy_of("priority gang", "predicates"), positions={"ns/waits": 1})
    rows = found.jobs
    assert set(rows) == {"ns/runs", "ns/starts", "ns/waits", "ns/empty"}
    assert (rows["ns/starts"].ready, rows["ns/starts"].pending, rows["ns/starts"].request) == (2, 0, (0, 0, 0))
    assert (rows["ns/starts"].priority, rows["ns/starts"].reason, rows["ns/starts"].message) == (9, "", "")
    waits = rows["ns/waits"]
    assert (waits.min_member, waits.ready, waits.pending, waits.running) == (3, 0, 3, 0)
    assert (waits.position, waits.request, waits.created) == (1, (6000, 0, 3), NOW - 60.0)
    assert waits.reason
    assert waits.message
    assert rows["ns/empty"].reason
    assert (rows["ns/runs"].running, rows["ns/runs"].position) == (1, None)
    counts = ("jobs_running", "jobs_waiting", "pods_waiting", "jobs_left_out")
    assert [found.counts[name] for name in counts] == [2, 2, 3, 0]


def test_a_job_with_its_minimum_whose_other_pods_wait_runs_and_says_what_they_wait_for() -> None:
    text = "node n1 cpu=2\nqueue q\njob ns/a min=1 queue=q phase=Running\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=8"
    found = of(text, policy_of("gang", "predicates"))
    assert found.counts["jobs_waiting"] == 0
    assert (found.jobs["ns/a"].pending, found.jobs["ns/a"].running) == (1, 1)


def test_a_job_that_lost_pods_waits_for_them_and_says_so() -> None:
    text = "node n1 cpu=9\nqueue q\njob ns/a min=3 queue=q phase=Running\npods ns/a 2 cpu=1 on=n1"
    found = of(text, policy_of("gang", "predicates"))
    row = found.jobs["ns/a"]
    assert (row.phase, row.reason, row.waits) == ("Unknown", "GangIncomplete", True)
    assert (found.counts["jobs_waiting"], found.queues["q"].waiting) == (1, 1)


@pytest.mark.parametrize("word", ["bound", "leaving"])
def test_a_job_is_shown_from_its_binding_to_its_last_pod_whatever_these_are_about_to_do(word: str) -> None:
    text = f"node n1 cpu=9\nqueue q\njob ns/a min=2 queue=q phase=Running\npods ns/a 2 cpu=1 on=n1 {word}"
    found = of(text, policy_of("gang", "predicates"))
    assert (found.jobs["ns/a"].phase, found.jobs["ns/a"].pending, found.jobs["ns/a"].running) == ("Running", 0, 0)
    assert found.queues["q"].jobs == 1


@pytest.mark.parametrize(
    ("annotation", "label", "user"),
    [
        pytest.param("ada", "bob", "ada", id="what the PodGroup says goes before what pods say"),
        pytest.param("", "bob", "bob", id="else the label of its pods"),
        pytest.param("", "", "", id="else nobody is known"),
        pytest.param("a" * 100, "", "a" * USER_CHARACTERS, id="a long name is cut"),
    ],
)
def test_whose_a_job_is(annotation: str, label: str, user: str) -> None:
    said = {USER: annotation} if annotation else {}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "a", "namespace": "ns", "annotations": said},
        "spec": {"minMember": 1, "queue": "default"},
    }
    labels = {USER: label} if label else {}
    member = {"name": "a-0", "namespace": "ns", "labels": labels, "annotations": {"scheduling.k8s.io/group-name": "a"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": member, "spec": {"schedulerName": "vsched", "containers": []}}
    job = mirror([group, pod]).snapshot(NOW).jobs["ns/a"]
    assert job.user == user
    assert picture_jobs.job_row(job, None, None, ()).user == user


def test_the_list_is_bounded_and_keeps_those_that_wait() -> None:
    around = AROUND._replace(positions={"ns/waits": 2, "ns/empty": 1})
    found = assemble(frozen(JOBS, policy_of("priority gang", "predicates")), around, most=Most(jobs=2))
    assert "ns/waits" in found.jobs
    assert len(found.jobs) == 2
    assert found.counts["jobs_left_out"] == 2
    assert found.queues["q"].jobs == 4
