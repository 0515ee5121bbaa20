"""What has to hold of vcjobs once nothing goes wrong any more."""

from __future__ import annotations

import pytest

from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.vcjobs import unsettled


def vcjob(phase: str, retries: int = 0) -> Obj:
    metadata = {"namespace": "vcjobs", "name": "train", "uid": "1"}
    return {
        "metadata": metadata,
        "spec": {"maxRetry": 3},
        "status": {"state": {"phase": phase}, "retryCount": retries},
    }


def owned(name: str, owner: str = "1", phase: str = "Running") -> Obj:
    metadata = {"namespace": "vcjobs", "name": name, "ownerReferences": [{"uid": owner}]}
    return {"metadata": metadata, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("jobs", "groups", "pods", "told"),
    [
        pytest.param(
            [vcjob("Completed", 3)],
            [owned("train")],
            [owned("train-0", phase="Succeeded")],
            [],
            id="one that is done may keep its PodGroup and pods that ended",
        ),
        pytest.param(
            [vcjob("Restarting")],
            [],
            [],
            [(words.VCJOB_NOT_DONE, "vcjob vcjobs/train is Restarting")],
            id="one that goes on restarting is never done",
        ),
        pytest.param(
            [vcjob("Failed", 4)],
            [],
            [],
            [(words.RETRIED_TOO_OFTEN, "vcjob vcjobs/train restarted 4 times")],
            id="no more restarts than maxRetry",
        ),
        pytest.param(
            [vcjob("Completed")],
            [],
            [owned("train-0")],
            [(words.LEFT_OF_A_VCJOB, "pod vcjobs/train-0 is left")],
            id="no pod of one that is done runs",
        ),
        pytest.param(
            [],
            [owned("train")],
            [owned("train-0", phase="Succeeded")],
            [
                (words.LEFT_OF_A_VCJOB, "PodGroup vcjobs/train is left"),
                (words.LEFT_OF_A_VCJOB, "pod vcjobs/train-0 is left"),
            ],
            id="nothing is left of one that is gone",
        ),
        pytest.param([], [], [], [], id="nothing is there"),
    ],
)
def test_what_is_unsettled(jobs: list[Obj], groups: list[Obj], pods: list[Obj], told: list[tuple[str, str]]) -> None:
    assert list(unsettled(jobs, groups, pods)) == told
