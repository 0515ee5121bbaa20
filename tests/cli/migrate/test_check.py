"""``vsched migrate check`` against an embedded cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.shell import shell
from vsched.apimachinery.meta.api_errors import Failure
from vsched.cli import cli
from vsched.cli.migrate.check.read import PAGE
from vsched.cli.migrate.check.words import verdicts as verdicts_words
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.requests.request import ApiRequest

Obj = dict[str, Any]
SAMPLE = Path(__file__).parents[3] / "config/migration/volcano.yaml"


def objects() -> list[Obj]:
    return list(yaml.safe_load_all(SAMPLE.read_text(encoding="utf-8")))


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["migrate", "check", "--kubeconfig", str(folder / "config"), *words])


async def checked(cluster: Cluster, folder: Path, *words: str) -> Result:
    cluster.write_kubeconfig(folder / "config")
    return await asyncio.to_thread(run, folder, *words)


class Asked:
    """Keeps what a cluster is asked, and refuses to tell of some kinds."""

    def __init__(self, *hidden: str) -> None:
        self.methods: set[str] = set()
        self.paths: list[str] = []
        self._hidden = hidden

    async def __call__(self, call: ApiRequest) -> None:
        self.methods.add(call.method)
        self.paths.append(call.path)
        if call.path.endswith(self._hidden or ("/nobody",)):
            raise Failure(403, "Forbidden", "this is not for you")


async def test_the_sample_lacks_nothing_and_nothing_is_written(tmp_path: Path) -> None:
    asked = Asked()
    async with Cluster(1, manifests=objects(), gate=asked) as cluster:
        page = await checked(cluster, tmp_path)
        found = await checked(cluster, tmp_path, "-o", "json")
    assert (page.exit_code, found.exit_code) == (0, 0)
    assert asked.methods == {"GET"}
    report = json.loads(found.stdout)
    assert (report["counts"]["missing"], report["counts"]["not read"]) == (0, 0)
    assert (len(report["switch"]), len(report["back"])) == (5, 3)
    verdicts = {one["what"].strip(): one["verdict"] for one in report["findings"]}
    assert verdicts["plugin gang"] == "works"
    assert verdicts["--percentage-nodes-to-find=50"] == "differs"
    assert verdicts["volcano.sh/sla-waiting-time"] == "works"
    lines = page.output.splitlines()
    assert any(line.startswith("  predicate.CacheEnable: true") and "differs" in line for line in lines)
    assert any("vc-scheduler:v1.14.1" in line for line in lines)
    assert all(f"   {step['command']}" in lines for step in (*report["switch"], *report["back"]))


async def test_what_is_missing_is_the_exit_code(tmp_path: Path) -> None:
    every = objects()
    policy = next(one for one in every if one["kind"] == "ConfigMap")["data"]
    policy["volcano-scheduler.conf"] = policy["volcano-scheduler.conf"].replace("binpack", "tightpack")
    async with Cluster(manifests=every) as cluster:
        found = await checked(cluster, tmp_path)
    assert found.exit_code == 1
    (line,) = (one for one in found.output.splitlines() if "plugin tightpack" in one)
    assert "missing" in line
    assert "1 missing" in found.output


async def test_what_we_may_not_read_is_said(tmp_path: Path) -> None:
    async with Cluster(manifests=objects(), gate=Asked("/podgroups")) as cluster:
        found = await checked(cluster, tmp_path, "-o", "json")
    report = json.loads(found.stdout)
    assert found.exit_code == 1
    assert [one for one in report["findings"] if one["verdict"] == "not read"] == [
        {"part": "not read", "what": "PodGroup", "verdict": "not read", "says": "this is not for you", "count": None}
    ]


async def test_another_namespace_has_no_volcano(tmp_path: Path) -> None:
    async with Cluster(manifests=objects()) as cluster:
        found = await checked(cluster, tmp_path, "-n", "elsewhere")
    assert found.exit_code == 1
    assert verdicts_words.none_in_namespace("elsewhere") in found.output


async def test_very_many_pods_are_read_page_by_page(tmp_path: Path) -> None:
    asked = Asked()
    async with Cluster(settings=ClusterSettings(controllers=None), manifests=objects(), gate=asked) as cluster:
        for number in range(2 * PAGE + 1):
            volumes = [{"name": "v", "rbd": {"image": "x", "monitors": ["m"]}}] if number == 2 * PAGE else []
            container = {"name": "main", "image": "x"}
            metadata = {"name": f"p{number}", "namespace": "default", "annotations": {"volcano.sh/task-spec": "a"}}
            spec = {"schedulerName": "volcano", "containers": [container], "volumes": volumes}
            cluster.client.create("pods", {"metadata": metadata, "spec": spec})
        report = json.loads((await checked(cluster, tmp_path, "-o", "json")).stdout)
    counts = {one["what"]: one["count"] for one in report["findings"]}
    assert counts["schedulerName volcano"] == counts["volcano.sh/task-spec"] == 2 * PAGE + 1
    (missing,) = (one for one in report["findings"] if one["verdict"] == "missing")
    assert missing["says"].startswith("spec.volumes: rbd: ")
    assert asked.paths.count("/api/v1/pods") == 3


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
async def test_a_webhook_that_nobody_answers_is_missing(tmp_path: Path, kind: str) -> None:
    hook = {
        "name": "jobs.volcano.sh",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {"service": {"namespace": "volcano-system", "name": "volcano-admission-service"}},
        "rules": [{"apiGroups": ["x.example"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["xs"]}],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "volcano-admission"},
        "webhooks": [hook],
    }
    async with Cluster(manifests=[*objects(), configuration]) as cluster:
        found = await checked(cluster, tmp_path)
    assert found.exit_code == 1
    assert "volcano-admission: jobs.volcano.sh" in found.output
    assert "so the API server refuses to create xs" in found.output


@pytest.mark.kubectl
async def test_the_commands_do_what_they_say(tmp_path: Path) -> None:
    async with Cluster(1, manifests=objects()) as cluster:
        report = json.loads((await checked(cluster, tmp_path, "-o", "json")).stdout)
        there, back = ([step["command"] for step in report[way]] for way in ("switch", "back"))
        assert [command.split()[0] for command in (*there, *back)] == [
            *("kubectl", "vsched", "helm", "kubectl", "helm"),
            *("helm", "kubectl", "helm"),
        ]
        in_folder = f"cd {tmp_path}\n"
        printed = await shell(cluster, tmp_path, f"{in_folder}{there[0]}\n{there[1]}\n{there[3]}")
        assert "overcommit-factor: 1.5" in printed
        assert replicas(cluster) == 0
        await shell(cluster, tmp_path, back[1])
        assert replicas(cluster) == 1


def replicas(cluster: Cluster) -> int:
    found = cluster.client.get("apps/deployments", "volcano-system", "volcano-scheduler")
    assert found is not None
    return int(found["spec"]["replicas"])
