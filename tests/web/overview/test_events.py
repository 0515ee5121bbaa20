"""Events as bytes: what is deflated once makes a gzip stream for whoever is sent it, from whenever on."""

from __future__ import annotations

import gzip
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.web.overview.events import EventBytes, GzipStream, PlainStream, event, gzipped, piece, takes_gzip

pieces = st.lists(st.binary(max_size=200).map(piece), max_size=6)


@given(pieces)
def test_pieces_make_a_gzip_stream_in_any_order(found: list[EventBytes]) -> None:
    stream, plain = GzipStream(), PlainStream()
    sent = stream.begin() + b"".join(map(stream.add, found)) + stream.end()
    assert gzip.decompress(sent) == b"".join([plain.begin(), *map(plain.add, found), plain.end()])


@given(pieces)
def test_every_piece_is_there_as_soon_as_it_is_sent(found: list[EventBytes]) -> None:
    stream, reader = GzipStream(), zlib.decompressobj(16 + zlib.MAX_WBITS)
    reader.decompress(stream.begin())
    for each in found:
        assert reader.decompress(stream.add(each)) == each.plain


def test_a_whole_answer() -> None:
    assert gzip.decompress(gzipped(piece(b"hello" * 100))) == b"hello" * 100


def test_an_event_is_three_lines_whatever_its_data_says() -> None:
    said = event("delta", "a-1", {"message": "two\nlines\r\n\n\u2028and more"}).plain.decode()
    name, identity, data, *rest = said.split("\n")
    assert (name, identity, rest) == ("event: delta", "id: a-1", ["", ""])
    assert msgspec.json.decode(data.removeprefix("data: ")) == {"message": "two\nlines\r\n\n\u2028and more"}


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip, deflate, br", True),
        ("br;q=1.0, GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.0, *", False),
        ("x-gzip-like", False),
    ],
)
def test_who_takes_gzip(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes
