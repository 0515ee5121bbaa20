"""Calls out of a cycle: what comes back, how long they may take, and when no more are made."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.extending import (
    BREAKING_OFF,
    BROKEN,
    DRIPPING,
    HANGING,
    ExtenderServer,
    Reply,
    extending,
    refusing,
)
from tests.support.waiting import until_now
from vsched.daemon.loop.callouts import FAILURES_IN_A_ROW, REST_FACTOR, Caller
from vsched.daemon.words import calls as words
from vsched.errors import Unavailable
from vsched.framework.callout import CalloutEndpoint


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    with extending(good={"ok": True}, broken=BROKEN, hanging=HANGING, dripping=DRIPPING) as server:
        server.answers["breaking-off"] = BREAKING_OFF
        yield server


@pytest.fixture
def caller() -> Iterator[Caller]:
    with Caller() as caller:
        yield caller


def endpoint(url: str, timeout: float = 60.0, cycle: float = 120.0) -> CalloutEndpoint:
    return CalloutEndpoint(url, timeout, cycle)


def failure(caller: Caller, where: CalloutEndpoint, verb: str) -> str:
    with pytest.raises(Unavailable) as caught:
        caller.cycle().call(where, verb, b"{}")
    return str(caught.value)


def test_an_answer_comes_back_as_it_is(server: ExtenderServer, caller: Caller) -> None:
    assert caller.cycle().call(endpoint(server.url), "good", b'{"a": 1}') == b'{"ok": true}'
    assert server.requests == [("good", {"a": 1})]
    assert caller.counts == {"answered": 1, "failed": 0, "skipped": 0}


def test_the_verb_is_appended_to_a_path(server: ExtenderServer, caller: Caller) -> None:
    server.answers["v1/deep"] = {}

    caller.cycle().call(endpoint(f"{server.url}/v1"), "deep", b"{}")

    assert server.verbs == ["v1/deep"]


@pytest.mark.parametrize("size", [10 << 20, (10 << 20) + 1], ids=["ten MiB are taken", "a byte more is not"])
def test_the_size_of_an_answer(server: ExtenderServer, caller: Caller, size: int) -> None:
    server.answers["sized"] = Reply(body=b"x" * size)

    if size == 10 << 20:
        assert len(caller.cycle().call(endpoint(server.url, 10), "sized", b"{}")) == size
    else:
        assert words.answered_too_much(10) in failure(caller, endpoint(server.url, 10), "sized")


def test_one_connection_serves_cycle_after_cycle(server: ExtenderServer, caller: Caller) -> None:
    for _ in range(3):
        caller.cycle().call(endpoint(server.url), "good", b"{}")

    assert server.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_made_anew(server: ExtenderServer, caller: Caller) -> None:
    server.answers["closing"] = Reply(body=b"{}", closes=True)

    for _ in range(3):
        assert caller.cycle().call(endpoint(server.url), "closing", b"{}") == b"{}"
        until_now(lambda: server.closed == server.connections)

    assert server.connections == 3
    assert caller.counts["failed"] == 0


def test_another_service_gets_a_connection_of_its_own(server: ExtenderServer, caller: Caller) -> None:
    with extending(good={"other": True}) as other:
        caller.cycle().call(endpoint(server.url), "good", b"{}")
        assert caller.cycle().call(endpoint(other.url), "good", b"{}") == b'{"other": true}'


@pytest.mark.parametrize(
    ("verb", "timeout", "told"),
    [
        pytest.param("broken", 60.0, "answered 500", id="an error"),
        pytest.param("breaking-off", 60.0, words.BROKE_OFF, id="half an answer"),
        pytest.param("hanging", 0.1, words.no_answer("", 0.1), id="no answer in time"),
        pytest.param("dripping", 0.1, words.no_answer("", 0.1), id="an answer that never ends"),
    ],
)
def test_what_is_no_answer(server: ExtenderServer, caller: Caller, verb: str, timeout: float, told: str) -> None:
    assert told in failure(caller, endpoint(server.url, timeout), verb)
    assert told in caller.problem
    assert caller.cycle().call(endpoint(server.url), "good", b"{}") == b'{"ok": true}'
    assert caller.problem == ""


def test_nobody_listens(caller: Caller) -> None:
    assert "Connection refused" in failure(caller, endpoint(refusing()), "good")


def test_a_service_that_does_not_speak_tls(server: ExtenderServer, caller: Caller) -> None:
    assert "SSL" in failure(caller, endpoint(server.url.replace("http:", "https:")), "good")


def test_a_name_that_does_not_exist(caller: Caller) -> None:
    assert failure(caller, endpoint("http://nowhere.invalid"), "good").startswith("http://nowhere.invalid/good: ")


def test_silence_three_times_in_a_row_ends_the_calls_of_a_cycle(server: ExtenderServer, caller: Caller) -> None:
    calls = caller.cycle()
    for _ in range(10):
        with pytest.raises(Unavailable):
            calls.call(endpoint(server.url, 0.05), "hanging", b"{}")

    assert caller.counts == {"answered": 0, "failed": FAILURES_IN_A_ROW, "skipped": 10 - FAILURES_IN_A_ROW}


def test_errors_that_come_at_once_do_not_end_them(server: ExtenderServer, caller: Caller) -> None:
    calls = caller.cycle()
    for _ in range(10):
        with pytest.raises(Unavailable):
            calls.call(endpoint(server.url), "broken", b"{}")

    assert calls.call(endpoint(server.url), "good", b"{}") == b'{"ok": true}'


def test_a_cycle_spends_no_more_on_calls_than_it_may(server: ExtenderServer, caller: Caller) -> None:
    def slow(payload: dict[str, object]) -> dict[str, object]:
        time.sleep(0.1)
        return {}

    server.answers["slow"] = slow
    calls = caller.cycle()
    for _ in range(20):
        try:
            calls.call(endpoint(server.url, 1.0, cycle=0.35), "slow", b"{}")
        except Unavailable:
            break
    with pytest.raises(Unavailable, match=re.escape(words.used_up(0.35))):
        calls.call(endpoint(server.url, 1.0, cycle=0.35), "good", b"{}")

    assert len(server.requests) <= 4, "each of them took at least 0.1 s"
    assert caller.cycle().call(endpoint(server.url), "good", b"{}") == b'{"ok": true}', (
        "the next cycle has its own time"
    )


class SilentService:
    """A service that never answers in time, by a clock that tests can put forward."""

    def __init__(self, url: str) -> None:
        self.where = endpoint(url, 0.05)
        self.caller = Caller(self.now)
        self.offset = 0.0
        self.silent = 0.0
        """How long the latest cycle of calls took, at most: on a busy machine more than they wait for an answer."""

    def now(self) -> float:
        return time.monotonic() + self.offset

    def fails(self) -> int:
        """Calls that were really made in one cycle of five."""
        before, calls, began = self.caller.counts["failed"], self.caller.cycle(), self.now()
        for _ in range(5):
            with pytest.raises(Unavailable):
                calls.call(self.where, "hanging", b"{}")
        failed = self.caller.counts["failed"] - before
        self.silent = self.now() - began if failed else self.silent
        return failed

    def let_rest(self) -> None:
        """Put the clock forward, beyond the time that the service is left alone for."""
        self.offset += 2 * REST_FACTOR * self.silent


def test_a_silent_service_is_left_alone_for_ten_times_as_long_as_it_was_silent(server: ExtenderServer) -> None:
    service = SilentService(server.url)
    with service.caller as caller:
        assert service.fails() == FAILURES_IN_A_ROW
        assert service.fails() == 0
        service.let_rest()
        assert service.fails() == 1, "one call tells whether it is back"
        assert service.fails() == 0
        service.let_rest()
        assert caller.cycle().call(endpoint(server.url), "good", b"{}") == b'{"ok": true}'
        assert service.fails() == FAILURES_IN_A_ROW, "an answer makes up for all that was before"


def test_hanging_up_ends_the_call_that_is_under_way(server: ExtenderServer) -> None:
    caller, told = Caller(), []

    def call() -> None:
        try:
            caller.cycle().call(endpoint(server.url, 20.0, 20.0), "hanging", b"{}")
        except Unavailable as error:
            told.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    until_now(lambda: server.requests)
    began = time.monotonic()
    caller.close()
    thread.join()

    assert time.monotonic() - began < 15.0, "less than it may take"
    assert len(told) == 1
    assert "no longer called" in failure(caller, endpoint(server.url), "good")
