"""Answers read out of bytes, however these are split."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kube.http.answers import HEAD_BYTES, AnswerReader, NotHttp, TooLong
from vsched.kube.words import answers as words

LENGTH = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nContent-Type: application/json\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nhello"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def read(data: bytes, method: str = "POST", most: int = 1000) -> AnswerReader:
    """The reader after all of this, and the end of the connection."""
    reader = AnswerReader(method, most)
    reader.feed(data)
    reader.end()
    return reader


@pytest.mark.parametrize(
    ("data", "method", "code", "body", "reusable"),
    [
        pytest.param(LENGTH, "POST", 201, b"hello", True, id="with a length"),
        pytest.param(CHUNKED, "POST", 200, b"hello", True, id="in chunks, with extensions and trailers"),
        pytest.param(UNTIL_CLOSE, "POST", 200, b"hello", False, id="up to the end of the connection"),
        pytest.param(OLD, "POST", 200, b"hello", False, id="of HTTP/1.0, which keeps no connection"),
        pytest.param(
            OLD.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"),
            *("POST", 200, b"hello", True),
            id="of HTTP/1.0 that says that it keeps it",
        ),
        pytest.param(
            LENGTH.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n"),
            *("POST", 201, b"hello", False),
            id="the last on its connection",
        ),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + LENGTH,
            *("POST", 201, b"hello", True),
            id="announced by others",
        ),
        pytest.param(LENGTH[: -len(b"hello")], "HEAD", 201, b"", True, id="to HEAD, without a body"),
        pytest.param(b"HTTP/1.1 204 \r\n\r\n", "DELETE", 204, b"", True, id="without content or reason"),
        pytest.param(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "PUT", 200, b"", True, id="with an empty body"),
        pytest.param(LENGTH + LENGTH, "POST", 201, b"hello", False, id="and something that nobody asked for"),
    ],
)
def test_answers_are_read(data: bytes, method: str, code: int, body: bytes, *, reusable: bool) -> None:
    reader = read(data, method)
    assert (reader.answer.code, reader.answer.body, reader.reusable) == (code, body, reusable)


def test_headers_are_found_whatever_their_case() -> None:
    assert read(LENGTH).answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "no HTTP: it starts with 'SSH-2.0", id="another protocol"),
        pytest.param(b"HTTP/2 200\r\n\r\n", "what came is no HTTP", id="another version"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "another protocol", id="a switch of protocols"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", "the header 'no header'", id="a line that is no header"),
        pytest.param(b"HTTP/1.1 200 OK\r\na: b\r\n c: d\r\n\r\n", "the header ' c: d'", id="a folded header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "length of the answer is '-1'", id="below zero"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "length of the answer is '1, 2'",
            id="two lengths",
        ),
        pytest.param(
            CHUNKED.replace(b"\r\n\r\n3", b"\r\nContent-Length: 5\r\n\r\n3"),
            words.LENGTH_UNKNOWN,
            id="chunks and a length",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", words.LENGTH_UNKNOWN, id="an unknown encoding"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}"),
            "encoded as 'gzip'",
            id="a compressed body",
        ),
        pytest.param(CHUNKED.replace(b"3;", b"x;"), "a chunk of the length", id="a chunk without a length"),
        pytest.param(CHUNKED.replace(b"hel\r\n", b"hello"), words.CHUNK_IS_LONGER, id="a chunk that is too long"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
            "longer than",
            id="a line without end",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"a" * HEAD_BYTES, "longer than", id="a head without end"),
    ],
)
def test_what_is_no_answer_is_said(data: bytes, message: str) -> None:
    with pytest.raises(NotHttp, match=message):
        read(data)


@pytest.mark.parametrize("data", [LENGTH, CHUNKED, UNTIL_CLOSE])
def test_a_body_beyond_the_bound_is_refused(data: bytes) -> None:
    with pytest.raises(TooLong) as refused:
        read(data, most=4)
    assert b"hello".startswith(refused.value.answer.body[:3])
    assert refused.value.answer.code in (200, 201)


@given(
    st.sampled_from((LENGTH, CHUNKED, UNTIL_CLOSE, OLD, b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED)),
    st.lists(st.integers(0, 200)),
)
def test_it_does_not_matter_where_an_answer_is_torn(data: bytes, cuts: list[int]) -> None:
    whole = read(data)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = AnswerReader("POST", 1000)
    for start, end in pairwise(places):
        reader.feed(data[start:end])
    reader.end()
    assert (reader.answer, reader.reusable) == (whole.answer, whole.reusable)


@given(st.sampled_from((LENGTH, CHUNKED)), st.data())
def test_an_answer_that_is_cut_off_is_never_complete(data: bytes, draw: st.DataObject) -> None:
    reader = AnswerReader("POST", 1000)
    assert not reader.feed(data[: draw.draw(st.integers(0, len(data) - 1))])
    assert not reader.end()


STRICT = re.compile(rb"HTTP/1\.[01] [1-5][0-9]{2}(?: [^\r\n]*)?\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*\r\n)*\r\n")
"""What the head of an answer has to look like."""
PIECES = (b"HTTP/1.1 200", b" OK", b"\r\n", b"\r", b"\n", b"a", b"a: b", b": ", b" ", b"\x00", b"\xff", b"~")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_heads_are_read_where_they_are_as_they_have_to_be_and_no_others(middle: bytes) -> None:
    head = b"HTTP/1.1 204" + middle + b"\r\n\r\n"
    head = head[: head.index(b"\r\n\r\n") + 4]
    try:
        read = AnswerReader("POST", 1000).feed(head)
    except NotHttp:
        read = False
    assert read == (STRICT.fullmatch(head) is not None)


@given(st.lists(st.one_of(st.binary(), st.sampled_from((LENGTH[:60], CHUNKED, b"\r\n", b"0", b"HTTP/1.1 200 OK\r\n")))))
def test_garbage_is_an_answer_or_one_of_two_errors(pieces: list[bytes]) -> None:
    reader, complete = AnswerReader("POST", 100), False
    try:
        for piece in pieces:
            complete = complete or reader.feed(piece)
    except (NotHttp, TooLong):
        return
    assert 100 <= reader.answer.code < 600 if complete else not reader.reusable
