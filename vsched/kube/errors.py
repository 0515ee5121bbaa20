"""Errors for unsuccessful answers of an API server, as one tree under ``VschedError``; each message is one line.

ApiError
  BadRequest, Unauthorized, Forbidden, NotFound, Gone, Invalid, TooManyRequests, ServerError
  Conflict
    AlreadyExists
  UnexpectedAnswer    what came is not an answer of a Kubernetes API server

If there is no answer at all, the error is ``vsched.errors.Unavailable``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import msgspec

from vsched.clock import utc_now
from vsched.errors import UNREADABLE, VschedError
from vsched.kube.words import answers as words

_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)
_TEXT_LIMIT = 500


class StatusCause(msgspec.Struct, frozen=True):
    """One of the causes in a Status: the field, and what is wrong with it."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """The details of a Status."""

    name: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: float | None = None


class ListMeta(msgspec.Struct, frozen=True):
    """The metadata of a Status: a fresh continue token after one that expired."""

    continue_token: str = msgspec.field(default="", name="continue")


class StatusBody(msgspec.Struct, frozen=True):
    """The body of an error answer (``kind: Status``)."""

    kind: str = ""
    metadata: ListMeta | None = None
    message: str = ""
    reason: str = ""
    code: int | None = None
    details: Details | None = None
    error: object = None
    """What other servers, such as a proxy in front or a daemon of ours, say instead of a message."""

    @property
    def text(self) -> str:
        """The message of the answer; empty if it has none."""
        return self.message or (self.error if isinstance(self.error, str) else "")


class ApiError(VschedError):
    """The API server's answer was not a success."""

    def __init__(
        self,
        where: str,
        code: int,
        message: str,
        *,
        reason: str = "",
        details: Details | None = None,
        retry_after_seconds: float | None = None,
        continue_token: str = "",
    ) -> None:
        super().__init__(f"{where}: {code} {reason}: {message}" if reason else f"{where}: {code}: {message}")
        self.where = where
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or Details()
        self.retry_after_seconds = retry_after_seconds
        self.continue_token = continue_token

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        return self.details.causes or ()


class BadRequest(ApiError):
    """400: the request itself is wrong."""


class Unauthorized(ApiError):
    """401: the server does not know who is asking."""


class Forbidden(ApiError):
    """403: known, but not allowed; also quotas and other admission."""


class NotFound(ApiError):
    """404: no such object, or no such kind (yet)."""


class Conflict(ApiError):
    """409: the object is not what the request assumed."""


class AlreadyExists(Conflict):
    """409 on creation: the name is taken."""


class Gone(ApiError):
    """410: the version or continue token asked for is no longer kept."""


class Invalid(ApiError):
    """422: well-formed, but the object is not valid."""


class TooManyRequests(ApiError):
    """429: later; also a disruption budget that refuses an eviction."""


class ServerError(ApiError):
    """5xx: the server, or something in front of it, failed."""


class UnexpectedAnswer(ApiError):
    """Not an answer of a Kubernetes API server: a web page, a redirect, or bytes that are no JSON."""


BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
"""The class of each code that has one; 500 and above are ServerError, the rest plain ApiError."""

_HTML_FROM_PROXY = frozenset({429, *range(500, 600)})
"""A page with these comes from a load balancer in front of the server and means what its code says."""

_STATUS = msgspec.json.Decoder(StatusBody)


def class_of(code: int, reason: str = "") -> type[ApiError]:
    """The error class for a code, sharpened by the reason where one code has two meanings."""
    if reason == "AlreadyExists":
        return AlreadyExists
    return BY_CODE.get(code, ServerError if code >= 500 else ApiError)


def error_from_status(where: str, body: bytes | msgspec.Raw, code: int, retry_after: str | None = None) -> ApiError:
    """The error in a Status body; ``code`` and ``retry_after`` are those of the HTTP answer, if there was one."""
    status = _STATUS.decode(body)
    details = status.details or Details()
    code = code or status.code or 500
    asked_seconds = retry_after_seconds(retry_after)
    return class_of(code, status.reason)(
        where,
        code,
        one_line(status.text) or phrase(code),
        reason=status.reason,
        details=details,
        retry_after_seconds=details.retry_after_seconds if asked_seconds is None else asked_seconds,
        continue_token=status.metadata.continue_token if status.metadata else "",
    )


def error_from_answer(where: str, code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error for an HTTP answer outside 200-299, with any body."""
    if looks_like_html(headers, body):
        return _from_page(where, code, headers, body)
    retry_after = headers.get("Retry-After")
    if 300 <= code < 400:
        target = headers.get("Location", "somewhere else")
        return UnexpectedAnswer(where, code, words.redirects(target))
    try:
        return error_from_status(where, body, code, retry_after)
    except UNREADABLE:
        text = one_line(body[:_TEXT_LIMIT].decode("utf-8", "replace")) or phrase(code)
        return class_of(code)(where, code, text, retry_after_seconds=retry_after_seconds(retry_after))


def _from_page(where: str, code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    found = _TITLE.search(body)
    title = f" titled {one_line(found[1].decode('utf-8', 'replace'))!r}" if found else ""
    if code in _HTML_FROM_PROXY:
        wait = retry_after_seconds(headers.get("Retry-After"))
        message = words.web_page_with_reason(phrase(code), title)
        return class_of(code)(where, code, message, retry_after_seconds=wait)
    return UnexpectedAnswer(where, code, words.web_page(title))


def unexpected(where: str, code: int, headers: Mapping[str, str], body: bytes, problem: str) -> UnexpectedAnswer:
    """The error for a success with an unusable body."""
    if looks_like_html(headers, body):
        page = _from_page(where, code, headers, body)
        if isinstance(page, UnexpectedAnswer):
            return page
    start = one_line(body[:80].decode("utf-8", "replace"))
    return UnexpectedAnswer(where, code, words.starts_with(one_line(problem), start))


def looks_like_html(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer is a web page, by its header or its first byte."""
    return "html" in headers.get("Content-Type", "").lower() or body[:64].lstrip()[:1] == b"<"


def retry_after_seconds(header: str | None) -> float | None:
    """The ``Retry-After`` header as seconds from now; None if it is missing or unusable."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - utc_now()).total_seconds())


def one_line(text: str) -> str:
    """``text`` with every run of white space as one blank, cut to a readable length."""
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_LIMIT else line[: _TEXT_LIMIT - 1] + "…"


def phrase(code: int) -> str:
    """The standard words for an HTTP code."""
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return words.NO_REASON
