"""Annotations of queues that limit the jobs in them: what they come to, and what is remarked where they are wrong."""

from __future__ import annotations

import pytest

from tests.mirror.watch import Watch
from tests.support import builders as make
from vsched.mirror.ingest.queues import job_limits_of
from vsched.mirror.ingest.words import groups as groups_words
from vsched.model.queues.queue import QueueJobLimits

JOBS, PER_USER = "vsched.io/max-running-jobs", "vsched.io/max-running-jobs-per-user"
MOST = "vsched.io/max-wall-time"


LENGTH = f"{groups_words.LENGTH_ABOVE_ZERO} 30s or 1h30m"


@pytest.mark.parametrize(
    ("annotations", "limits", "remarks"),
    [
        pytest.param({}, QueueJobLimits(), [], id="nothing said"),
        pytest.param({JOBS: "4", PER_USER: "2"}, QueueJobLimits(4, 2), [], id="numbers of jobs"),
        pytest.param({JOBS: "0"}, QueueJobLimits(0), [], id="none may run"),
        *(
            pytest.param(
                {JOBS: text, PER_USER: "2"},
                QueueJobLimits(None, 2),
                [f"metadata.annotations[{JOBS}]: {text!r} (expected {groups_words.NUMBER_OF_JOBS}): ignored"],
                id=f"{text!r} is passed over, and the rest counts",
            )
            for text in ("many", "-1", "1.5", "", "9999999999")
        ),
    ],
)
def test_limits(annotations: dict[str, str], limits: QueueJobLimits, remarks: list[str]) -> None:
    told: list[str] = []

    assert job_limits_of(annotations, told) == limits
    assert told == remarks


def test_a_queue_with_a_bad_annotation_stays_in_and_is_told() -> None:
    watch = Watch()
    watch.tell(make.queue("q", metadata={"annotations": {JOBS: "many"}}))

    (found,) = watch.cache.blemished.values()
    assert "metadata.annotations[vsched.io/max-running-jobs]: 'many' (expected a number of jobs" in found.message
    assert not found.left_out


@pytest.mark.parametrize(
    ("text", "seconds", "remarks"),
    [
        pytest.param("1h30m", 5400.0, [], id="a length of time"),
        *(
            pytest.param(
                text,
                None,
                [f"metadata.annotations[{MOST}]: {text!r} (expected {LENGTH}): ignored"],
                id=f"{text!r} is passed over",
            )
            for text in ("soon", "0s", "-1h")
        ),
    ],
)
def test_wall_times(text: str, seconds: float | None, remarks: list[str]) -> None:
    told: list[str] = []

    assert job_limits_of({MOST: text}, told) == QueueJobLimits(wall_time=seconds)
    assert told == remarks
