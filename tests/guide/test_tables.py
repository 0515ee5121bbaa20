"""The tables of the guide have what the code has: arguments, metrics, alerts, values, samples, words."""

from __future__ import annotations

import re
import tomllib
from itertools import zip_longest
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml

from tests.guide.conftest import Guided
from tests.support.pages import TOP, page, pages, rows, words_in
from tests.support.shadowing import shadowing
from tests.support.waiting import until
from vsched import __version__, api
from vsched.cli.run.command import command
from vsched.controllers.vcjobs.admission import ACTIONS, EVENTS
from vsched.controllers.vcjobs.plugins import PLUGINS as VCJOB_PLUGINS
from vsched.controllers.vcjobs.reconcile import NO_CLAIM, REFUSED, UNCREATED
from vsched.controllers.vcjobs.spec import JobPhase
from vsched.controllers.vcjobs.states import EndReason
from vsched.framework.codes import Code
from vsched.model.pods.ignorable import IGNORABLE
from vsched.settings.built_in import REGISTRY
from vsched.settings.metrics import MetricsSource
from vsched.settings.reading.arguments import flat_arguments
from vsched.settings.reading.values import keys_of
from vsched.sim.cluster import Cluster

POLICY = page("config/policies/README.md")
OPERATIONS = page("vsched/daemon/README.md")
METRIC = re.compile(r"\b(?:vsched|volcano)_[a-z0-9_]+\b(?!\.py)")
NOT_YET = {
    "vsched_usage_age_seconds",
    "vsched_usage_nodes",
    "vsched_leader_transitions_total",
    "vsched_shards",
    "vsched_shard_loans",
    "vsched_usage_history_last_write_timestamp_seconds",
    "vsched_work_trace_lines_total",
    "vsched_audit_lines_total",
    "vsched_trace_spans_total",
}
"""Metrics of a daemon with a source of usage, of one with a Lease, of one with shards, of one that has written its
history, of one that records the work of its cluster, of one with an audit log, of one with traces."""


def test_the_page_says_of_every_kind_how_much_is_read() -> None:
    said = page("config/README.md").prose.partition("## How much is read of one object")[2].partition("\n## ")[0]
    kinds = {kind.partition(".")[0] for kind in api.KINDS | api.HEEDED}
    assert [kind for kind in sorted(kinds) if kind.lower() not in said.lower()] == []


def pattern_of(name: str) -> str:
    """An argument with its free part as a star: ``resources.<name>.weight`` is ``resources.*.weight``."""
    return re.sub(r"<[a-z]+>", "*", name)


