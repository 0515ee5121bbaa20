"""What is worked out of a part of an object is worked out once."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.apimachinery.meta import remembered as module
from vsched.apimachinery.meta.remembered import Interned, remembered


def test_it_is_worked_out_once_for_each_part_and_each_further_value() -> None:
    asked: list[tuple[str, int]] = []

    @remembered
    def name_of(part: dict[str, str], number: int) -> str:
        asked.append((part["name"], number))
        return part["name"] * number

    one, equal = {"name": "a"}, {"name": "a"}
    assert [name_of(one, 2), name_of(one, 2), name_of(one, 3), name_of(equal, 2)] == ["aa", "aa", "aaa", "aa"]
    assert asked == [("a", 2), ("a", 3), ("a", 2)]


def test_no_other_object_is_taken_for_one_that_is_gone() -> None:
    @remembered
    def name_of(part: dict[str, int]) -> int:
        return part["name"]

    # Each is gone before the next one is made, which then often has its id.
    assert [name_of({"name": number}) for number in range(100)] == list(range(100))


def test_a_failure_is_not_kept() -> None:
    @remembered
    def refused(part: dict[str, str]) -> str:
        raise LookupError(part.pop("why"))

    part = {"why": "now"}
    for why in ("now", "why"):
        with pytest.raises(LookupError, match=why):
            refused(part)


def test_equal_values_are_decoded_to_one_object() -> None:
    specs = Interned()
    one, equal = specs.decoded({"a": [1]}, dict), specs.decoded({"a": [1]}, dict)
    assert one is equal
    assert specs.decoded({"a": [2]}, dict) == {"a": [2]}


def test_who_sent_a_value_may_still_change_it() -> None:
    specs, sent = Interned(), {"a": [1]}
    specs.decoded(sent, dict)
    sent["a"].append(2)
    assert specs.decoded({"a": [1]}, dict) == {"a": [1]}


def test_what_is_no_json_is_left_to_others() -> None:
    value: dict[Any, Any] = {"a": object()}
    assert Interned().decoded(value, dict) is None


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    asked: list[int] = []

    @remembered
    def count(part: dict[str, int]) -> None:
        asked.append(part["a"])

    parts, specs = [{"a": number} for number in range(4)], Interned()
    for part in (*parts, parts[0]):
        count(part)
        specs.decoded(part, lambda copy: asked.append(10 + copy["a"]))
    assert asked == [0, 10, 1, 11, 2, 12, 3, 13, 0, 10]
