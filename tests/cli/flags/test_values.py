"""Percentages in flags."""

from __future__ import annotations

import click
import pytest

from vsched.cli.flags.values import SHARE


@pytest.mark.parametrize(
    ("text", "share"),
    [
        pytest.param("1%", 0.01, id="one in a hundred"),
        pytest.param("0.5%", 0.005, id="less than one"),
        pytest.param("100%", 1.0, id="all"),
        pytest.param("0", 0.0, id="none"),
        pytest.param("0%", 0.0, id="none, in percent"),
    ],
)
def test_a_percentage_is_a_part_of_the_whole(text: str, share: float) -> None:
    assert SHARE.convert(text, None, None) == share


@pytest.mark.parametrize("text", ["1", "101%", "-1%", "%", "one", "", "nan%"])
def test_what_is_none_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a percentage"):
        SHARE.convert(text, None, None)
