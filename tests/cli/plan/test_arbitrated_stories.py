"""``vsched plan --arbitrate`` on random clusters: gangs, limits, buckets in buckets, several pods evicted a cycle."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.cli.plan.arbitrated import bucket, consumer, evicted, planned
from tests.support.examples import LEAST, seeds
from tests.support.plans import Manifest
from vsched.arbitrator.rules import ArbitrationRules
from vsched.cli.plan.view import Document
from vsched.model.amounts.counted import parse_counted

CYCLES = 30
"""By then whatever is to be given back has been."""
AT_REST = 3


def areas(dice: Random) -> list[Manifest]:
    """Buckets, in one another or not, some with limits."""
    inner: dict[str, Any] = {"parent": "top", "weight": 2}
    if dice.random() < 0.5:
        inner["hard"] = {"cpu": str(dice.randint(1, 6))}
    top = {"hard": {"cpu": str(dice.randint(2, 8)), "limits.cpu": "9"}, "reserved": {"cpu": "1"}}
    return dice.choice([[], [bucket("top", **top)], [bucket("inner", **inner), bucket("top", **top)]])


def story(dice: Random, *, running: bool) -> tuple[str, list[Manifest]]:
    """Nodes, pods and jobs as text; buckets and Consumers."""
    nodes = dice.randint(1, 3) if running else 1
    lines = [f"node n{at} cpu={dice.randint(4, 12)} memory={dice.randint(4, 16)}Gi" for at in range(nodes)]
    objects = areas(dice)
    names = [each["metadata"]["name"] for each in objects]
    for namespace in "abcd"[: dice.randint(2, 4)]:
        spec: dict[str, Any] = {"weight": dice.randint(1, 3)}
        if names and dice.random() < 0.7:
            spec["parent"] = dice.choice(names)
        if dice.random() < 0.2:
            spec["hard"] = {"cpu": str(dice.randint(0, 4))}
        objects.append(consumer(namespace, **spec))
        for at in range(dice.randint(0, 2) if running else 0):
            count, on = dice.randint(1, 4), dice.randrange(nodes)
            lines.append(f"pods {namespace}/old{at} {count} cpu={dice.choice(['500m', '1'])} memory=500Mi on=n{on}")
        for at in range(dice.randint(0, 3)):
            count = dice.randint(1, 6)
            size = f"cpu={dice.choice(['500m', '1', '1500m', '2'])} memory={dice.choice(['100Mi', '1Gi', '2Gi'])}"
            limits = dice.choice(["", "", " limits=cpu:1"])
            lines.append(f"job {namespace}/j{at} pods={count} min={dice.choice([1, 1, count])} {size}{limits}")
    return "\n".join(lines), objects


def beyond(document: Document, text: str, objects: list[Manifest]) -> dict[str, tuple[int, int]]:
    """Buckets whose namespaces hold more cpu than they may: by how much, and how much they held in the beginning."""
    above = {one["metadata"]["name"]: one["spec"].get("parent", "") for one in objects if one["kind"] == "Bucket"}
    parents = {
        one["metadata"]["namespace"]: one["spec"].get("parent", "") for one in objects if one["kind"] == "Consumer"
    }
    began = dict.fromkeys(parents, 0)
    for words in (line.split() for line in text.splitlines() if line.startswith("pods")):
        began[words[1].partition("/")[0]] += int(words[2]) * parse_counted("cpu", words[3].removeprefix("cpu="))
    found: dict[str, tuple[int, int]] = {}
    for one in objects:
        if one["kind"] != "Bucket" or "hard" not in one["spec"]:
            continue
        name = one["metadata"]["name"]
        inside = [each for each, parent in parents.items() if name in (parent, above.get(parent, ""))]
        allocated = (document["allocations"][each]["allocated"].get("cpu", "0") for each in inside)
        held, first = sum(parse_counted("cpu", each) for each in allocated), sum(began[each] for each in inside)
        if held > parse_counted("cpu", one["spec"]["hard"]["cpu"]):
            found[name] = held, first
    return found


@pytest.mark.parametrize("seed", seeds(LEAST, "nothing runs"))
def test_where_nothing_runs_yet_nobody_is_evicted_and_no_bucket_overflows(seed: int) -> None:
    text, objects = story(Random(seed), running=False)
    document = planned(text, *objects, cycles=8)
    assert not any(evicted(document)), text
    assert not beyond(document, text, objects), text


@pytest.mark.parametrize("seed", seeds(LEAST, "given back"))
def test_what_is_given_back_comes_to_an_end_and_no_bucket_grows_beyond_its_limit(seed: int) -> None:
    dice = Random(seed)
    text, objects = story(dice, running=True)
    rules = ArbitrationRules(grace_seconds=0.0, evictions_per_round=dice.choice([1, 3, 9]))
    document = planned(text, *objects, cycles=CYCLES, rules=rules)
    assert not any(evicted(document)[-AT_REST:]), text
    assert all(held <= first for held, first in beyond(document, text, objects).values()), text
