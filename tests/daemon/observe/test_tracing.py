"""Traces as a collector gets them: what belongs to which session, and whose trace goes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter

import aiohttp
import pytest
from structlog.testing import capture_logs

from tests.daemon.observe.traced import trace_of_gang, traced
from tests.support.answering import answering, content
from tests.support.collector import collecting_spans
from tests.support.waiting import until
from vsched.daemon.observe.tracing import Tracing, tracing_of
from vsched.daemon.options import Options, check
from vsched.daemon.words import log as words
from vsched.daemon.words import options as option_words
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.writes.writer import Write

pytestmark = pytest.mark.real_time  # the SDK sends from a thread of its own

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


async def test_a_session_has_its_parts_its_claims_and_its_writes() -> None:
    async with traced() as (collector, daemon, url), aiohttp.ClientSession() as session:
        asked = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
        async with session.get(f"{url}/explain/default/train?changes=false", headers=asked) as answer:
            assert answer.status == 200
        await until(lambda: any(span.trace == TRACE for span in collector.spans))
    spans = collector.spans
    [request] = [span for span in spans if span.trace == TRACE]
    assert (request.name, request.parent) == ("GET /explain/{namespace}/{name}", SPAN)
    assert request.told["http.response.status_code"] == 200
    gang = trace_of_gang(spans)
    by_id = {span.id: span for span in gang}
    [whole] = [span for span in gang if not span.parent]
    assert (whole.name, whole.told["vsched.binds"]) == ("session", 4)
    names = Counter(span.name for span in gang)
    assert names.keys() >= {"snapshot", "decide", "hand over", "action allocate", "open session", "claims"}
    [decide] = [span for span in gang if span.name == "decide"]
    assert all(by_id[span.parent] is decide for span in gang if span.name.startswith("action "))
    bindings = [span for span in gang if span.name == "write binding"]
    assert len(bindings) == 4
    assert {span.told["http.response.status_code"] for span in bindings} == {201}
    [claims] = [span for span in gang if span.name == "claims"]
    assert claims.told["vsched.job"] == "default/train"
    assert [span.parent for span in gang if span.name == "write persistentvolumeclaims"] == [claims.id]
    assert daemon.telemetry.registry.get_sample_value("vsched_trace_spans_total", {"name": "sent"}) == len(spans)


async def test_requests_to_the_api_server_say_which_span_they_belong_to() -> None:
    async with collecting_spans() as collector, answering() as server:
        server.replies["/api/v1/x"] = content({})
        tracing = Tracing(collector.url, 1.0, lambda event: None)
        async with ApiClient(tracing.carrying(Connection(server.url))) as client:
            with tracing.write(Write("pod", "PATCH", "/api/v1/x", b"{}")) as span:
                await client.write("PATCH", "/api/v1/x", b"{}")
                await client.get("/api/v1/x")
            await client.get("/api/v1/x")
        await tracing.close()
    known = span.get_span_context()
    told = f"00-{known.trace_id:032x}-{known.span_id:016x}-{known.trace_flags:02x}"
    found = [{name.lower(): value for name, value in each.headers.items()} for each in server.asked]
    assert [each.get("traceparent") for each in found] == [told, told, None]
    assert [span.name for span in collector.spans] == ["write pod"]


async def test_a_collector_that_takes_nothing_is_told_once_and_so_is_its_return() -> None:
    with capture_logs() as told:
        async with collecting_spans() as collector:
            tracing = tracing_of(Options(otlp_endpoint=collector.url))
            assert tracing is not None
            for code, result in ((400, "lost"), (400, "lost"), (200, "sent")):
                collector.refuse(code)
                before = tracing.numbers()["vsched_trace_spans_total"][result]
                with tracing.claims("ns/job"):
                    pass
                await until(lambda now=before, which=result: tracing.numbers()["vsched_trace_spans_total"][which] > now)  # type: ignore[misc]
            await tracing.close()
    assert [line["event"] for line in told] == [words.TRACES_LOST, words.TRACES_GO_ON]


def test_without_the_flag_nothing_of_opentelemetry_is_imported() -> None:
    code = "import sys, vsched.daemon.serving; print([name for name in sys.modules if 'opentelemetry' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_where_it_is_not_installed_the_flag_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(BadInput) as refused:
        tracing_of(Options(otlp_endpoint="http://127.0.0.1:4318"))
    assert str(refused.value) == option_words.NO_OPENTELEMETRY


@pytest.mark.parametrize("given", ["collector:4318", "http://", "http://ann:secret@collector", "http://c/?a=b"])
def test_endpoints_that_are_no_urls_are_refused(given: str) -> None:
    with pytest.raises(BadInput) as refused:
        check(Options(otlp_endpoint=given))
    assert str(refused.value) == option_words.bad_otlp_endpoint(given)


async def test_a_session_that_fails_ends_as_an_error() -> None:
    async with collecting_spans() as collector:
        tracing = Tracing(collector.url, 1.0, lambda event: None)
        tracing.begin(1, 0.5)
        await asyncio.sleep(0)
        await tracing.close()
        [span] = collector.spans
    assert (span.name, span.told["vsched.session"]) == ("session", 1)
    assert span.ended - span.began >= 0.5
