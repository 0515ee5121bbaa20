"""Authentication and authorization by the API server: TokenReviews and SubjectAccessReviews, with cached answers.

Clients can invent tokens, so the rate of requests to the API server is limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Generic, TypeVar

import msgspec
from cachetools import TTLCache

from vsched.clock import Clock
from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError
from vsched.kube.paths import ApiResource
from vsched.web.serve.access import AccessRefusal, LogLine, Person
from vsched.web.words import access as words
from vsched.writes.limits import TokenBucket

TOKEN_REVIEWS = ApiResource("authentication.k8s.io", "v1", "tokenreviews", namespaced=False)
ACCESS_REVIEWS = ApiResource("authorization.k8s.io", "v1", "subjectaccessreviews", namespaced=False)
QUOTED = (401, 403, 404)
"""Errors about our own rights; their text is reported."""
STRIPES = 16
"""Questions to the API server at once; two about the same are never asked at once."""

V = TypeVar("V")


class ReviewSettings(msgspec.Struct, frozen=True):
    """How long answers are valid, and the rate of requests."""

    yes_seconds: float = 60.0
    """A revoked token or permission stays valid for so long."""
    no_seconds: float = 10.0
    remembered: int = 1_024
    """Answers kept, of each of the two kinds: made-up tokens must not push out real ones."""
    per_second: float = 20.0
    at_once: float = 50.0
    timeout_seconds: float = 5.0


class Answers(Generic[V]):
    """What the API server said, for as long as it holds. Falsy answers are the ones that say no."""

    def __init__(self, settings: ReviewSettings, clock: Clock, log: LogLine, what: str) -> None:
        self._settings = settings
        self._log = log
        self._what = what
        self._yes: TTLCache[bytes, tuple[V]] = TTLCache(settings.remembered, settings.yes_seconds, clock.monotonic)
        self._no: TTLCache[bytes, tuple[V]] = TTLCache(settings.remembered, settings.no_seconds, clock.monotonic)
        self._asking = tuple(asyncio.Lock() for _ in range(STRIPES))
        self._bucket = TokenBucket(settings.per_second, settings.at_once, clock.monotonic)
        self._silent = False

    async def get(self, about: bytes, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer to a question, asked where it is not known; raises Refusal."""
        key = sha256(about).digest()
        found = self._known(key)
        if found is None:
            async with self._asking[key[0] % STRIPES]:
                found = self._known(key)
                if found is None:
                    found = (await self._ask(key, ask),)
        return found[0]

    def _known(self, key: bytes) -> tuple[V] | None:
        return self._yes.get(key) or self._no.get(key)

    async def _ask(self, key: bytes, ask: Callable[[], Awaitable[V]]) -> V:
        settings = self._settings
        if not self._bucket.try_take():
            raise AccessRefusal(429, words.too_many(self._what))
        try:
            async with asyncio.timeout(settings.timeout_seconds):
                found = await ask()
        except (ApiError, Unavailable, TimeoutError, msgspec.ValidationError) as error:
            if not self._silent:
                self._silent = True
                self._log(words.REVIEW_FAILED, what=self._what, problem=_problem(error, settings.timeout_seconds))
            raise AccessRefusal(503, words.cannot_be_reached(self._what)) from None
        self._silent = False
        answers = self._yes if found else self._no
        answers[key] = (found,)
        return found


def _problem(error: Exception, waited_seconds: float) -> str:
    """Why there was no answer; nothing that a server may have quoted of a question with a token in it."""
    match error:
        case ApiError():
            return str(error) if error.code in QUOTED else words.answered(error.code)
        case Unavailable():
            return str(error)
        case TimeoutError():
            return words.no_answer_within(waited_seconds)
    return words.NO_REVIEW


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User | None = None
    audiences: tuple[str, ...] | None = None


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False


class TokenReviews:
    """Tokens that the API server knows: those of service accounts and of whoever else may log in to the cluster."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        log: LogLine,
        audiences: Sequence[str] = (),
        settings: ReviewSettings | None = None,
    ) -> None:
        self._client = client
        self._audiences = tuple(audiences)
        self._answers: Answers[Person | None] = Answers(settings or ReviewSettings(), clock, log, "TokenReviews")

    async def owner(self, token: str) -> Person | None:
        """The user of a token; raises Refusal where the API server does not answer."""
        return await self._answers.get(token.encode(), lambda: self._ask(token))

    async def _ask(self, token: str) -> Person | None:
        spec: dict[str, Any] = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        log = await _review(self._client, TOKEN_REVIEWS, "TokenReview", spec)
        status = msgspec.convert(log, _TokenStatus)
        user = status.user
        if not status.authenticated or user is None or not user.username:
            return None
        if self._audiences and not set(self._audiences) & set(status.audiences or ()):
            return None  # a server that does not know audiences accepts tokens for others
        extra = tuple(sorted((user.extra or {}).items()))
        return Person(user.username, tuple(user.groups or ()), user.uid, extra)


class AccessReviews:
    """Authorization by RBAC rules with ``nonResourceURLs``."""

    def __init__(self, client: ApiClient, clock: Clock, log: LogLine) -> None:
        self._client = client
        self._answers: Answers[bool] = Answers(ReviewSettings(), clock, log, "SubjectAccessReviews")

    async def allows(self, person: Person, method: str, path: str) -> bool:
        """Whether a user may use an HTTP method at a path; raises Refusal where the API server does not answer."""
        about = msgspec.json.encode((person, method, path))
        return await self._answers.get(about, lambda: self._ask(person, method, path))

    async def _ask(self, person: Person, method: str, path: str) -> bool:
        spec: dict[str, Any] = {
            "user": person.name,
            "groups": list(person.groups),
            "nonResourceAttributes": {"path": path, "verb": method},
        }
        if person.uid:
            spec["uid"] = person.uid
        if person.extra:
            spec["extra"] = {key: list(values) for key, values in person.extra}
        status = msgspec.convert(
            await _review(self._client, ACCESS_REVIEWS, "SubjectAccessReview", spec), _AccessStatus
        )
        return status.allowed and not status.denied


async def _review(client: ApiClient, resource: ApiResource, kind: str, spec: Mapping[str, Any]) -> Any:
    """The status of a review; the API server answers it at once and does not store it."""
    review = {"apiVersion": f"{resource.group}/{resource.version}", "kind": kind, "spec": spec}
    return (await client.create(resource.path(), review)).get("status") or {}
