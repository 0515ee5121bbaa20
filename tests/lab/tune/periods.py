"""Replays by period, written down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.lab.trace.periods import JobColumns, Periods


def periods(
    waits: Sequence[Sequence[float]],
    *,
    gpus: Sequence[float] = (),
    queues: Sequence[int] = (),
    gangs: Sequence[bool] = (),
    held: Sequence[Sequence[float]] = (),
    wanted: Sequence[Sequence[float]] = (),
    lost: Sequence[float] = (),
) -> Periods:
    """The waits of the jobs of each period of an hour; of all jobs in a row, their GPUs, queues and whether they are
    gangs; of each period what two queues held and wanted, and the GPU seconds lost. There are two GPUs.
    """
    count, jobs = len(waits), sum(map(len, waits))
    ones = np.ones(count)
    return Periods(
        seconds=3600 * ones,
        queues=("a", "b"),
        weights=(1.0, 1.0),
        scarcest="gpu",
        in_use=dict.fromkeys(("cpu", "memory", "gpu"), 1800 * ones),
        room=7200 * ones,
        held=np.array(held or [[1800.0, 1800.0]] * count),
        wanted=np.array(wanted or held or [[1800.0, 1800.0]] * count),
        lost_gpu_seconds=np.array(lost or [0.0] * count),
        gpu_seconds=3600 * ones,
        evictions=np.array([bool(one) for one in lost or [0.0] * count], np.int64),
        jobs=JobColumns(
            names=tuple(f"p{number}" for number in range(jobs)),
            period=np.array([at for at, some in enumerate(waits) for _ in some], np.int64),
            queue=np.array(queues or [0] * jobs, np.int64),
            gpus=np.array(gpus or [1.0] * jobs),
            pods=np.ones(jobs, np.int64),
            gang=np.array(gangs or [False] * jobs, bool),
            waits=np.array([wait for some in waits for wait in some]),
            late=np.array([wait > 1800 for some in waits for wait in some], bool),
            started=np.ones(jobs, bool),
        ),
    )
