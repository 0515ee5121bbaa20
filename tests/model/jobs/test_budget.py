"""How many pods of a job may go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.jobs.budget import JobBudget


@pytest.mark.parametrize(
    ("budget", "tasks", "running", "finished", "spare"),
    [
        pytest.param(JobBudget(3), 5, 5, 0, 2, id="so many have to stay"),
        pytest.param(JobBudget(6), 5, 5, 0, 0, id="more have to stay than there are"),
        pytest.param(JobBudget(50, percent=True), 5, 5, 0, 2, id="half have to stay, rounded up"),
        pytest.param(JobBudget(2, unavailable=True), 5, 4, 0, 1, id="one of two is away already"),
        pytest.param(JobBudget(2, unavailable=True), 5, 2, 3, 2, id="those that finished are not away"),
        pytest.param(JobBudget(1, unavailable=True), 5, 2, 0, 0, id="too many are away already"),
        pytest.param(JobBudget(30, percent=True, unavailable=True), 5, 5, 0, 2, id="a part may be away, rounded up"),
    ],
)
def test_how_many_may_go(budget: JobBudget, tasks: int, running: int, finished: int, spare: int) -> None:
    assert budget.spare(tasks, running, finished) == spare


@given(st.builds(JobBudget, st.integers(0, 120), st.booleans(), st.booleans()), st.integers(0, 30), st.data())
def test_once_so_many_are_gone_no_more_may_go(budget: JobBudget, tasks: int, data: st.DataObject) -> None:
    finished = data.draw(st.integers(0, tasks))
    running = data.draw(st.integers(0, tasks - finished))
    spare = budget.spare(tasks, running, finished)
    if spare <= running:
        assert budget.spare(tasks, running - spare, finished) == 0
