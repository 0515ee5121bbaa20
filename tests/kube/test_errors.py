"""What a server asks for with Retry-After, and errors in the middle of a watch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import orjson
import pytest

from tests.kube.stub_server import status
from vsched.kube.errors import BY_CODE, Gone, ServerError, error_from_answer, error_from_status, retry_after_seconds
from vsched.kube.words import answers as words

WAITS = {
    "seconds": ("3", 3.0),
    "parts of a second": ("0.5", 0.5),
    "the past": ("-1", 0.0),
    "nothing": ("", None),
    "nonsense": ("soon", None),
}


@pytest.mark.parametrize(("header", "seconds"), WAITS.values(), ids=WAITS)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert retry_after_seconds(header) == seconds


def test_retry_after_as_a_date() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=60)
    assert 57 <= (retry_after_seconds(format_datetime(moment, usegmt=True)) or 0) <= 60


def test_a_status_names_its_own_code_and_wait() -> None:
    raw = orjson.dumps(status(504, "Timeout", "later", details={"retryAfterSeconds": 1}))
    error = error_from_status("GET /x", raw, 0)
    assert type(error) is ServerError
    assert (error.code, error.retry_after_seconds) == (504, 1.0)


def test_a_fresh_continue_token_is_kept() -> None:
    raw = orjson.dumps({**status(410, "Expired", "old"), "metadata": {"continue": "fresh"}})
    error = error_from_answer("GET /x", 410, {"Content-Type": "application/json"}, raw)
    assert type(error) is Gone
    assert error.continue_token == "fresh"


def test_an_unknown_code_has_words() -> None:
    assert str(error_from_answer("GET /x", 599, {}, b"")) == "GET /x: 599: " + words.NO_REASON


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({"error": "no session\n within 10 s"}, "no session within 10 s", id="what others say instead"),
        pytest.param({"message": "said", "error": "other"}, "said", id="a message goes before it"),
        pytest.param({"error": {"code": 7}}, "Service Unavailable", id="an error that is no text"),
        pytest.param({}, "Service Unavailable", id="nothing"),
    ],
)
def test_what_a_refusal_says(body: dict[str, object], text: str) -> None:
    error = error_from_answer("GET /x", 503, {"Content-Type": "application/json"}, orjson.dumps(body))
    assert error.message == text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"message":' * 2000, id="maps without end"),
        pytest.param(b'{"details":' + b"[" * 5000 + b"]" * 5000 + b"}", id="lists without end"),
        pytest.param(b'{"message":"\xff\xfe","reason":"Conflict"}', id="text that is not UTF-8"),
        pytest.param(b'{"code":' + b"9" * 400 + b',"details":{"retryAfterSeconds":1e400}}', id="numbers without end"),
        pytest.param(b'{"code":' + b"9" * 5000 + b"}", id="more digits than can be read"),
        pytest.param(b'{"details":{"retryAfterSeconds":NaN}}', id="a number that is none"),
    ],
)
@pytest.mark.parametrize("code", [409, 429, 500])
def test_a_refusal_nobody_can_read_is_still_a_refusal_in_one_line(body: bytes, code: int) -> None:
    error = error_from_answer("s: GET /x", code, {"Content-Type": "application/json", "Retry-After": "1e400"}, body)
    assert isinstance(error, BY_CODE.get(code, ServerError))
    assert error.code == code
    assert "\n" not in str(error)
    assert len(str(error)) < 700
