"""Lines out of chunks, and what can be read of objects nobody decoded."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kube.watch.framing import Identity, LineSplitter, LineTooLong, decode_page, identity_of, version_of


@given(st.lists(st.binary(max_size=30)), st.data())
def test_lines_do_not_depend_on_where_chunks_end(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    splitter = LineSplitter(1 << 20)
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += splitter.feed(whole[start:end])
    assert found == [line for line in whole.split(b"\n") if line]


def test_a_line_without_end_is_bounded() -> None:
    splitter = LineSplitter(10)
    assert splitter.feed(b"12345\n67890") == [b"12345"]
    with pytest.raises(LineTooLong, match="longer than 10 bytes"):
        splitter.feed(b"123456")


IDENTITIES = {
    "a whole object": (
        {"metadata": {"name": "n", "namespace": "s", "uid": "u", "resourceVersion": "1"}},
        Identity("s", "n", "u", "1"),
    ),
    "a cluster-scoped object": ({"metadata": {"name": "n"}}, Identity("", "n", "", "")),
    "a name that is a number": ({"metadata": {"name": 5, "uid": "u", "resourceVersion": None}}, Identity(uid="u")),
    "metadata that is a list": ({"metadata": []}, Identity()),
    "no metadata": ({}, Identity()),
    "no object": (7, Identity()),
}


@pytest.mark.parametrize(("obj", "identity"), IDENTITIES.values(), ids=IDENTITIES)
def test_an_identity_is_read_as_far_as_it_goes(obj: object, identity: Identity) -> None:
    raw = orjson.dumps(obj)
    assert identity_of(raw) == identity
    assert version_of(raw) in (identity.resource_version, "")


def test_bytes_that_are_no_text_have_no_identity() -> None:
    assert identity_of(b'{"metadata":{"name":"\xff\xfe"}}') == Identity()
    assert version_of(b"\xff") == ""


def test_a_page_keeps_its_items_as_they_are() -> None:
    page = decode_page(b'{"metadata":{"resourceVersion":"1","continue":"t","remainingItemCount":2},"items":[{"a": 1}]}')
    assert (page.metadata.resource_version, page.metadata.continue_token) == ("1", "t")
    assert [bytes(item) for item in page.items or ()] == [b'{"a": 1}']
