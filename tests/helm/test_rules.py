"""Alert rules and the dashboard: Prometheus takes them, alerts fire when they should, and every metric exists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
import yaml

from tests.support.charts import CHART, Obj, objects_of, one
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.web.metrics.help_texts import MEANINGS

PROMTOOL = shutil.which("promtool") or ""
needs_promtool = pytest.mark.skipif(
    not PROMTOOL, reason="promtool is not on the PATH (Debian: apt-get install prometheus)"
)
VALUES: Obj = {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}
SERIES = 'job="vsched",namespace="batch"'
VCJOBS = 'job="vsched-vcjobs",namespace="batch"'
METRIC = re.compile(r"\b(?:vsched|volcano)_[a-z0-9_]+")


def rules() -> list[Obj]:
    (group,) = one(objects_of(VALUES), "PrometheusRule")["spec"]["groups"]
    found: list[Obj] = group["rules"]
    return found


def dashboard() -> Obj:
    found: Obj = json.loads(one(objects_of(VALUES), "ConfigMap", "vsched-dashboard")["data"]["vsched.json"])
    return found


def expressions() -> Iterator[tuple[str, str]]:
    """Where it is, and what is asked of Prometheus."""
    yield from ((rule["alert"], rule["expr"]) for rule in rules())
    for panel in dashboard()["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))
    yield from ((each["name"], str(each["query"])) for each in dashboard()["templating"]["list"])


def promtool(*arguments: str) -> None:
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Each alert: series by 30 seconds, when it is asked, and the labels it fires with besides its own.
LEADS = f'vsched_leader{{{SERIES},name="vsched",pod="%s"}}'
FIRES: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "VschedDown": ({f"up{{{SERIES}}}": "0x20"}, "5m", {}),
    "VschedNoLeader": ({LEADS % "a": "1 0x20", LEADS % "b": "0x20"}, "4m", {}),
    "VschedVcjobsDown": ({f"vsched_leader{{{VCJOBS}}}": "0x40"}, "15m", {}),
    "VschedLeaderChanges": ({f"vsched_leader_transitions_total{{{SERIES}}}": "0+1x60"}, "25m", {}),
    "VschedPolicyRefused": ({f'vsched_policy_reloads_total{{{SERIES},result="failure"}}': "0x5 1x20"}, "8m", {}),
    "VschedRolloutTakenBack": ({f'vsched_rollout_taken_back{{{SERIES},name=""}}': "0x5 1x20"}, "5m", {}),
    "VschedShadowLogFull": ({f"vsched_shadow_lost_findings_total{{{SERIES}}}": "0x5 3x40"}, "5m", {}),
    "VschedMirrorOld": ({f"vsched_mirror_age_seconds{{{SERIES}}}": "300x40"}, "10m", {}),
    "VschedUselessEvictions": (
        {f'vsched_useless_evictions_total{{{SERIES},action="reclaim"}}': "0x5 1x40"},
        "10m",
        {"action": "reclaim"},
    ),
    "VschedRuleViolated": (
        {f'vsched_verify_violations_total{{{SERIES},rule="gangs: gangs start whole"}}': "0x5 1x40"},
        "10m",
        {"rule": "gangs: gangs start whole"},
    ),
    "VschedSessionsFail": ({f"vsched_cycle_exceptions_total{{{SERIES}}}": "0x5 3x20"}, "5m", {}),
    "VschedSessionsSlow": (
        {
            f'vsched_cycle_seconds_bucket{{{SERIES},le="{le}"}}': f"0+{by}x80"
            for le, by in (("5", 1), ("+Inf", 9), ("10", 9))
        },
        "30m",
        {},
    ),
    "VschedLoopLags": (
        {
            f'vsched_loop_lag_seconds_bucket{{{SERIES},le="{le}"}}': f"0+{by}x60"
            for le, by in (("1", 1), ("+Inf", 9), ("2", 9))
        },
        "20m",
        {},
    ),
    "VschedWritesForbidden": (
        {f'vsched_api_writes_total{{{SERIES},kind="event",code="403"}}': "0+1x60"},
        "20m",
        {"kind": "event"},
    ),
    "VschedWritesFail": (
        {
            f'vsched_api_writes_total{{{SERIES},kind="binding",code="201"}}': "0+90x60",
            f'vsched_api_writes_total{{{SERIES},kind="binding",code="0"}}': "0+10x60",
        },
        "20m",
        {},
    ),
    "VschedBindingsFail": (
        {
            f'vsched_bindings_total{{{SERIES},verdict="bound"}}': "0+80x80",
            f'vsched_bindings_total{{{SERIES},verdict="refused"}}': "0+20x80",
        },
        "30m",
        {},
    ),
    "VschedWritesPileUp": ({f'vsched_queue_depth{{{SERIES},name="events"}}': "20000x60"}, "20m", {"name": "events"}),
    "VschedUsageOld": ({f'vsched_usage_age_seconds{{{SERIES},name="p"}}': "400x40"}, "10m", {}),
    "VschedArbitrationFails": (
        {f'vsched_arbitration_rounds_total{{{SERIES},result="error"}}': "0+1x60"},
        "20m",
        {},
    ),
    "VschedNamespaceOverused": (
        {f'vsched_namespace_overused_seconds{{{SERIES},exported_namespace="a"}}': "1000x60"},
        "10m",
        {"exported_namespace": "a"},
    ),
}
ELSEWHERE = {key: value for series, _, _ in FIRES.values() for key, value in series.items()}
"""The same series under another release's labels: nobody is to be alerted of them here."""


