"""Sends every write to the API server: one rate limit, one permit, one rule for retries.

It knows paths and bytes only. Its callers decide what an answer means for the mirror.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from vsched.api.base import ApiObject
from vsched.clock import perf_counter
from vsched.errors import UNREADABLE, BadInput, Unavailable
from vsched.kube.client import JSON, ApiClient
from vsched.kube.errors import ApiError
from vsched.kube.paths import namespace_of
from vsched.writes import words
from vsched.writes.limits import Attempts, TokenBucket

NO_ANSWER = 0
"""The code of a write that did not reach the server, or got no answer."""

NOT_PERMITTED = -1
"""The code of a write that was not sent because this process may no longer write. It is not retried."""

UNSENT = -2
"""The code of a write that cannot be made into a request. It is not retried."""

NAMESPACE_TERMINATING = "NamespaceTerminating"
"""The cause of a refusal of what is created in a namespace that is being deleted."""

RETRIED = frozenset({NO_ANSWER, 408, 429, 500, 502, 503, 504})


class Write(NamedTuple):
    """One request that changes an object."""

    kind: str
    """For metrics: ``binding``, ``eviction``, ``podgroup``, ``queue``, ``pod``, ``event``; of volumes and claims the
    plural of the kind."""
    method: str
    path: str
    body: bytes
    content_type: str = JSON


class WriteResult(msgspec.Struct, frozen=True):
    """How a write ended, after all attempts."""

    code: int
    """HTTP status, ``NO_ANSWER``, ``NOT_PERMITTED`` or ``UNSENT``."""
    message: str = ""
    body: bytes = b""
    seconds: float = 0.0
    """From the first attempt to the end, waits included."""
    causes: tuple[str, ...] = ()
    """The reasons in the details of a refusal, such as ``DisruptionBudget``."""
    asked_seconds: float = 0.0
    """The server's ``Retry-After``; 0 where it sent none."""

    attempts: int = 1

    @property
    def done(self) -> bool:
        return 200 <= self.code < 300

    @property
    def namespace_ends(self) -> bool:
        """Whether nothing can be created there any more, because the namespace is being deleted."""
        return NAMESPACE_TERMINATING in self.causes

    @property
    def resource_version(self) -> str | None:
        """Of the object as it was written; None where the write failed, empty where the answer does not say."""
        if not self.done:
            return None
        try:
            return msgspec.json.decode(self.body, type=ApiObject).metadata.resource_version
        except UNREADABLE:
            return ""


def may_help(answer: WriteResult) -> bool:
    """Whether a retry may succeed, judging by the code."""
    return answer.code in RETRIED


def refusal_of(answer: WriteResult, method: str) -> str:
    """What stands in the way of a write, for people; empty if it was done, or if its object has changed or is gone.

    An object that is there already is no obstacle either; whether it is the right one, the caller has to find out.
    """
    gone = answer.namespace_ends or (answer.code == 404 and method != "POST")
    if answer.done or gone or answer.code in (409, NOT_PERMITTED):
        return ""
    return answer.message or words.server_answers(answer.code)


OnRequest = Callable[[str, int, float], None]
"""Called after every request with its kind, code and seconds."""


Permit = Callable[[], bool]
"""Says whether this process may write now. It must return at once."""

WITHOUT_PERMIT = WriteResult(NOT_PERMITTED, words.NOT_THE_LEADER)


class Writer:
    """Sends writes: in turn for the rate limit, as long as there is a permit, again where trying again makes sense."""

    def __init__(
        self,
        client: ApiClient,
        bucket: TokenBucket,
        on_request: OnRequest = lambda kind, code, seconds: None,
        permit: Permit = lambda: True,
        is_leaving: Callable[[str], bool] = lambda namespace: False,
    ) -> None:
        """``is_leaving`` says whether a namespace is being deleted: nothing can be created in it."""
        self.is_leaving = is_leaving
        self._client = client
        self._bucket = bucket
        self._on_request = on_request
        self._permit = permit

    @property
    def permitted(self) -> bool:
        """Whether this process may write now."""
        return self._permit()

    async def send(
        self, write: Write, attempts: Attempts, again: Callable[[WriteResult], bool] = may_help
    ) -> WriteResult:
        """The answer to a write, after as many attempts as are granted; ``again`` says which are worth another."""
        began = perf_counter()
        answer, made = await self._once(write), 1
        if again(answer):
            back_off = attempts.back_off()
            while again(answer) and made < attempts.count and perf_counter() - began < attempts.limit_seconds:
                await asyncio.sleep(back_off.next_seconds(answer.asked_seconds))
                answer, made = await self._once(write), made + 1
            return msgspec.structs.replace(answer, seconds=perf_counter() - began, attempts=made)
        return answer

    async def _once(self, write: Write) -> WriteResult:
        asked_at = began = perf_counter()
        wait_seconds = self._bucket.claim()
        if wait_seconds:
            await asyncio.sleep(wait_seconds)
            began = perf_counter()
        if not self._permit():  # asked last of all: every wait is behind us
            await asyncio.sleep(0)  # however much is refused, the rest of the process gets its turn: it is to end
            return WITHOUT_PERMIT
        if write.method == "POST" and self.is_leaving(namespace := namespace_of(write.path)):
            why = words.namespace_being_deleted(namespace)
            return WriteResult(403, why, causes=(NAMESPACE_TERMINATING,))
        message, body, asked_seconds = "", b"", 0.0
        causes: tuple[str, ...] = ()
        try:
            code, _, body = await self._client.write(write.method, write.path, write.body, write.content_type)
        except ApiError as error:
            code, message, asked_seconds = error.code, error.message, error.retry_after_seconds or 0.0
            causes = tuple(cause.reason for cause in error.causes)
        except Unavailable as error:
            code, message = NO_ANSWER, str(error)
        except BadInput as error:
            code, message = UNSENT, words.not_sent(str(error))
        ended = perf_counter()
        self._on_request(write.kind, code, ended - began)
        return WriteResult(code, message, body, ended - asked_at, causes, asked_seconds)
