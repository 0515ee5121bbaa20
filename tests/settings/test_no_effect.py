"""What a policy file may say without any effect: each key of it is told with its place, and no other key is."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest
import yaml
from msgspec import inspect as kinds

import vsched
from vsched.actions import words as actions_words
from vsched.framework.registry import points_of
from vsched.plugins.words import arguments as arguments_words
from vsched.settings.built_in import REGISTRY
from vsched.settings.describe import describe
from vsched.settings.load import load_text
from vsched.settings.names import SWITCH_BY_KEY
from vsched.settings.reading.scalars import why_inert
from vsched.settings.words import metrics as metrics_words
from vsched.settings.words import policy as policy_words
from vsched.settings.words import reading as reading_words

SOURCES = [Path(vsched.__file__).parent / room for room in ("plugins", "actions")]

POLICY = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
    {switch}
  - name: drf
    enabledHierarchy: true
- plugins:
  - name: predicates
    arguments:
      predicate.NodePortsEnable: true
      {predicates}
  - name: capacity
    arguments:
      ancestorReclaimLevel: 1
      {capacity}
configurations:
- name: {action}
  arguments:
    QueueScoreOrderEnable: false
    {argument}
"""


def told(**lines: str) -> list[str]:
    """What is said to have no effect, the lines before it left out."""
    plain = {"switch": "enableJobOrder: true", "action": "allocate", "argument": "QueueScoreOrder.drf.weight: 1"}
    plain |= {"predicates": "predicate.TaintTolerationEnable: true", "capacity": ""} | lines
    settings = load_text(POLICY.format(**plain), "policy.yaml", REGISTRY)
    assert settings.warnings == ()
    return [*settings.no_effect]


def test_what_has_an_effect_is_not_told() -> None:
    assert told() == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(
            {"predicates": "predicate.CacheEnable: true"},
            "policy.yaml:12: tiers[1].plugins[0].arguments.predicate.CacheEnable: "
            + reading_words.no_effect(arguments_words.CACHE_INERT),
            id="predicate.CacheEnable",
        ),
        pytest.param(
            {"predicates": "predicate: {CacheEnable: true}"},
            "policy.yaml:12: tiers[1].plugins[0].arguments.predicate.CacheEnable: "
            + reading_words.no_effect(arguments_words.CACHE_INERT),
            id="nested",
        ),
        pytest.param(
            {"argument": "predicateErrorCacheEnable: true"},
            "policy.yaml:21: configurations[0].arguments.predicateErrorCacheEnable: "
            + reading_words.no_effect(actions_words.ERRORS_REUSED),
            id="an argument of an action",
        ),
        pytest.param(
            {"argument": "QueueScoreOrder.proportion.weight: 1"},
            "policy.yaml:21: configurations[0].arguments.QueueScoreOrder.proportion.weight: "
            + reading_words.no_effect(policy_words.no_score("proportion")),
            id="the weight of a plugin that is not there",
        ),
        pytest.param(
            {"argument": "QueueScoreOrder.gang.weight: 1"},
            "policy.yaml:21: configurations[0].arguments.QueueScoreOrder.gang.weight: "
            + reading_words.no_effect(policy_words.no_score("gang")),
            id="the weight of a plugin that has no say",
        ),
        pytest.param(
            {"action": "reclaim"},
            "policy.yaml:18: configurations[0].name: "
            + reading_words.no_effect(policy_words.not_among_actions("reclaim")),
            id="arguments of an action that is not run",
        ),
        pytest.param(
            {"switch": "enableNodeOrder: true"},
            "policy.yaml:5: tiers[0].plugins[0].enableNodeOrder: "
            + reading_words.no_effect(policy_words.no_part_in("gang", "NodeOrder")),
            id="a switch of what a plugin does not do",
        ),
        pytest.param(
            {"switch": "enabledOverused: false"},
            "policy.yaml:5: tiers[0].plugins[0].enabledOverused: "
            + reading_words.no_effect(policy_words.no_part_in("gang", "Overused")),
            id="whichever way",
        ),
        pytest.param(
            {"switch": "enableHierarchy: true"},
            "policy.yaml:5: tiers[0].plugins[0].enableHierarchy: "
            + reading_words.no_effect(policy_words.no_hierarchy("gang")),
            id="a tree for a plugin that knows none",
        ),
    ],
)
def test_what_has_none_is_told_with_its_place(lines: dict[str, str], said: str) -> None:
    assert told(**lines) == [said]


def test_the_workers_of_preempt_have_none() -> None:
    text = POLICY.replace("backfill", "preempt").format(
        switch="enableJobOrder: true",
        predicates="predicate.CacheEnable: true",
        capacity="",
        action="preempt",
        argument="topologyAwarePreemptWorkerNum: 4",
    )
    settings = load_text(text, "p", REGISTRY)
    said = [
        "p:12: tiers[1].plugins[0].arguments.predicate.CacheEnable: "
        + reading_words.no_effect(arguments_words.CACHE_INERT),
        "p:21: configurations[0].arguments.topologyAwarePreemptWorkerNum: "
        + reading_words.no_effect(actions_words.ONE_AFTER_THE_OTHER),
    ]

    assert [*settings.no_effect] == said
    assert describe(settings, REGISTRY)["noEffect"] == said
    assert settings.to_dict()["noEffect"] == said