def shown(value: Any) -> str:
    """A default as the tables write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or value == "" else str(value)


def documented(table: str, column: int) -> dict[str, str]:
    """The arguments of a table with their defaults."""
    return {pattern_of(name): "".join(words_in(row[column])) for row in rows(table) for name in words_in(row[0])}


@pytest.mark.parametrize("name", REGISTRY.plugins)
def test_every_plugin_is_described_with_its_arguments(name: str) -> None:
    assert f"[`{name}`](#{name})" in POLICY.section("Plugins")
    args_type = REGISTRY.plugins[name].args_type
    found = documented(POLICY.section(name), 1)
    assert set(found) == {key.name for key in keys_of(args_type)}
    defaults = flat_arguments(args_type())
    assert found == {name: shown(defaults.get(name)) for name in found}


def test_every_action_is_described_with_its_arguments() -> None:
    table = POLICY.section("Actions")
    assert {words_in(row[0])[0] for row in rows(table) if len(row) == 2} == set(REGISTRY.actions)
    described = [row for row in rows(table) if len(row) == 4]
    for name, action in REGISTRY.actions.items():
        defaults = flat_arguments(action.args_type())
        mine = [row for row in described if _is_of(name, row[1])]
        assert {pattern_of(words_in(row[0])[0]) for row in mine} == {key.name for key in keys_of(action.args_type)}, (
            name
        )
        for row in mine:
            key = pattern_of(words_in(row[0])[0])
            assert "".join(words_in(row[2])) == shown(defaults.get(key)), key


def _is_of(action: str, cell: str) -> bool:
    return (action not in words_in(cell)) if cell.startswith("all but") else (action in words_in(cell))


def test_every_key_of_the_block_about_usage_is_described() -> None:
    table = list(rows(POLICY.section("Usage of nodes")))
    found = {name for row in table for cell in (row[0], row[2]) for name in words_in(cell)}
    keys = {re.sub(r"Secret\..*", "Secret", key.name) for key in keys_of(MetricsSource)}
    assert keys - found == set()
    defaults = flat_arguments(MetricsSource())
    told = {words_in(row[0])[0]: "".join(words_in(row[1])) for row in table}
    wrong = {key: value for key, value in told.items() if value != shown(defaults.get(key))}
    assert wrong == {}


def test_every_example_policy_and_every_sample_has_a_row() -> None:
    for name in ("config/policies", "config/samples"):
        text = page(f"{name}/README.md").prose
        there = {path.name for path in (TOP / name).glob("*.yaml")}
        assert {one for one in there if f"| [{one}]({one}) |" not in text} == set()


def test_every_plugin_of_vcjobs_is_described_with_its_arguments() -> None:
    table = [row for row in rows(page("config/samples/vcjobs/README.md").section("Plugins")) if len(row) in (3, 4)]
    assert [words_in(row[0])[0] for row in table if len(row) == 3] == list(VCJOB_PLUGINS)
    described = {
        (plugin, argument): default
        for row in table
        if len(row) == 4
        for plugin in words_in(row[1])
        for argument, default in zip_longest(words_in(row[0]), words_in(row[2]), fillvalue="")
    }
    fields = {
        (name, each.encode_name): each for name, of in VCJOB_PLUGINS.items() for each in msgspec.structs.fields(of)
    }
    by_their_names = {(plugin, name) for (plugin, name), field in fields.items() if field.default == name}
    assert set(described) == set(fields)
    assert {key: said for key, said in described.items() if key not in by_their_names} == {
        key: shown(field.default) for key, field in fields.items() if key not in by_their_names
    }


def test_policies_and_phases_of_vcjobs_are_described() -> None:
    guide = page("config/samples/vcjobs/README.md")
    named = [words_in(row[0]) for row in rows(guide.section("Policies"))]
    assert {word for words in named for word in words} == EVENTS | ACTIONS
    named = [words_in(row[0]) for row in rows(guide.section("Phases"))]
    phases = {phase for phase in JobPhase if phase}
    reasons = {REFUSED, NO_CLAIM, UNCREATED, *EndReason}
    assert {word for words in named for word in words} == phases | reasons


def test_every_reason_is_explained() -> None:
    found = {word for row in rows(page("vsched/explain/README.md").section("Reasons")) for word in words_in(row[0])}
    assert found == {code.value for code in Code}


def test_every_word_that_can_be_ignored_is_explained() -> None:
    table = page("config/README.md").section("What is not supported")
    assert {word for row in rows(table) for word in words_in(row[2])} == set(IGNORABLE)


def test_the_alerts_are_those_of_the_chart() -> None:
    text = (TOP / "helm/vsched/files/alerts.yaml").read_text(encoding="utf-8")
    told = [words_in(row[0])[0] for row in rows(OPERATIONS.section("Alerts"))]
    assert told == re.findall(r"^- alert: (\w+)$", text, re.MULTILINE)
    named = {word for found in pages() for word in re.findall(r"\bVsched[A-Z]\w+", found.prose)}
    assert named - set(told) == {"VschedError"}


def test_every_value_of_the_chart_is_described_and_no_other() -> None:
    values = yaml.safe_load((TOP / "helm/vsched/values.yaml").read_text(encoding="utf-8"))
    named = [word for row in rows(page("helm/vsched/README.md").section("Values")) for word in words_in(row[0])]
    for word in named:
        inner: Any = values
        for part in word.split("."):
            assert part in inner, word
            inner = inner[part]
    assert set(values) - {word.partition(".")[0] for word in named} == set()


async def shadows(path: str, log: Path) -> str:
    """What a shadow answers at its address."""
    async with Cluster([]) as cluster, shadowing(cluster, listen_address="127.0.0.1:0", shadow_log=log) as shadow:
        await until(lambda: shadow.health.ready().ok)
        address = f"http://127.0.0.1:{shadow.ports['--listen-address']}{path}"
        async with aiohttp.ClientSession() as session, session.get(address) as response:
            return await response.text()


async def test_every_metric_that_is_named_exists(guided: Guided, tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"http://{guided.daemon}/metrics") as response:
        text = await response.text()
    text += "\n" + await shadows("/metrics", tmp_path)
    families = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)) | NOT_YET
    named = {name for found in pages() for name in METRIC.findall(found.prose)}
    assert len(named) > 30
    assert named - families == set()


async def test_every_address_is_described_and_no_other(guided: Guided, tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"http://{guided.daemon}/") as response:
        served = set(msgspec.json.decode(await response.read(), type=dict[str, str]))
    served |= set(msgspec.json.decode(await shadows("/", tmp_path), type=dict[str, str]))
    table = rows(page("vsched/web/README.md").section("Addresses"))
    told = {word for row in table for word in words_in(row[0]) if word.startswith("/")} - {"/"}
    apart = {"/page/{file}", "/extender/prioritize", "/extender/preempt", "/extender/bind"}
    assert told == served - apart


def test_the_version_has_its_changes() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert re.search(rf"^## \[{re.escape(__version__)}\]", page("CHANGELOG.md").prose, re.MULTILINE)
    chart = yaml.safe_load((TOP / "helm/vsched/Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == __version__
    (licence,) = [(TOP / name).read_text(encoding="utf-8") for name in project["license-files"]]
    assert project["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in licence


def test_files_of_systemd_are_installed_where_the_table_says() -> None:
    steps = (TOP / "Makefile").read_text(encoding="utf-8").splitlines()
    table = [row for row in rows(page("systemd/README.md").prose) if len(row) == 3]
    assert len(table) == 4
    for found, place, _ in table:
        name = found.partition("[")[2].partition("]")[0]
        target = f"systemd/{name} $(DESTDIR){words_in(place)[0]}"
        assert any(line.endswith(target) for line in steps), target


def test_defaults_of_flags_are_those_that_pages_tell() -> None:
    flags = {flag: option.default for option in command.params for flag in option.opts}
    told = [found for each in pages() for found in re.findall(r"`(--[a-z-]+)` \(`?([\w:. ]+?)`?\)", each.prose)]
    told = [(flag, text.replace(" ", "")) for flag, text in told if flag in flags and text != "repeatable"]
    assert len(told) > 8
    assert told == [(flag, str(flags[flag]) or "none") for flag, _ in told]


def test_the_rooms_are_on_the_floors_that_are_checked() -> None:
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one.get("type") == "layers" and "containers" not in one)
    rooms = [[room.strip().removeprefix("vsched.") for room in layer.split("|")] for layer in layers]
    folders = [layer for layer in rooms if (TOP / "vsched" / layer[0]).is_dir()]
    told: dict[str, list[str]] = {}
    for row in rows(page("vsched/README.md").section("Rooms")):
        told.setdefault(row[0], []).extend(words_in(row[1]))
    assert list(told) == [str(floor) for floor in range(len(folders), 0, -1)]
    assert list(told.values()) == folders
