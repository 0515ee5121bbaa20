"""Every block of data and code in the guide is good for what it stands there for."""

from __future__ import annotations

import asyncio
import inspect
import json
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from tests.support.pages import Block, blocks, page, pages
from vsched.cli.plan.several.targets import by_file
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.load import default_text
from vsched.sim.cluster import Cluster
from vsched.sim.fleet.devices import read_devices
from vsched.sim.fleet.nodes import read_fleet, read_pools
from vsched.sim.fleet.residents import read_residents

YAML = blocks("yaml")
KNOWN = {"", "console", "json", "python", "sh", "yaml"}
PARTS = ("configurations", "metrics", "autoscaling")
"""Keys of a policy that blocks show by themselves."""


def here(found: list[Block]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", found, ids=lambda block: block.where)


@cache
def kind_of(block: Block) -> str:
    """What a block of YAML describes."""
    documents = list(yaml.safe_load_all(block.text))
    first = documents[0]
    if isinstance(first, dict):
        if "kind" in first:
            return "objects"
        if "clusters" in first:
            return "clusters"
        return "policy" if "tiers" in first else "part of a policy"
    if "arguments" in first[0]:
        return "plugins of a policy"
    if "driver" in first[0]:
        return "devices"
    if "max" in first[0]:
        return "pools"
    return "fleet" if "capacity" in first[0] else "residents"


def of_kind(kind: str) -> list[Block]:
    return [block for block in YAML if kind_of(block) == kind]


def test_blocks_say_what_they_are() -> None:
    assert {block.language for found in pages() for block in found.blocks} <= KNOWN
    assert {kind_of(block) for block in YAML} == {
        "objects",
        "clusters",
        "policy",
        "part of a policy",
        "plugins of a policy",
        "fleet",
        "residents",
        "devices",
        "pools",
    }


@here(of_kind("policy"))
def test_policies_load(block: Block) -> None:
    found = load_text(block.text, block.where, REGISTRY)
    assert (found.warnings, found.no_effect) == ((), ())


@here(of_kind("part of a policy"))
def test_parts_of_policies_load_within_the_default_one(block: Block) -> None:
    assert set(yaml.safe_load(block.text)) <= set(PARTS)
    whole = default_text().replace('"enqueue, allocate, backfill"', '"enqueue, allocate, reclaim, backfill"')
    found = load_text(f"{whole}\n{block.text}", block.where, REGISTRY)
    assert (found.warnings, found.no_effect) == ((), ())


def test_the_policy_that_is_shown_is_the_default() -> None:
    (block,) = (one for one in of_kind("policy") if one.page == "config/policies/README.md")
    shown, built_in = (load_text(text, "here", REGISTRY).policy for text in (block.text, default_text()))
    assert shown == built_in


@here(of_kind("plugins of a policy"))
def test_plugins_of_policies_load(block: Block) -> None:
    text = f"actions: allocate\ntiers:\n- plugins:\n{indent(block.text, '  ')}"
    found = load_text(text, block.where, REGISTRY)
    assert (found.warnings, found.no_effect) == ((), ())


async def test_objects_are_accepted_by_a_cluster() -> None:
    async with Cluster(1) as cluster:
        for block in of_kind("objects"):
            objects: list[Any] = list(yaml.safe_load_all(block.text))
            cluster.apply(objects)


@here(of_kind("clusters"))
def test_descriptions_of_clusters_are_good(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "clusters.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert all(found.api is not None for found in by_file(path))


@here(of_kind("fleet"))
def test_descriptions_of_nodes_are_good(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert read_fleet(path)


@here(of_kind("devices"))
def test_descriptions_of_devices_are_good(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert read_devices(path).pools


@here(of_kind("pools"))
def test_descriptions_of_pools_are_good(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert read_pools(path)


@here(of_kind("residents"))
def test_descriptions_of_residents_are_good(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "residents.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert read_residents(path)


def test_json_can_be_read() -> None:
    for block in blocks("json"):
        json.loads(block.text)


@here(blocks("python"))
def test_code_that_is_shown_compiles_and_its_tests_pass(block: Block) -> None:
    names: dict[str, Any] = {}
    code = compile(block.text, block.where, "exec", dont_inherit=True)
    tests = [name for name in code.co_names if name.startswith("test_")]
    if tests:
        exec(code, names)
    for test in (names[name] for name in tests):
        for arguments in cases_of(test):
            done = test(**arguments)
            if inspect.iscoroutine(done):
                asyncio.run(done)


def cases_of(test: Any) -> list[dict[str, Any]]:
    """The arguments that a test is to be called with."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    found = [dict(zip(mark.args[0], case.values, strict=True)) for mark in marks for case in mark.args[1]]
    return found or [{}]


def test_the_first_page_shows_a_whole_job() -> None:
    (block,) = (block for block in page("README.md").blocks if block.language == "yaml")
    assert [one["kind"] for one in yaml.safe_load_all(block.text)] == ["Queue", "PodGroup", "Job"]
