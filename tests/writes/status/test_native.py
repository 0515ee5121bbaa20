"""The conditions of native PodGroups that wait: for room, or because of an error."""

from __future__ import annotations

import pytest

from tests.support.native import native_world
from tests.support.plans import DEFAULT_POLICY as POLICY
from vsched.framework.cycle import run_cycle
from vsched.framework.words.jobs import unbound
from vsched.model.claims.plan import NOT_HAD
from vsched.model.jobs.native import native_key
from vsched.settings.built_in import REGISTRY
from vsched.writes.status.native import conditions_of, failures_of

KEY = native_key("ns", "g")


@pytest.mark.parametrize(
    ("cpu", "setbacks", "reason", "said"),
    [
        pytest.param("2", {}, "Unschedulable", "cpu", id="there is no room"),
        pytest.param(
            "3",
            {"uid-p1": "quota is used up"},
            "SchedulerError",
            unbound(1, "p1", "quota is used up"),
            id="a binding failed",
        ),
        pytest.param(
            "3",
            {"uid-p1": NOT_HAD + "it is gone"},
            "SchedulerError",
            NOT_HAD + "it is gone",
            id="what it claims cannot be reserved",
        ),
        pytest.param(
            "2",
            {"uid-p1": "quota is used up"},
            "Unschedulable",
            "cpu",
            id="a binding failed once, and now there is no room",
        ),
    ],
)
def test_the_reason_tells_errors_from_a_lack_of_room(
    cpu: str, setbacks: dict[str, str], reason: str, said: str
) -> None:
    snapshot = native_world(cpu=cpu, setbacks=setbacks)
    report = run_cycle(snapshot, POLICY, REGISTRY)
    [(due, before)] = conditions_of(snapshot.jobs[KEY], report.jobs[KEY])
    assert (due.met, due.reason, before) == (False, reason, None)
    assert said in due.message


def test_a_group_that_is_placed_without_errors_has_no_condition_until_its_pods_are_bound() -> None:
    snapshot = native_world(cpu="3")
    assert not list(conditions_of(snapshot.jobs[KEY], run_cycle(snapshot, POLICY, REGISTRY).jobs[KEY]))


def test_after_a_failed_session_every_group_that_waits_is_told() -> None:
    [(due, _)] = failures_of(native_world().jobs[KEY], "a bug")
    assert (due.key, due.met, due.reason, due.message) == (KEY, False, "SchedulerError", "a bug")
