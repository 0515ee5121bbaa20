"""What the records of daemons have to say in the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.records import untrue_records
from vsched.record.folder import WorkFolder, segments_of
from vsched.record.lines import AnyLine, Began, Complete, JobThere, PodBound, PodEnded, PodThere
from vsched.record.names import TraceNames

POD, JOB = TraceNames().id("u"), "job"
THERE: tuple[AnyLine, ...] = (
    JobThere(at=1.0, id=JOB, namespace="ns", name="g", queue="q"),
    PodThere(at=1.0, id=POD, job=JOB),
    PodBound(at=1.0, id=POD, node="n1"),
)


def pod(node: str = "n1", **status: Any) -> Obj:
    return {"metadata": {"namespace": "ns", "name": "p", "uid": "u"}, "spec": {"nodeName": node}, "status": status}


def recorded(folder: Path, *segments: Sequence[AnyLine], after: float = 0.0) -> list[Path]:
    work = WorkFolder(folder, 1 << 30)
    for number, lines in enumerate(segments, 1):
        at = float(number)
        work.begin(at, [Began(at=at, after=after if number > 1 else 0.0), *lines, Complete(at=at)])
    work.close()
    return segments_of(folder)


@pytest.mark.parametrize(
    ("lines", "pods", "told"),
    [
        pytest.param(THERE, [pod()], [], id="what is there"),
        pytest.param((), [pod("")], [], id="who waits may be said later"),
        pytest.param((), [pod()], [words.recorded("ns/p", "", "n1")], id="a pod that is missing"),
        pytest.param(THERE, [pod("n2")], [words.recorded("ns/p", "n1", "n2")], id="a pod elsewhere"),
        pytest.param(THERE, [], [words.still_recorded(JOB, POD)], id="a pod that is gone"),
        pytest.param((*THERE, PodEnded(at=2.0, id=POD, how="deleted")), [], [], id="one that is told to be gone"),
    ],
)
def test_what_is_there(tmp_path: Path, lines: Sequence[AnyLine], pods: list[Obj], told: list[str]) -> None:
    recorded(tmp_path, lines)
    assert list(untrue_records([tmp_path, tmp_path / "unused"], (), pods)) == told


@pytest.mark.parametrize(("after", "hides"), [(0.5, False), (0.0, True)], ids=["a gap", "no gap"])
def test_what_was_lost(tmp_path: Path, after: float, hides: bool) -> None:
    first, second = recorded(tmp_path, THERE, THERE, after=after)
    told = list(untrue_records([tmp_path], [first, second, tmp_path / "gone"], [pod()]))
    assert told == ([words.says_no_gap(second.name)] if hides else [])
