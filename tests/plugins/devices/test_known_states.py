"""Values by state that are kept from cycle to cycle: each is worked out once, and equal states have one number."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.keeping import memos_keep
from vsched.model.nodes.table import Floats, Ints, NodeStatics
from vsched.plugins.devices.free import SharedDevicesAsked
from vsched.plugins.devices.known_states import STATES_MAX, WANTS_MAX, KnownStates, Values, give_known, take_known
from vsched.plugins.devices.mix import DeviceWant


def test_each_value_is_worked_out_once() -> None:
    values, asked = Values(), []

    def squares(states: list[int]) -> list[float]:
        def of(at: Ints) -> Floats:
            asked.append(np.array(states)[at].tolist())
            found: Floats = np.array(states)[at] ** 2.0
            return found

        return values.of(np.array(states), 6, of).tolist()

    assert squares([3, 1, 3, 0]) == [9.0, 1.0, 9.0, 0.0]
    assert squares([5, 3, 1]) == [25.0, 9.0, 1.0]
    assert squares([1, 5]) == [1.0, 25.0]
    assert asked == [[1, 3], [5]], "nodes without devices, state 0, are worth nothing"


def test_equal_states_have_one_number_and_like_ones_a_number_of_their_own_kind() -> None:
    known = KnownStates()
    found = known.number(["ab", "ba", "cc", "ab"], ["ab", "ab", "cc", "ab"])
    assert found == [1, 2, 3, 1]
    assert known.number(["cc", "ca"], ["cc", "ac"]) == [3, 4]
    alike = known.alike(np.array([1, 2, 3, 4])).tolist()
    assert alike[0] == alike[1]
    assert len(set(alike)) == 3
    assert len(known) == 5


def test_the_oldest_request_is_forgotten_first() -> None:
    known = KnownStates()
    requests = [SharedDevicesAsked(DeviceWant(1, 100, cpu, 0), None) for cpu in range(WANTS_MAX + 1)]
    kept = [known.worths(request) for request in requests]
    assert known.worths(requests[-1]) is kept[-1]
    assert known.worths(requests[0]) is not kept[0]


@pytest.mark.parametrize(
    ("key", "states", "is_kept"),
    [
        pytest.param("mix", 3, True, id="the same mix"),
        pytest.param("other", 3, False, id="another mix"),
        pytest.param("mix", STATES_MAX, False, id="too many states"),
    ],
)
@memos_keep()
def test_values_are_kept_for_the_next_cycle(key: str, states: int, is_kept: bool) -> None:
    statics, known = NodeStatics(()), KnownStates()
    names = [str(number) for number in range(states)]
    known.number(names, names)
    give_known(statics, "mix", known)
    assert (take_known(statics, key) is known) is is_kept
    assert take_known(statics, key) is not known, "one cycle at a time has them"
