"""Which jobs go before which, where room is kept for planned starts."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.framework.wording import listed
from vsched.model.plan import CycleReport


def goes_before(report: CycleReport, key: str) -> Iterator[str]:
    """Notes on a job: which jobs go before it on the nodes that are kept for it, or which job it goes before."""
    for other, outcome in report.jobs.items():
        planned = outcome.planned
        if planned is None:
            continue
        if other == key and planned.ahead:
            yield f"until its start, {listed('job', planned.ahead)} may use its nodes: begun since it waits"
        if key in planned.ahead:
            yield f"it goes before {other}, on nodes that are kept for the start of that job"
