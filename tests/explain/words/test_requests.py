"""What explanations say about pods that were asked to end by themselves."""

from __future__ import annotations

import pytest

from tests.support.explained import explained
from tests.support.plans import NOW
from tests.support.taking import taking

PREEMPT = taking("allocate, preempt, backfill", "priority gang-P conformance", "predicates")
assert NOW == 1_800_000_000.0, "08:00:00 UTC"
TEXT = """
    class high 9
    node n1 cpu=1
    job x/old phase=Running
    pods x/old 1 cpu=1 on=n1 askedAgo=60 asked=preempt~for~x/want,~until~2027-01-15T08:10:00Z {answer}
    job x/want class=high phase=Inqueue pods=1 cpu=1 nominated=n1
"""
LATEST = "it is evicted at 08:10:00 UTC (in 10m) if it still runs"


@pytest.mark.parametrize("job", ["x/want", "x/old"], ids=["the job that waits", "the job of the pod"])
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param("", "no answer yet", id="no answer"),
        pytest.param(
            "vsched.io/eviction-expected=2027-01-15T08:00:40Z", "done at 08:00:40 UTC (in 40s)", id="a time to come"
        ),
        pytest.param(
            "vsched.io/eviction-expected=2027-01-15T07:59:40Z", "done at 07:59:40 UTC (due)", id="a time that is over"
        ),
    ],
)
def test_both_jobs_are_told_until_when_a_pod_is_waited_for(answer: str, says: str, job: str) -> None:
    found = explained(TEXT.format(answer=answer), job, PREEMPT)
    assert f"x/old.0 was asked to end for x/want: {says}; {LATEST}" in found.notes
