"""``vsched rbac``: manifests that allow what a daemon needs, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.support.charts import rights_in
from vsched.cli import cli
from vsched.daemon.options import Options
from vsched.daemon.permissions.needs import Right, needed
from vsched.kube.lease.record import LeaseSettings

Obj = dict[str, Any]


def printed(*flags: str) -> list[Obj]:
    result = CliRunner().invoke(cli, ["rbac", *flags], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


CASES: dict[str, tuple[tuple[str, ...], Options]] = {
    "a scheduler": ((), Options()),
    "an arbitrator, which elects a leader": (
        ("--arbitrate", "--no-schedule"),
        Options(arbitrate=True, schedule=False, leader_elect=True),
    ),
    "beside Volcano's controllers": (
        (
            *("--no-queue-controller", "--no-podgroup-controller", "--no-job-controller", "--no-gate-controller"),
            *("--eviction-mode", "delete"),
        ),
        Options(
            queue_controller=False,
            podgroup_controller=False,
            job_controller=False,
            gate_controller=False,
            eviction_mode="delete",
        ),
    ),
    "vcjobs, whether Volcano runs or not": (("--volcano-namespace", ""), Options(volcano_namespace="")),
    "with a lease elsewhere": (
        ("--leader-elect", "--leader-elect-resource-namespace", "kube-system"),
        Options(leader_elect=True, lease=LeaseSettings(namespace="kube-system")),
    ),
}


@pytest.mark.parametrize(("flags", "options"), CASES.values(), ids=CASES.keys())
def test_the_roles_allow_what_is_needed(flags: tuple[str, ...], options: Options) -> None:
    found = printed("--account", "batch/me", *flags)
    wanted = needed(options, None, "batch")
    assert rights_in(found, "me") == wanted
    assert len(wanted) > 15


def test_what_the_policy_is_asked_with_is_allowed(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("actions: allocate\ntiers: [{plugins: [{name: gang}]}]\nmetrics: {type: metrics_server}\n")
    found = rights_in(printed("--account", "batch/me", "--scheduler-conf", str(policy)), "me")
    assert Right("list", "metrics.k8s.io", "nodes") in found


def test_the_config_map_of_mig_geometries_may_be_read_where_pods_ask_for_vgpus(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "actions: allocate\ntiers: [{plugins: [{name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]\n"
    )
    found = rights_in(printed("--account", "batch/me", "--scheduler-conf", str(policy)), "me")
    assert {
        Right(verb, "", "configmaps", "kube-system", "volcano-vgpu-device-config") for verb in ("list", "watch")
    } <= found


BAD = {
    "an account without a namespace": (("--account", "me"), "expected NAMESPACE/NAME"),
    "flags that do not go together": (("--no-schedule",), "--no-schedule: leaves nothing to do"),
    "a flag that run does not know": (("--arbitrat",), "--arbitrat"),
}


@pytest.mark.parametrize(("flags", "text"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_is_refused(flags: tuple[str, ...], text: str) -> None:
    result = CliRunner().invoke(cli, ["rbac", *flags])
    assert result.exit_code != 0
    assert text in result.output + str(result.exception)
