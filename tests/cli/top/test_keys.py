"""Keys as terminals send them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cli.top.keys import NAMES, read_keys


@pytest.mark.parametrize(
    ("sent", "keys", "rest"),
    [
        pytest.param(b"q", ["quit"], b"", id="a letter"),
        pytest.param(b"\x1b[A\x1b[B\t", ["up", "down", "tab"], b"", id="several at once"),
        pytest.param(b"\x1bOA", ["up"], b"", id="an arrow in application mode"),
        pytest.param(b"x\x1b[15~j", ["down"], b"", id="keys that mean nothing here"),
        pytest.param(b"\x1b[1;5A", [], b"", id="an arrow with control"),
        pytest.param(b"k\x1b[5", ["up"], b"\x1b[5", id="a key that is torn"),
        pytest.param(b"\x1b", [], b"\x1b", id="escape, or the beginning of another"),
        pytest.param(b"\x1b[" + b"1" * 40, [], b"", id="what never ends is no key"),
        pytest.param("ä€".encode(), [], b"", id="letters beyond ASCII"),
    ],
)
def test_what_is_pressed(sent: bytes, keys: list[str], rest: bytes) -> None:
    assert read_keys(sent) == (keys, rest)


@given(st.lists(st.sampled_from(sorted(NAMES)), max_size=6), st.data())
def test_keys_may_come_in_any_pieces(pressed: list[bytes], data: st.DataObject) -> None:
    sent, rest, found = b"".join(pressed), b"", list[str]()
    while sent:
        length = data.draw(st.integers(1, len(sent)))
        keys, rest = read_keys(rest + sent[:length])
        found += keys
        sent = sent[length:]
    assert (found, rest) == ([NAMES[key] for key in pressed], b"")
