"""What is in a Lease, and which settings are refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.errors import BadInput
from vsched.kube.lease.record import LONGEST_SECONDS, LeaseSettings, held_spec, micro_time, read_record, released_spec
from vsched.kube.words import leases

NOW = 1_700_000_000.0
OURS = {"acquireTime": "2023-11-14T22:00:00.000000Z", "renewTime": "2023-11-14T22:13:18.000000Z"}

words = st.text(max_size=3) | st.integers(-3, 2**40) | st.none() | st.booleans() | st.lists(st.none(), max_size=1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param({"duration_seconds": 10}, leases.duration_too_short(10, 10), id="order"),
        pytest.param(
            {"retry_seconds": 9}, leases.bad_deadline(10, leases.more_than_retries(1.2, 9)), id="no-room-to-retry"
        ),
        pytest.param({"retry_seconds": 0}, leases.bad_retry_period(0), id="no-wait"),
        pytest.param({"retry_seconds": float("nan")}, leases.bad_retry_period(float("nan")), id="no-number"),
        pytest.param({"duration_seconds": 15.5}, leases.bad_duration(15.5, LONGEST_SECONDS), id="parts-of-seconds"),
        pytest.param(
            {"duration_seconds": float("inf")}, leases.bad_duration(float("inf"), LONGEST_SECONDS), id="for-ever"
        ),
        pytest.param({"name": "Not/A/Name"}, leases.bad_name("name", "Not/A/Name"), id="name"),
        pytest.param({"namespace": "a.b"}, leases.bad_name("namespace", "a.b"), id="namespace"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_line(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as refusal:
        LeaseSettings(**settings)
    assert "\n" not in str(refusal.value)


def test_the_defaults_are_those_of_other_schedulers() -> None:
    settings = LeaseSettings()
    assert (settings.duration_seconds, settings.renew_deadline_seconds, settings.retry_seconds) == (15, 10, 2)


@pytest.mark.parametrize(
    ("spec", "holder", "duration_seconds", "transitions"),
    [
        pytest.param({}, "", 15.0, 0, id="an-empty-spec"),
        pytest.param(None, "", 15.0, 0, id="no-spec"),
        pytest.param(
            {"holderIdentity": None, "leaseDurationSeconds": None, "leaseTransitions": None}, "", 15.0, 0, id="nulls"
        ),
        pytest.param({"holderIdentity": "x"}, "x", 15.0, 0, id="a-holder-and-no-duration"),
        pytest.param(
            {"holderIdentity": 7, "leaseDurationSeconds": "9", "leaseTransitions": -4}, "", 15.0, 0, id="wrong-types"
        ),
        pytest.param(
            {"holderIdentity": "x", "leaseDurationSeconds": 60, "leaseTransitions": 3}, "x", 60, 3, id="all-there"
        ),
    ],
)
def test_what_a_lease_does_not_say_is_made_up_for(
    spec: object, holder: str, duration_seconds: float, transitions: int
) -> None:
    record = read_record({"spec": spec}, 15.0)
    assert (record.holder, record.duration_seconds, record.transitions) == (holder, duration_seconds, transitions)


@given(st.dictionaries(st.sampled_from(["holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime"]), words))
def test_whatever_was_there_the_record_we_write_is_valid_and_differs(spec: dict[str, Any]) -> None:
    record = read_record({"spec": spec}, 15.0)
    for written in (held_spec(record, "me", 15.0, NOW), released_spec(record, NOW)):
        assert written != spec
        assert written["leaseDurationSeconds"] >= 1
        assert 0 <= written["leaseTransitions"] < 2**31
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", written["renewTime"])
        assert isinstance(written["acquireTime"], str)


def test_a_renewal_keeps_when_the_lease_was_taken_and_what_it_does_not_know() -> None:
    record = read_record({"spec": {**OURS, "holderIdentity": "me", "leaseTransitions": 4, "strategy": "New"}}, 15.0)
    assert held_spec(record, "me", 15.0, NOW) == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": OURS["acquireTime"],
        "renewTime": "2023-11-14T22:13:20.000000Z",
        "leaseTransitions": 4,
        "strategy": "New",
    }


def test_a_lease_that_passes_on_is_taken_now_and_counted() -> None:
    record = read_record({"spec": {**OURS, "holderIdentity": "other", "leaseTransitions": 4}}, 15.0)
    written = held_spec(record, "me", 15.0, NOW)
    assert written["acquireTime"] == written["renewTime"] == "2023-11-14T22:13:20.000000Z"
    assert written["leaseTransitions"] == 5
    assert held_spec(None, "me", 15.0, NOW) == {**written, "leaseTransitions": 0}


def test_a_released_lease_is_nobodys_and_runs_out_at_once() -> None:
    record = read_record({"spec": {**OURS, "holderIdentity": "me", "leaseTransitions": 4}}, 15.0)
    assert released_spec(record, NOW) == {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": "2023-11-14T22:13:20.000000Z",
        "renewTime": "2023-11-14T22:13:20.000000Z",
        "leaseTransitions": 4,
    }


def test_a_renewal_differs_even_when_the_wall_clock_stands_still() -> None:
    first = held_spec(None, "me", 15.0, NOW)
    second = held_spec(read_record({"spec": first}, 15.0), "me", 15.0, NOW)
    assert second == {**first, "renewTime": "2023-11-14T22:13:20.000001Z"}


@pytest.mark.parametrize("microseconds", [0, 1, 120_000, 999_999])
def test_times_always_have_six_decimals(microseconds: int) -> None:
    written = micro_time(datetime(2024, 2, 29, 23, 59, 59, microseconds, UTC))
    assert written == f"2024-02-29T23:59:59.{microseconds:06d}Z"
