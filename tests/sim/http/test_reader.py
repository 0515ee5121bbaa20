"""Requests read out of bytes, however these are split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.sim.http import reader as reader_module
from vsched.sim.http.reader import HEAD_BYTES, Request, RequestReader, UnreadableRequest

GET = b"GET /api?limit=1 HTTP/1.1\r\nHost: a\r\nAccept: x\r\n\r\n"
POST = b"POST /pods HTTP/1.1\r\nContent-Length: 5\r\nUser-Agent:  kubectl/v1 \r\n\r\nhello"
CHUNKED = (
    b"PUT /pods/a HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)
OLD = b"GET / HTTP/1.0\r\n\r\n"
MOST = 10


def read(*parts: bytes) -> list[Request]:
    """The requests in these bytes."""
    reader, found = RequestReader(MOST), []
    for part in parts:
        reader.feed(part)
        while (request := reader.next()) is not None:
            found.append(request)
            if request.too_large:
                return found
    return found


def with_header(data: bytes, line: bytes) -> bytes:
    return data.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


@pytest.mark.parametrize(
    ("data", "method", "target", "body", "keeps"),
    [
        pytest.param(GET, "GET", "/api?limit=1", b"", True, id="without a body"),
        pytest.param(POST, "POST", "/pods", b"hello", True, id="with a length"),
        pytest.param(CHUNKED, "PUT", "/pods/a", b"hello", True, id="in chunks, with extensions and trailers"),
        pytest.param(with_header(POST, b"connection: Close"), "POST", "/pods", b"hello", False, id="the last one"),
        pytest.param(OLD, "GET", "/", b"", False, id="of HTTP/1.0, which keeps no connection"),
        pytest.param(with_header(OLD, b"Connection: Keep-Alive"), "GET", "/", b"", True, id="of HTTP/1.0 that does"),
        pytest.param(b"\r\n\r\n" + GET, "GET", "/api?limit=1", b"", True, id="after empty lines"),
        pytest.param(GET.replace(b"/api", b"http://a:1/api"), "GET", "/api?limit=1", b"", True, id="as to a proxy"),
        pytest.param(GET.replace(b"/api?limit=1", b"*"), "GET", "*", b"", True, id="for the server itself"),
        pytest.param(
            with_header(GET, b"Connection: upgrade\r\nUpgrade: h2c"),
            "GET",
            "/api?limit=1",
            b"",
            True,
            id="that would like another protocol",
        ),
    ],
)
def test_requests_are_read(data: bytes, method: str, target: str, body: bytes, *, keeps: bool) -> None:
    [request] = read(data)
    assert (request.method, request.target, request.body, request.keeps) == (method, target, body, keeps)
    assert not request.too_large


def outcome(data: bytes, most: int = MOST) -> list[Request] | tuple[str, int]:
    """The requests in these bytes and in the same bytes once more, or why there are none."""
    reader, found = RequestReader(most), []
    try:
        for _ in range(2):
            reader.feed(data)
            while (request := reader.next()) is not None:
                found.append(request)
    except UnreadableRequest as error:
        return str(error), error.code
    return found


REQUEST_LINES = [
    *(b"GET /now HTTP/1.1", b"DELETE /%20?a=b HTTP/1.1", b"PUT /pods/a HTTP/1.0", b"OPTIONS * HTTP/1.1"),
    *(b"get / HTTP/1.1", b"BREW / HTTP/1.1", b"GET  / HTTP/1.1", b"GET /a b HTTP/1.1", b"GET /\x80 HTTP/1.1"),
    *(b"GET http://a/b HTTP/1.1", b"GET a HTTP/1.1", b"GET / HTTP/2.0", b"POST / HTTP/1.1", b"", b"\n"),
]


@pytest.mark.parametrize("line", REQUEST_LINES)
@pytest.mark.parametrize("body", [b"hello", b"hell", b"hello world", b"hello" + GET], ids=repr)
@pytest.mark.parametrize("most", [MOST, 3], ids=["with room", "too long"])
def test_known_headers_make_no_difference(line: bytes, body: bytes, most: int) -> None:
    data = POST.replace(b"POST /pods HTTP/1.1", line).replace(b"hello", body)
    reader_module._known.clear()
    unknown = outcome(data, most)
    assert len(read(POST, POST)) == 2
    assert reader_module._known
    assert outcome(data, most) == unknown


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(CHUNKED, id="a body in chunks"),
        pytest.param(OLD, id="HTTP/1.0"),
        pytest.param(with_header(POST, b"Expect: 100-continue"), id="a client that waits for a word"),
        pytest.param(with_header(POST, b"Connection: close"), id="the last on its connection"),
        pytest.param(with_header(GET, b"Connection: upgrade\r\nUpgrade: h2c"), id="another protocol"),
        pytest.param(with_header(GET, b"a: " + b"b" * 4000), id="long headers"),
    ],
)
def test_headers_that_say_more_are_read_each_time(data: bytes) -> None:
    reader_module._known.clear()
    assert len(read(data)) == 1
    assert not reader_module._known


def test_there_is_a_bound_to_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_MOST_KNOWN", 3)
    reader_module._known.clear()
    for number in range(10):
        read(with_header(GET, b"a: %d" % number))
        assert 0 < len(reader_module._known) <= 3


def test_headers_are_found_whatever_their_case_and_keep_their_order() -> None:
    [request] = read(with_header(with_header(POST, b"A: 1"), b"a: 2"))
    assert request.headers["user-agent"] == "kubectl/v1"
    assert request.headers.getall("a") == ["2", "1"]


def test_the_same_headers_are_read_once() -> None:
    [one, other] = read(GET, GET.replace(b"/api", b"/apis"))
    assert one.headers is other.headers


@pytest.mark.parametrize(
    ("data", "message", "code"),
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "Invalid method", 400, id="another protocol"),
        pytest.param(b"GET / HTTP/2.0\r\n\r\n", "HTTP/1.1", 505, id="another version"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI", 400, id="another version, known before"),
        pytest.param(b"GET /a\x00b HTTP/1.1\r\n\r\n", "Invalid char in url", 400, id="a path with a zero byte"),
        pytest.param(b"GET ftp://a/b HTTP/1.1\r\n\r\n", "no path", 400, id="something else than a path"),
        pytest.param(with_header(GET, b"no header"), "header", 400, id="a line that is no header"),
        pytest.param(with_header(GET, b" folded: x"), "Unexpected space", 400, id="a folded header"),
        pytest.param(with_header(GET, b"a: b\rc"), "header", 400, id="half a line break in a header"),
        pytest.param(with_header(GET, b"Content-Length: -1"), "Content-Length", 400, id="a length below zero"),
        pytest.param(with_header(POST, b"Content-Length: 4"), "Duplicate Content-Length", 400, id="two lengths"),
        pytest.param(with_header(CHUNKED, b"Content-Length: 5"), "with Content-Length", 400, id="chunks and a length"),
        pytest.param(with_header(GET, b"Transfer-Encoding: gzip"), "Transfer-Encoding", 400, id="another encoding"),
        pytest.param(CHUNKED.replace(b"3;a", b"x;a"), "chunk size", 400, id="an odd chunk"),
        pytest.param(CHUNKED.replace(b"3;a", b"2;a"), "after chunk data", 400, id="a chunk that is too long"),
        pytest.param(with_header(GET, b"a: " + b"b" * HEAD_BYTES), "longer than", 431, id="an endless head"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, message: str, code: int) -> None:
    with pytest.raises(UnreadableRequest, match=message) as caught:
        read(data)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(with_header(GET, b"Content-Length: 11"), id="by what it says"),
        pytest.param(CHUNKED.replace(b"2\r\nlo", b"8\r\nlooooooo"), id="by what comes in chunks"),
        pytest.param(CHUNKED.replace(b"3;a=b\r\nhel", b"FFFFFFFFFFFFFF\r\n" + b"x" * 11), id="by far"),
    ],
)
def test_a_body_that_is_too_long_is_not_kept(data: bytes) -> None:
    [request] = read(data)
    assert request.too_large
    assert (request.body, request.keeps) == (b"", False)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(with_header(POST, b"Expect: 100-Continue")[: -len(b"hello")], True, id="asked for"),
        pytest.param(with_header(POST, b"Expect: 100-continue"), False, id="asked for, and not waited for"),
        pytest.param(POST[: -len(b"hello")], False, id="not asked for"),
    ],
)
def test_a_client_may_want_to_be_told_to_continue(data: bytes, *, expected: bool) -> None:
    reader = RequestReader(MOST)
    reader.feed(data)
    assert (reader.next() is None) == (not data.endswith(b"hello"))
    assert reader.expected is expected


def test_what_has_been_read_is_not_kept() -> None:
    reader = RequestReader(MOST)
    assert reader.resting
    reader.feed(GET + GET[:5])
    assert reader.next() is not None
    assert reader.next() is None
    assert (reader.buffered, reader.resting) == (0, False)


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        pytest.param(b"GET /", b"x", id="of a path"),
        pytest.param(b"GET / HTTP/1.1\r\na: ", b"x", id="of a header"),
        pytest.param(CHUNKED[: -len(b"Trailer: x\r\n\r\n")] + b"a: ", b"x", id="of a trailer"),
        pytest.param(CHUNKED[: CHUNKED.index(b"3;a") + 2], b"a", id="of what is before a chunk"),
    ],
)
def test_there_is_an_end(begin: bytes, part: bytes) -> None:
    with pytest.raises(UnreadableRequest, match="longer than") as caught:
        read(begin, *[part * 1000] * (2 * HEAD_BYTES // 1000))
    assert caught.value.code == 431


@given(
    st.lists(st.sampled_from([GET, POST, CHUNKED, with_header(POST, b"Expect: 100-continue")]), min_size=1, max_size=4),
    st.data(),
)
def test_it_does_not_matter_how_the_bytes_are_split(sent: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(sent)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=12), label="cuts") | {0, len(whole)})
    assert read(*(whole[start:end] for start, end in pairwise(cuts))) == [read(each)[0] for each in sent]


@given(st.binary(max_size=200))
def test_any_bytes_are_requests_or_refused(data: bytes) -> None:
    try:
        found = read(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + data)
    except UnreadableRequest:
        return
    assert all(len(request.body) <= MOST for request in found)
