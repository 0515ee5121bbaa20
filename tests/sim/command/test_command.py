"""``vsched cluster`` as a person uses it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from textwrap import indent
from urllib.request import urlopen

import pytest
import yaml
from click.testing import CliRunner

from tests.support.waiting import until_now
from vsched.apimachinery.manifests.node_groups import FleetGroup
from vsched.cli import cli
from vsched.errors import VschedError
from vsched.settings.words import policy as policy_words
from vsched.sim.command.examples import DEVICES_EXAMPLE, NODES_EXAMPLE
from vsched.sim.fleet.device_plugins import PluginGroup
from vsched.sim.fleet.devices import DeviceGroup, read_devices
from vsched.sim.fleet.nodes import read_fleet

GUIDE = Path(__file__).parents[3] / "vsched/sim/README.md"
COMMAND = [sys.executable, "-m", "vsched", "cluster"]


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def test_the_description_of_nodes_that_help_and_guide_show_is_whole_and_good(tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli, ["cluster", "--help"]).stdout
    assert indent(NODES_EXAMPLE, "    ") in shown
    assert NODES_EXAMPLE in GUIDE.read_text(encoding="utf-8")
    path = tmp_path / "fleet.yaml"
    path.write_text(NODES_EXAMPLE)
    assert [node["metadata"]["name"] for node in read_fleet(path)][99:101] == ["cpu-99", "gpu-0"]
    assert {key for group in yaml.safe_load(NODES_EXAMPLE)[:2] for key in group} == {
        each.name for each in fields(FleetGroup)
    }


def test_the_description_of_devices_that_help_and_guide_show_is_whole_and_good(tmp_path: Path) -> None:
    assert indent(DEVICES_EXAMPLE, "    ") in CliRunner().invoke(cli, ["cluster", "--help"]).stdout
    assert DEVICES_EXAMPLE in GUIDE.read_text(encoding="utf-8")
    path = tmp_path / "devices.yaml"
    path.write_text(DEVICES_EXAMPLE)
    found, groups = read_devices(path), yaml.safe_load(DEVICES_EXAMPLE)
    assert [len(pool.devices) for pool in found.pools] == [8, 2, 2]
    plugins = [(devices.plugin, devices.count) for devices in found.plugins]
    assert plugins == [("vgpu", 4), ("gpu", 2), ("Ascend910B3", 8), ("nvidia.com/gpu", 8)]
    assert {key for group in groups[:3] for key in group} == set(DeviceGroup.__struct_encode_fields__)
    assert {key for group in groups[4:] for key in group} == set(PluginGroup.__struct_encode_fields__)


def test_it_publishes_the_devices_of_a_file(tmp_path: Path) -> None:
    config, path = tmp_path / "config", tmp_path / "devices.yaml"
    path.write_text("- {driver: gpu.example.com, count: 2}")
    with running("--nodes", "2", "--kubeconfig-out", str(config), "--devices", str(path)) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("API server")
        url = yaml.safe_load(config.read_text())["clusters"][0]["cluster"]["server"]

        def published() -> list[str]:
            with urlopen(f"{url}/apis/resource.k8s.io/v1/resourceslices") as answer:
                return [each["spec"]["nodeName"] for each in json.load(answer)["items"]]

        until_now(lambda: published() == ["node-0", "node-1"])


def test_devices_need_their_driver() -> None:
    result = CliRunner().invoke(cli, ["cluster", "--api-only", "--devices", "devices.yaml"])
    assert (result.exit_code, "--devices: has no effect" in result.output) == (2, True)


def test_a_bad_file_of_devices_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text("- driver: d\n  count: many\n")
    result = CliRunner().invoke(cli, ["cluster", "--devices", str(path)])
    assert isinstance(result.exception, VschedError)
    assert (str(result.exception), result.stdout) == (
        f"{path}, line 2: [0].count: must be an integer, is a string",
        "",
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_end(tmp_path: Path, number: signal.Signals) -> None:
    config, pods = tmp_path / "config", tmp_path / "pods.yaml"
    container = {"name": "c", "image": "i"}
    pods.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]},
    }))  # fmt: skip
    with running("--nodes", "2", "--kubeconfig-out", str(config), "-f", str(pods)) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(3)]
        url = yaml.safe_load(config.read_text())["clusters"][0]["cluster"]["server"]
        assert url in lines[0]
        assert str(config) in lines[1]
        assert f"kubectl --kubeconfig {config} get nodes" in lines[2]
        with urlopen(f"{url}/api/v1/nodes") as answer:
            assert len(json.load(answer)["items"]) == 2
        with urlopen(f"{url}/api/v1/namespaces/default/pods/p") as answer:
            assert answer.status == 200
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out, err) == (0, "", "")


def test_it_tells_what_pods_use(tmp_path: Path) -> None:
    config, pods = tmp_path / "config", tmp_path / "pods.yaml"
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "16"}}}
    pods.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"nodeName": "node-0", "containers": [container]},
    }))  # fmt: skip
    arguments = ("--nodes", "1", "--usage", "0.5", "--usage-window", "200ms")
    with running(*arguments, "--kubeconfig-out", str(config), "-f", str(pods)) as child:
        assert child.stdout is not None
        _ = [child.stdout.readline() for _ in range(3)]
        url = yaml.safe_load(config.read_text())["clusters"][0]["cluster"]["server"]

        def used() -> str:
            with urlopen(f"{url}/apis/custom.metrics.k8s.io/v1beta2/nodes/*/node_cpu_usage_avg") as answer:
                return str(json.load(answer)["items"][0]["value"])

        until_now(lambda: used() == "250m")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--usage", "2-1"], "'2-1': expected a share of the request such as 0.6", id="shares in disorder"),
        pytest.param(["--usage", "most"], "'most': expected a share of the request such as 0.6", id="no share"),
        pytest.param(["--usage", "1", "--api-only"], "--usage: has no effect with --api-only", id="no machines"),
        pytest.param(["--usage", "1", "--no-kubelets"], "--usage: has no effect with --no-kub", id="no kubelets"),
    ],
)
def test_usage_that_makes_no_sense_is_refused(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, ["cluster", *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_help_shows_an_example() -> None:
    result = CliRunner().invoke(cli, ["cluster", "--help"])
    assert result.exit_code == 0
    assert "vsched cluster --nodes 100 --kubeconfig-out sim.kubeconfig\n" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--nodes", "none.yaml"],
            policy_words.cannot_be_read("none.yaml", "No such file"),
            id="a fleet that is missing",
        ),
        pytest.param(
            ["-f", "none.yaml"],
            policy_words.cannot_be_read("none.yaml", "No such file"),
            id="a manifest that is missing",
        ),
        pytest.param(["-f", "bad.yaml"], "bad.yaml: document 2, line ", id="a manifest that is no YAML"),
        pytest.param(["--host", "0.0.0.0"], "host '0.0.0.0' is not a loopback address", id="an open address"),
        pytest.param(["--nodes", "1000000"], "1000000 nodes: expected 0 to 100000", id="too many nodes"),
    ],
)
def test_bad_input_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("apiVersion: v1\n---\n{broken\n")
    result = CliRunner().invoke(cli, ["cluster", *arguments])
    assert isinstance(result.exception, VschedError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--default-duration", "soon"], "'soon' is not a duration", id="a duration that is none"),
        pytest.param(["--port", "70000"], "70000 is not in the range", id="a port that is none"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, ["cluster", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_port_that_is_taken_ends_with_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        arguments = ["--port", str(port), "--kubeconfig-out", str(tmp_path / "config")]
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_bad_file_of_faults_ends_with_one_line(tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text("rules: [{fault: error, percent: 500}]")
    refused = CliRunner().invoke(cli, ["cluster", "--faults", str(faults)])
    assert isinstance(refused.exception, VschedError)
    assert str(refused.exception) == f"{faults}: rules[0].percent: must be a number <= 100.0"
