"""What is told of jobs over HTTP, where it is more than the mirror knows."""

from __future__ import annotations

from tests.support.small import SmallCluster
from vsched.model.plan import JobOutcome
from vsched.web.findings import Findings
from vsched.web.pages.views import jobs


def test_a_job_that_is_over_keeps_its_counts_when_its_pods_are_cleaned_away() -> None:
    cluster = SmallCluster().node("n1")
    job = cluster.job("g", 0, min_member=2, phase="Completed")
    found = Findings()
    found.snapshot = cluster.snapshot()
    found.jobs[job.key] = JobOutcome(job.key, "default", "Completed", 2, 0, 0, 0, 2, 1)
    told = dict(jobs(found))[job.key]
    assert (told["phase"], told["succeeded"], told["failed"], told["ready"]) == ("Completed", 2, 1, 0)
