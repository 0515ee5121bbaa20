"""A line of a watch that is read in one pass says what its object says by itself, however hostile it is."""

from __future__ import annotations

import orjson
import pytest

from tests.support.exemplars import EXEMPLARS
from tests.support.spoiling import spoilt
from vsched import api
from vsched.errors import UNREADABLE
from vsched.kube.watch.framing import decode_event

CHOSEN = {"Pod": 97, "Node": 41}
"""One spoilt object of so many; of other kinds one of nineteen."""


def line_of(data: bytes, type_: str = "MODIFIED") -> bytes:
    return b'{"type":"%b","object":%b}' % (type_.encode(), data)


def by_itself(kind: str, line: bytes) -> api.Object | None:
    """The object as it is read apart from its line; None where the line cannot be read."""
    try:
        return api.read(kind, bytes(decode_event(line).object))
    except UNREADABLE:
        return None


@pytest.mark.parametrize("kind", sorted(EXEMPLARS))
def test_every_kind_is_read_in_one_pass(kind: str) -> None:
    for exemplar in EXEMPLARS[kind]:
        line = line_of(orjson.dumps(exemplar))
        found = api.read_line(kind, line)
        assert found is not None
        assert found.type == "MODIFIED"
        assert found.object == by_itself(kind, line)


@pytest.mark.parametrize("kind", sorted(EXEMPLARS))
def test_a_hostile_object_is_read_as_ever_or_left_to_the_careful_way(kind: str) -> None:
    left = 0
    for told, data in spoilt(kind, each=CHOSEN.get(kind, 19)):
        line = line_of(data)
        found, expected = api.read_line(kind, line), by_itself(kind, line)
        left += found is None
        assert found is None or found.object == expected, told
    assert left  # to the careful way: values of another type, and what no decoder takes


@pytest.mark.parametrize(
    "line",
    [
        line_of(b'{"metadata":{"resourceVersion":"7"},"spec":{"containers":null},"status":{}}', "BOOKMARK"),
        line_of(b'{"kind":"Status","metadata":{},"status":"Failure","code":410}', "ERROR"),
        line_of(b'{"metadata":{"name":"p"},"spec":{}}', "PATCHED"),
        b'{"type":"ADDED"}',
        b'{"object":{"metadata":{"name":"p"},"spec":{}}}',
        b"[]",
        b"{",
    ],
)
def test_what_is_no_change_of_an_object_is_left_to_the_careful_way(line: bytes) -> None:
    assert api.read_line("Pod", line) is None


def test_a_kind_that_only_a_table_names_is_left_to_the_careful_way() -> None:
    assert api.read_line("PyTorchJob.kubeflow.org", line_of(b'{"metadata":{"name":"p"}}')) is None
