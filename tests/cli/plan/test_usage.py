"""``vsched plan --usage``: figures from a file, what they change, and what is said of a file that cannot be used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.plans import manifests
from vsched.cli import cli
from vsched.cli.plan.usage_file import read_usage
from vsched.cli.plan.words import flags as words
from vsched.errors import BadInput, VschedError
from vsched.model.nodes.usage import Figures, NodeUsage, Reading

CLUSTER = "node n1 cpu=4\nnode n2 cpu=4\njob ns/a min=1 pods=1 cpu=1"
POLICY = """
actions: "enqueue, allocate"
tiers: [{plugins: [{name: gang}, {name: predicates}, {name: usage, arguments: {thresholds: {cpu: 80}}}]}]
"""


def planned(tmp_path: Path, usage: str) -> Result:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "usage").write_text(usage)
    arguments = ["--config", str(tmp_path / "policy.yaml"), "--usage", str(tmp_path / "usage"), "-o", "json"]
    return CliRunner().invoke(cli, ["plan", "-f", "-", *arguments], input=yaml.safe_dump_all(manifests(CLUSTER)))


@pytest.mark.parametrize(
    ("usage", "node"),
    [
        pytest.param(
            "n1: {cpu: {5m: 63.0}, memory: {5m: 40.1}}\nn2: {cpu: {5m: 20}}", "n2", id="YAML, the less loaded"
        ),
        pytest.param('{"n1": {"cpu": {"5m": 20}}, "n2": {"cpu": {"5m": 63.0}}}', "n1", id="JSON"),
        pytest.param("n1: {cpu: {5m: 81}}\nn2: {cpu: {5m: 80}, memory: {5m: 100}}", "n2", id="n1 is closed"),
        pytest.param("n1: {cpu: {5m: {average: 30, spread: 40}}}\nn2: {cpu: {5m: 50}}", "n2", id="n1 varies widely"),
        pytest.param("n1: {cpu: {1h: 81}}\nn2: {cpu: {5m: 50}}", "n1", id="figures over a period that nobody reads"),
    ],
)
def test_what_nodes_use_decides_where_a_pod_goes(tmp_path: Path, usage: str, node: str) -> None:
    found = planned(tmp_path, usage)

    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["cycles"][0]["binds"] == [{"pod": "ns/a.0", "node": node}]
    assert found.stderr == ""


def test_nodes_that_are_in_no_manifest_are_named(tmp_path: Path) -> None:
    found = planned(tmp_path, "".join(f"m{number}: {{cpu: {{5m: 1}}}}\n" for number in range(7)))

    assert found.exit_code == 0
    assert found.stderr == words.no_such_nodes("m0, m1, m2, m3, m4, …") + "\n"


def test_a_file_is_a_reading_that_is_new_now(tmp_path: Path) -> None:
    path = tmp_path / "usage.yaml"
    path.write_text("n1: {cpu: {5m: 63, 1h: {average: 9, spread: 2.5}}}\nn2: {}")

    figures = {"5m": Figures(63.0), "1h": Figures(9.0, 2.5)}
    assert read_usage(str(path), 7.0) == Reading(7.0, {"n1": NodeUsage(7.0, figures), "n2": NodeUsage(7.0)})


def said(words_of: Callable[..., str], *about: object) -> str:
    """What is said of the contents of a file, without its path."""
    return words_of("", *about).removeprefix(": ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", f"{words.BY_NODE}, got None", id="empty"),
        pytest.param("- n1", f"{words.BY_NODE}, got ['n1']", id="a list"),
        pytest.param("n1: 63", f"n1: {words.BY_NODE}, got 63", id="a number for a node"),
        pytest.param("n1: {cpu: 63}", f"n1.cpu: {words.BY_PERIOD}, got 63", id="without a period"),
        pytest.param(
            "7: {cpu: {5m: 1}}",
            said(words.no_text, "", 7, words.BY_NODE),
            id="a number for a name",
        ),
        pytest.param(
            "n1: {gpu: {5m: 1}}",
            said(words.unknown_resource, "n1.gpu", "cpu or memory"),
            id="a resource nobody measures",
        ),
        pytest.param(
            "n1: {cpu: {soon: 1}}",
            said(words.no_period, "n1.cpu.soon", "soon"),
            id="no period",
        ),
        pytest.param(
            "n1: {cpu: {5m: 63%}}",
            said(words.no_percent, "n1.cpu.5m", "63%"),
            id="text for a number",
        ),
        pytest.param("n1: {cpu: {5m: 101}}", said(words.no_percent, "n1.cpu.5m", 101), id="more than all"),
        pytest.param("n1: {cpu: {5m: .nan}}", said(words.no_percent, "n1.cpu.5m", math.nan), id="not a number"),
        pytest.param("n1: {cpu: {5m: true}}", said(words.no_percent, "n1.cpu.5m", True), id="true"),
        pytest.param(
            "n1: {cpu: {5m: {average: 1, spread: -1}}}",
            said(words.no_percent, "n1.cpu.5m.spread", -1),
            id="a negative spread",
        ),
        pytest.param(
            "n1: {cpu: {5m: {avg: 1}}}",
            said(words.no_figures, "n1.cpu.5m", {"avg": 1}),
            id="a misspelling",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "usage.yaml"
    path.write_text(text)

    with pytest.raises(BadInput) as refused:
        read_usage(str(path), 0.0)
    assert str(refused.value) == f"{path}: {problem}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"n1: {cpu", "not YAML or JSON: ", id="half a mapping"),
        pytest.param(b"n1: \xff", "byte 4 is not UTF-8 (expected YAML or JSON text)", id="not text"),
        pytest.param(b"[" * 500_000, "nested too deeply (expected node: ", id="lists in lists"),
        pytest.param(b"{a: " * 500_000, "nested too deeply (expected node: ", id="mappings in mappings"),
        pytest.param(None, "cannot be read: No such file or directory", id="no file"),
    ],
)
def test_what_is_no_document_is_told_in_one_line(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "usage.yaml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(VschedError) as refused:
        read_usage(str(path), 0.0)
    assert str(refused.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(refused.value)
