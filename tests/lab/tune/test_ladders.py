"""Values to try: rungs between two ends, the value in force among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.lab.tune.ladders import RANGES, Ladder, ladder, same, with_value, written
from vsched.plugins.easybackfill import EasyBackfillArgs
from vsched.plugins.fragmentation import FragmentationArgs
from vsched.plugins.overcommit import OvercommitArgs
from vsched.plugins.usagehistory import UsageHistoryArgs
from vsched.settings.installed import registry
from vsched.settings.reading.values import Key, keys_of


def key(args: type, name: str) -> Key:
    return next(one for one in keys_of(args) if one.name == name)


HALF_LIFE, DEPTH = key(UsageHistoryArgs, "halfLife"), key(EasyBackfillArgs, "depth")


@pytest.mark.parametrize(
    ("found", "ends", "values"),
    [
        pytest.param(HALF_LIFE, ("90m", "6h"), ("90m", "2h", "3h", "6h"), id="durations that a person would write"),
        pytest.param(DEPTH, ("1", "5"), ("1", "2", "3", "4", "5"), id="all of a few whole numbers"),
        pytest.param(
            key(OvercommitArgs, "overcommit-factor"),
            ("1", "2.1"),
            ("1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "2", "2.1"),
            id="parts of a range of broken numbers",
        ),
        pytest.param(key(UsageHistoryArgs, "users"), None, ("true", "false"), id="both"),
        pytest.param(
            key(FragmentationArgs, "measure"), None, ("gradient", "filling", "best-fit"), id="all words that there are"
        ),
        pytest.param(
            key(FragmentationArgs, "weight"), None, ("0", "1", "2", "3", "5", "10", "20"), id="weights by their name"
        ),
    ],
)
def test_between_two_ends_are(found: Key, ends: tuple[str, str] | None, values: tuple[str, ...]) -> None:
    made = ladder(found.kind, found.name, ends)
    assert made is not None
    assert {*made.values} == {*values}


def test_many_whole_numbers_are_thinned_out_between_their_bounds() -> None:
    made = ladder(DEPTH.kind, "depth", None)
    assert made is not None
    assert (made.values[0], made.values[-1]) == ("1", "100")
    assert len(made.values) <= 14


@given(st.integers(1, 500_000))
def test_the_value_in_force_is_in_its_place(seconds: int) -> None:
    made = ladder(HALF_LIFE.kind, "halfLife", ("1h", "24h"))
    assert made is not None
    now = written(HALF_LIFE, f"{seconds}s")
    assert same(HALF_LIFE, f"{seconds}s", now)
    both = with_value(made, now)
    assert now in both.values
    assert with_value(both, now) == both


def test_what_is_not_given_is_a_value_too() -> None:
    assert with_value(Ladder(("1h", "2h"), ordered=True), written(HALF_LIFE, None)).values == ("", "1h", "2h")


def test_all_default_ranges_are_of_arguments_that_there_are() -> None:
    found = registry()
    for (owner, name), ends in RANGES.items():
        args = found.actions[owner].args_type if owner in found.actions else found.plugins[owner].args_type
        assert ladder(key(args, name).kind, name, ends) is not None
