"""Names under which it is remembered how long work ran."""

from __future__ import annotations

import pytest

from vsched.model.jobs.durations import stem


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("train", "train", id="a plain name"),
        pytest.param("train-7", "train", id="a number"),
        pytest.param("train-2024-7", "train", id="two of them"),
        pytest.param("train-5f3c1a2b-1234-4abc-9def-0123456789ab", "train", id="a uid, as PodGroups of jobs have"),
        pytest.param("nightly-28912340-x7k2p", "nightly", id="a pod of a CronJob"),
        pytest.param("train-model", "train-model", id="a word with vowels"),
        pytest.param("17", "17", id="nothing but a number"),
        pytest.param("-17", "-17", id="a number behind nothing"),
    ],
)
def test_what_sets_runs_apart_is_left_out(name: str, expected: str) -> None:
    assert stem(name) == expected
