"""A list is split as it arrives, in parts, as it would be at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.stub_server import pod
from vsched.errors import UNREADABLE
from vsched.kube.watch.framing import PageMetadata, decode_page
from vsched.kube.watch.mending import DEEPEST
from vsched.kube.watch.splitting import PART_BYTES, ListSplitter

METADATA = {"resourceVersion": "7"}
texts = st.text('a{}[],:"\\é ', max_size=12) | st.just('},{"metadata":{') | st.just('"items":[')
values = st.recursive(
    st.none() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("metadata"), inner, max_size=3),
    max_leaves=8,
)
objects = st.fixed_dictionaries({"metadata": values, "spec": values}) | st.dictionaries(texts, values, max_size=3)


def split(data: bytes, part_bytes: int, cuts: Sequence[int] = ()) -> tuple[PageMetadata, list[bytes], int]:
    """The metadata, the objects, and how many of them were split off before the end."""
    splitter, items = ListSplitter(part_bytes), list[msgspec.Raw]()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for begin, end in pairwise(edges):
        items += splitter.feed(data[begin:end])
    early, page = len(items), splitter.finish()
    return page.metadata, [bytes(item) for item in (*items, *(page.items or ()))], early


def as_list(items: Sequence[Any], *, late: bool = False) -> bytes:
    """A list as API servers write it: of their own kinds with the metadata first, of others with it last."""
    if late:
        return orjson.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": METADATA})
    return orjson.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": METADATA, "items": items})


@given(st.lists(objects, max_size=12), st.booleans(), st.integers(1, 200), st.lists(st.integers(0, 2000), max_size=8))
def test_the_objects_are_those_of_the_list(items: list[Any], late: bool, part_bytes: int, cuts: list[int]) -> None:
    metadata, found, _ = split(as_list(items, late=late), part_bytes, cuts)
    assert metadata.resource_version == "7"
    assert found == [orjson.dumps(item) for item in items]


TEMPLATE = {"metadata": {"name": "t"}, "spec": {}}
MANAGED = {"managedFields": [{"apiVersion": "batch/v1", "manager": f"m{number}"} for number in range(40)]}
ODD = {
    "pods": [pod(f"p{number}", number) for number in range(5000)],
    "objects that contain what begins as they do": [
        {"metadata": {"name": f"s{number}"}, "spec": {"templates": [TEMPLATE, TEMPLATE, TEMPLATE]}}
        for number in range(5000)
    ],
    "objects that name their kind, and who has written them": [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {**MANAGED, "name": f"j{number}"}}
        for number in range(1000)
    ],
    "texts that look like the end of an object": [
        {"metadata": {"name": f"s{number}", "annotations": {"last": '},{"metadata":{"items":['}}}
        for number in range(5000)
    ],
}


@pytest.mark.parametrize("late", [pytest.param(False, id="metadata-first"), pytest.param(True, id="metadata-last")])
@pytest.mark.parametrize("items", ODD.values(), ids=ODD)
def test_little_is_left_to_the_end(items: list[Any], late: bool) -> None:
    data = as_list(items, late=late)
    _, found, early = split(data, PART_BYTES // 8, range(0, len(data), PART_BYTES // 8))
    assert found == [orjson.dumps(item) for item in items]
    assert (len(items) - early) * len(data) / len(items) < PART_BYTES / 2


def test_what_no_decoder_takes_is_mended_where_it_is() -> None:
    deep = b"[" * (20 * DEEPEST) + b"]" * (20 * DEEPEST)
    good = orjson.dumps(pod("a", 1))
    bad = b'{"metadata":{"name":"\\ud800","n":NaN},"deep":' + deep + b"}"
    data = b'{"metadata":{"resourceVersion":"7"},"items":[' + b",".join([good, bad, good] * 20) + b"]}"
    _, found, early = split(data, 5000, range(0, len(data), 1000))
    assert found == [bytes(item) for item in decode_page(data).items or ()]
    assert early > 40


UNSPLIT = {
    "written with spaces": orjson.dumps({"metadata": METADATA, "items": [pod("a", 1)] * 9}, option=orjson.OPT_INDENT_2),
    "without objects": as_list([]),
    "with null for objects": b'{"metadata":{"resourceVersion":"7"},"items":null}',
    "with empty objects": as_list([{}, {}, {}]),
}


@pytest.mark.parametrize("data", UNSPLIT.values(), ids=UNSPLIT)
def test_other_lists_are_split_when_they_are_complete(data: bytes) -> None:
    metadata, found, early = split(data, 10, range(0, len(data), 10))
    assert metadata.resource_version == "7"
    assert found == [bytes(item) for item in decode_page(data).items or ()]
    assert not early


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(as_list([pod("a", 1)] * 9)[:-9], id="a-list-that-is-cut-off"),
        pytest.param(as_list([pod("a", 1)] * 9)[:-2] + b"},{}]}", id="a-bracket-too-many"),
        pytest.param(b"<html>" * 9, id="no-json"),
        pytest.param(b'{"spec":{"items":[{"a":1},{"a":1},{"a":1}]}}', id="something-else"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_list_cannot_be_read(data: bytes) -> None:
    with pytest.raises(UNREADABLE):
        split(data, 20, range(0, len(data), 10))