# -- every argument there is ----------------------------------------------------------------------------------------


def structs(kind: kinds.Type) -> Iterator[kinds.StructType]:
    """A type of arguments, and those inside of it."""
    match kind:
        case kinds.StructType():
            yield kind
            for field in kind.fields:
                yield from structs(field.type)
        case kinds.Metadata():
            yield from structs(kind.type)
        case kinds.UnionType():
            for one in kind.types:
                yield from structs(one)
        case kinds.DictType():
            yield from structs(kind.value_type)
        case kinds.ListType() | kinds.VarTupleType():
            yield from structs(kind.item_type)


ARGUMENTS = {
    (found.cls, field.name): why_inert(field.type)
    for args in {one.args_type for one in (*REGISTRY.plugins.values(), *REGISTRY.actions.values())}
    for found in structs(kinds.type_info(args))
    for field in found.fields
}


@cache
def read_attributes() -> frozenset[str]:
    """The names of all attributes that the sources read."""
    return frozenset(
        node.attr
        for folder in SOURCES
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


@pytest.mark.parametrize(
    ("struct", "field"), [pytest.param(*key, id=f"{key[0].__name__}.{key[1]}") for key in sorted(ARGUMENTS, key=str)]
)
def test_every_argument_is_read_or_said_to_have_no_effect(struct: type[msgspec.Struct], field: str) -> None:
    assert (field in read_attributes()) is not bool(ARGUMENTS[struct, field])


@pytest.mark.parametrize("name", REGISTRY.plugins)
def test_every_switch_is_known_to_have_an_effect_or_none(name: str) -> None:
    plugin = REGISTRY.plugins[name]
    points = {point.point for point in points_of(plugin)} | plugin.heeds
    switches = {switch: key for key, switch in SWITCH_BY_KEY.items()}
    policy = {"name": name, **dict.fromkeys(switches.values(), True)}
    document = {"actions": "allocate", "tiers": [{"plugins": [policy]}]}
    said = load_text(yaml.safe_dump(document), "p", REGISTRY).no_effect
    idle = {line.split(": ")[1].rpartition(".")[2] for line in said}
    hierarchical = "switches.hierarchy" in inspect.getsource(inspect.getmodule(plugin) or plugin)

    assert plugin.hierarchical is hierarchical
    assert idle == {key for switch, key in switches.items() if switch not in points} - (
        {switches["hierarchy"]} if hierarchical else set()
    )


# -- sources of usage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "keys"),
    [
        pytest.param({"address": "http://p:9090", "instanceLabel": "node"}, [], id="what Prometheus reads"),
        pytest.param(
            {"type": "metrics_server", "instanceLabel": "node", "tls": {"caFile": "/ca"}, "nodeLabel": "x"},
            ["instanceLabel", "tls.caFile"],
            id="what the metrics server does not",
        ),
        pytest.param(
            {"address": "http://p:9090", "elasticsearch": {"index": "i"}},
            ["elasticsearch.index"],
            id="what is for another source",
        ),
        pytest.param(
            {"type": "elasticsearch", "address": "http://e:9200", "instanceLabel": "x", "elasticsearch.index": "i"},
            ["instanceLabel"],
            id="a label of series that are not there",
        ),
    ],
)
def test_what_a_source_does_not_read_is_told(block: dict[str, object], keys: list[str]) -> None:
    document = {"actions": "allocate", "tiers": [{"plugins": [{"name": "gang"}]}], "metrics": block}
    settings = load_text(yaml.safe_dump(document), "p", REGISTRY)
    assert settings.metrics is not None

    assert [line.partition(": ")[2].partition(": ")[0] for line in settings.no_effect] == [
        f"metrics.{key}" for key in keys
    ]
    assert all(line.endswith(metrics_words.not_read(settings.metrics.kind)) for line in settings.no_effect)


@pytest.mark.parametrize(
    ("action", "switches", "point"),
    [
        pytest.param("preempt", "enablePreemptable: false", "Preemptable", id="preempt"),
        pytest.param("gangpreempt", "enablePreemptable: false", "Preemptable", id="gangpreempt"),
        pytest.param("reclaim", "enableReclaimable: false", "Reclaimable", id="reclaim"),
        pytest.param("gangreclaim", "enableReclaimable: false", "Reclaimable", id="gangreclaim"),
        pytest.param("shuffle", "enablePreemptable: true", "Victim", id="shuffle"),
        pytest.param("preempt", "enablePreemptable: true", "", id="preempt with victims"),
        pytest.param("reclaim", "enablePreemptable: false", "", id="reclaim with victims"),
    ],
)
def test_an_action_that_can_evict_nobody_is_told(action: str, switches: str, point: str) -> None:
    text = f"actions: allocate, {action}\ntiers: [{{plugins: [{{name: gang, {switches}}}]}}]"
    found = load_text(text, "policy.yaml", REGISTRY).no_effect
    why = policy_words.nobody_evicted(action, point)
    assert found == ((f"policy.yaml:1: actions[1]: {reading_words.no_effect(why)}",) if point else ())
