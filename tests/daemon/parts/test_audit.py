"""The audit log of a running daemon: a path that cannot be written is told and stops nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.collector import LOGS, collecting_spans
from tests.support.running import gang, has_listed, node, nodes_of
from tests.support.serving import serving
from tests.support.waiting import until
from vsched.daemon.options import Options, check
from vsched.daemon.words import log as words
from vsched.daemon.words import options as option_words
from vsched.errors import BadInput
from vsched.sim.cluster import Cluster


@pytest.mark.real_time
async def test_decisions_and_what_became_of_them_are_logged_once_the_path_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.mkdir()
    with capture_logs() as told:
        async with (
            Cluster([node("n1")], manifests=[*gang("first", 2), *gang("waits", 9)]) as cluster,
            serving(cluster.url, audit_log=path) as (daemon, _),
        ):
            assert daemon.audit is not None
            await until(lambda: has_listed(daemon) and len(nodes_of(cluster, "first")) == 2)
            [outlet] = daemon.audit.outlets
            await until(lambda: outlet.lost)
            path.rmdir()
            cluster.apply(gang("second", 1))
            await until(lambda: nodes_of(cluster, "second"))
    assert [line["event"] for line in told if line["event"] in (words.AUDIT_LOST, words.AUDIT_GOES_ON)] == [
        words.AUDIT_LOST,
        words.AUDIT_GOES_ON,
    ]
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    assert (lines[0]["event"], lines[0]["lines"]) == ("lost", outlet.lost)
    bind, outcome = (next(line for line in lines if line["event"] == event) for event in ("bind", "bind-outcome"))
    assert (bind["pod"], bind["job"], bind["queue"]) == ("default/second-0", "default/second", "default")
    assert bind["policy"] == daemon.policy.settings.sha256[:16]
    assert (outcome["uid"], outcome["outcome"]) == (bind["uid"], "bound")
    assert lines.index(bind) < lines.index(outcome)


@pytest.mark.real_time
async def test_a_collector_has_the_same_lines_as_log_records_once_it_answers() -> None:
    with capture_logs() as told:
        async with (
            collecting_spans() as collector,
            Cluster([node("n1")], manifests=gang("first", 2)) as cluster,
        ):
            collector.refuse(400, LOGS)
            async with serving(cluster.url, audit_log_otlp=True, otlp_endpoint=collector.url) as (daemon, _):
                assert daemon.audit is not None
                [outlet] = daemon.audit.outlets
                await until(lambda: outlet.lost)
                refused = len(collector.records)
                collector.refuse(200, LOGS)
                cluster.apply(gang("second", 1))
                await until(lambda: nodes_of(cluster, "second"))
            records = collector.records[refused:]
    assert [line["event"] for line in told if line["event"] in (words.AUDIT_LOST, words.AUDIT_GOES_ON)] == [
        words.AUDIT_LOST,
        words.AUDIT_GOES_ON,
    ]
    assert (records[0].event, records[0].told["vsched.lines"]) == ("vsched.lost", outlet.lost)
    bind = next(each for each in records if each.event == "vsched.bind")
    assert bind.said == "bind default/second-0"
    assert (bind.told["vsched.queue"], bind.told["vsched.policy"]) == (
        "default",
        daemon.policy.settings.sha256[:16],
    )
    outcome = next(each for each in records if each.event == "vsched.bind-outcome")
    assert (outcome.told["vsched.uid"], outcome.told["vsched.outcome"]) == (bind.told["vsched.uid"], "bound")
    assert bind.at <= outcome.at
    figures = daemon.telemetry.registry.get_sample_value
    assert figures("vsched_audit_lines_total", {"name": "not_sent"}) == outlet.lost
    assert figures("vsched_audit_lines_total", {"name": "sent"}) == len(records) - 1


def test_log_records_need_a_collector() -> None:
    with pytest.raises(BadInput) as refused:
        check(Options(audit_log_otlp=True))
    assert str(refused.value) == option_words.AUDIT_WITHOUT_ENDPOINT


def test_a_shadow_decides_nothing_that_could_be_audited(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        check(Options(shadow=True, audit_log=tmp_path / "a"))
    assert str(refused.value) == option_words.not_in_a_shadow("--audit-log")
