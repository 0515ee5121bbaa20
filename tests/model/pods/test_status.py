"""The table of statuses: what each holds of its node and counts for its job."""

from __future__ import annotations

import pytest

from vsched.model.pods.status import ALLOCATED, HOLDS, READY, SCHEDULED, Status

S = Status


def test_every_status_has_its_row_at_its_number() -> None:
    assert [status.value for status in Status] == list(range(len(HOLDS)))


@pytest.mark.parametrize(
    ("meaning", "statuses"),
    [
        pytest.param(
            [status for status in S if HOLDS[status].uses],
            {S.ALLOCATED, S.BINDING, S.BOUND, S.RUNNING, S.RELEASING, S.UNKNOWN, S.UNTAKEN},
            id="takes from idle: whoever is or may be on the node",
        ),
        pytest.param([status for status in S if HOLDS[status].releasing], {S.RELEASING}, id="is on its way back"),
        pytest.param([status for status in S if HOLDS[status].reserves], {S.PIPELINED}, id="waits for what comes back"),
        pytest.param(ALLOCATED, {S.ALLOCATED, S.BINDING, S.BOUND, S.RUNNING}, id="counts for queue and namespace"),
        pytest.param(
            READY, {S.ALLOCATED, S.BINDING, S.BOUND, S.RUNNING, S.SUCCEEDED}, id="counts towards the gang's minimum"
        ),
        pytest.param(SCHEDULED, {S.BOUND, S.RUNNING, S.SUCCEEDED, S.FAILED}, id="counts for the phase"),
    ],
)
def test_who(meaning: list[Status], statuses: set[Status]) -> None:
    assert set(meaning) == statuses


@pytest.mark.parametrize("status", Status, ids=lambda status: status.name.lower())
def test_the_columns_agree(status: Status) -> None:
    holds = HOLDS[status]

    assert holds.uses or not holds.releasing, "only what is used can come back"
    assert holds.uses or not holds.allocated, "what counts as allocated is on a node"
    assert not (holds.uses and holds.reserves), "nobody uses and waits at once"