def cases() -> Iterator[Obj]:
    labels = {rule["alert"]: rule["labels"] for rule in rules()}
    for alert, (series, at, more) in FIRES.items():
        everywhere = dict(series) if alert == "VschedDown" else {f"up{{{SERIES}}}": "1x100", **series}
        if alert != "VschedNoLeader":
            everywhere[LEADS % "c"] = "1x100"
        if alert != "VschedVcjobsDown":
            everywhere[f"vsched_leader{{{VCJOBS}}}"] = "1x100"
        yield {
            "name": alert,
            "interval": "30s",
            "input_series": [{"series": name, "values": values} for name, values in everywhere.items()],
            "alert_rule_test": [
                {"eval_time": at, "alertname": alert, "exp_alerts": [{"exp_labels": {**labels[alert], **more}}]},
                *({"eval_time": at, "alertname": other, "exp_alerts": []} for other in FIRES if other != alert),
            ],
        }
    theirs = [{"series": key.replace('"vsched"', '"other"', 1), "values": value} for key, value in ELSEWHERE.items()]
    fine = [{"series": f"up{{{SERIES}}}", "values": "1x100"}, {"series": LEADS % "a", "values": "1x100"}]
    fine.append({"series": f"vsched_leader{{{VCJOBS}}}", "values": "1x100"})
    yield {
        "name": "another release's troubles",
        "interval": "30s",
        "input_series": theirs + fine,
        "alert_rule_test": [{"eval_time": "20m", "alertname": alert, "exp_alerts": []} for alert in FIRES],
    }


@needs_promtool
def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    found = rules()
    assert {rule["alert"] for rule in found} == set(FIRES)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "vsched", "rules": found}]}))
    promtool("check", "rules", str(tmp_path / "rules.yaml"))
    # What a text says is not repeated here: only that it can be said.
    bare = [{key: value for key, value in rule.items() if key != "annotations"} for rule in found]
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump({"groups": [{"name": "vsched", "rules": bare}]}))
    tests = {"rule_files": ["bare.yaml"], "evaluation_interval": "30s", "tests": list(cases())}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests))
    promtool("test", "rules", str(tmp_path / "tests.yaml"))


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert len(rule["annotations"]["description"]) > 40
        assert (VCJOBS if rule["alert"] == "VschedVcjobsDown" else SERIES) in rule["expr"].replace("{ ", "{")


def test_every_alert_has_a_runbook() -> None:
    headings = re.findall(r"^## (\w+)$", (CHART / "runbooks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [rule["alert"] for rule in rules()]
    for url, first in (("", "helm/vsched/runbooks.md#vscheddown"), ("https://x/r", "https://x/r#vscheddown")):
        objects = objects_of({"prometheusRule": {"enabled": True, "runbookUrl": url}})
        (group,) = one(objects, "PrometheusRule")["spec"]["groups"]
        assert group["rules"][0]["annotations"]["runbook_url"] == first
    found = objects_of({"prometheusRule": {"enabled": True, "runbookUrl": "https://x/r/"}})
    (group,) = one(found, "PrometheusRule")["spec"]["groups"]
    assert group["rules"][0]["annotations"]["runbook_url"] == "https://x/r/VschedDown"


def test_panels_have_titles_and_places_of_their_own() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 15
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


FROM_ELSEWHERE = {"vsched_usage_age_seconds", "vsched_leader_transitions_total"}
"""Of a daemon with a source of usage, and of one with a Lease."""


async def test_every_metric_that_is_asked_for_exists() -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0", arbitrate=True) as daemon,
    ):
        cluster.apply([*gang("small", 2), *gang("large", 9)])
        await until(lambda: len(nodes_of(cluster, "small")) == 2 and daemon.telemetry.findings.arbitrated)
        port = daemon.ports["--listen-address"]
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as response:
            text = await response.text()
    families = {found.group(1) for found in re.finditer(r"^# TYPE (\S+) ", text, re.MULTILINE)}
    assert len(families) > 40
    asked = {name for _, text in expressions() for name in METRIC.findall(text)} - FROM_ELSEWHERE
    of_shadows = {name for name in asked if name.startswith("vsched_shadow_")}
    assert of_shadows <= MEANINGS.keys()
    asked -= of_shadows
    assert len(asked) > 25
    missing = asked - families
    assert {name for name in missing if re.sub(r"_(bucket|sum|count)$", "", name) not in families} == set()
