"""Notes on planned starts: who goes before whom, and why no start is planned."""

from __future__ import annotations

import pytest

from tests.support.explained import explained
from tests.support.start_plans import CLUSTER, easy, hours
from vsched.explain.why import words
from vsched.explain.why.words import WHY_NO_START
from vsched.framework.codes import NoStart


def test_each_reason_has_its_sentence() -> None:
    assert set(WHY_NO_START) == set(NoStart)


def test_who_goes_before_whom() -> None:
    text = f"""
node n1 cpu=4
job x/long min=1 age=900
pods x/long 1 cpu=2 on=n1 started=700 age=900 {hours(60)}
job x/began min=1 age=60
pods x/began 1 cpu=2 on=n1 started=60 age=60 {hours(20)}
job x/big min=1 pods=1 cpu=4 age=600
"""
    told = explained(text, "x/big", easy())
    assert words.others_until_its_start("job x/began") in told.notes
    told = explained(text, "x/began", easy())
    assert words.goes_before("x/big") in told.notes


@pytest.mark.parametrize(
    ("job", "args", "code"),
    [
        pytest.param(
            "x/late min=1 pods=1 cpu=4 age=60", {}, NoStart.DEPTH, id="another job has the only planned start"
        ),
        pytest.param("x/late min=3 pods=3 cpu=4 age=700", {}, NoStart.ROOM, id="it would not fit either way"),
        pytest.param(
            "x/late min=2 pods=2 cpu=4 age=60",
            {"reserveFor": "{waited: 2m}", "depth": 2},
            NoStart.LEFT_OUT,
            id="the policy leaves it out",
        ),
    ],
)
def test_why_no_start_is_planned(job: str, args: dict[str, object], code: NoStart) -> None:
    told = explained(f"{CLUSTER}\njob {job}", "x/late", easy(**args))
    assert f"not planned: {WHY_NO_START[code]} ({code})" in told.notes


def test_nothing_is_said_of_starts_where_the_policy_plans_none() -> None:
    assert not [note for note in explained(CLUSTER, "x/big").notes if "start" in note]
