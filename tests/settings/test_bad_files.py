"""Every mistake in a policy file is told with its line, its path and what was meant."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from vsched.errors import BadPolicy
from vsched.framework.registry import Registry
from vsched.settings import load_file, load_text
from vsched.settings.words import metrics as metrics_words
from vsched.settings.words import policy as policy_words
from vsched.settings.words import reading as reading_words
from vsched.words import WHOLE_NUMBER

ACTIONS = 'actions: "enqueue, allocate, backfill"\n'
TIERS = "tiers:\n- plugins:\n  - name: gang\n"
GOOD = ACTIONS + TIERS


def problems(text: str, registry: Registry) -> list[str]:
    with pytest.raises(BadPolicy) as refused:
        load_text(text, "policy.yaml", registry)
    return refused.value.problems


def plugin(text: str) -> str:
    """A policy with one plugin; ``text`` begins on line 4."""
    lines = dedent(text).strip("\n").splitlines()
    return ACTIONS + "tiers:\n- plugins:\n" + "".join(f"  {line}\n" for line in lines)


BAD_TOPS = {
    "an empty file": ("", ["1: empty; expected a policy with actions and tiers"]),
    "only comments": ("# nothing\n", ["1: empty; expected a policy with actions and tiers"]),
    "a list at the top": ("- a\n- b\n", ["1: " + policy_words.mapping_expected("a list")]),
    "a word at the top": ("policy\n", ["1: " + policy_words.mapping_expected("'policy'")]),
    "an explicit null": ("~\n", ["1: " + policy_words.mapping_expected("nothing")]),
    "two documents": (GOOD + "---\n" + GOOD, ["5: " + reading_words.second_document("policy")]),
    "a period that is none": (
        GOOD + "schedulePeriod: 0s\n",
        ["5: schedulePeriod: " + reading_words.expected(f"{reading_words.DURATION} > 0s and <= 3600s", "'0s'")],
    ),
    "a colon where a value ends": (
        "actions: allocate\nconfigurations:\n- name: enqueue:\n",
        ["3: " + reading_words.not_yaml(reading_words.STRAY_COLON, " (column 16)")],
    ),
    "a tab": ("actions:\n\t- a\n", ["2: not YAML: found character '\\t' that cannot start any token (column 1)"]),
    "an unknown alias": ("actions: *x\n", ["1: not YAML: found undefined alias 'x' (column 10)"]),
    "a control character": (
        "a: \x00\n",
        ["1: not YAML: unacceptable character #x0000: special characters are not allowed"],
    ),
    "an unknown key, close to one": (GOOD + "metric: {}\n", ["5: metric: unknown key; did you mean 'metrics'?"]),
    "an unknown key, close to none": (GOOD + "colour: blue\n", ["5: colour: unknown key"]),
    "a key twice": (GOOD + "actions: allocate\n", ["5: actions: " + reading_words.key_twice(1)]),
    "a list as a key": (GOOD + "? [a]\n: b\n", ["5: " + reading_words.PLAIN_KEY_EXPECTED]),
    "a tag": (
        GOOD + "metrics: !!python/object:os.system {}\n",
        ["5: metrics: " + reading_words.unknown_tag("tag:yaml.org,2002:python/object:os.system", "policy")],
    ),
    "no actions": (
        TIERS,
        ["1: actions: missing; expected " + policy_words.ACTIONS_EXPECTED],
    ),
    "empty actions": (
        'actions: " "\n' + TIERS,
        ["1: actions: " + reading_words.expected(policy_words.ACTIONS_EXPECTED, policy_words.EMPTY_TEXT)],
    ),
    "actions as a list": (
        "actions: [allocate]\n" + TIERS,
        ["1: actions: " + reading_words.expected(policy_words.ACTIONS_EXPECTED, "a list")],
    ),
    "a comma too many": (
        "actions: allocate,\n" + TIERS,
        ["1: actions[1]: " + policy_words.NAME_MISSING_BETWEEN_COMMAS],
    ),
    "an action misspelled": (
        "\nactions: enqueue, alocate\n" + TIERS,
        ["2: actions[1]: unknown action 'alocate'; did you mean 'allocate'?"],
    ),
    "no tiers": (ACTIONS, ["1: tiers: " + policy_words.TIERS_MISSING]),
    "tiers without any": (
        ACTIONS + "tiers: []\n",
        ["2: tiers: " + policy_words.tiers_expected(policy_words.EMPTY_LIST)],
    ),
    "tiers as a mapping": (ACTIONS + "tiers: {}\n", ["2: tiers: " + policy_words.tiers_expected("a mapping")]),
    "a tier that is a word": (
        ACTIONS + "tiers:\n- gang\n",
        ["3: tiers[0]: " + policy_words.tier_expected("'gang'")],
    ),
    "a tier without plugins": (
        ACTIONS + "tiers:\n- plugins: []\n",
        ["3: tiers[0].plugins: " + policy_words.PLUGINS_EXPECTED],
    ),
    "a misspelled key of a tier": (
        ACTIONS + "tiers:\n- plugin:\n  - name: gang\n",
        [
            "3: tiers[0].plugin: unknown key; did you mean 'plugins'?",
            "3: tiers[0].plugins: " + policy_words.PLUGINS_EXPECTED,
        ],
    ),
    "configurations as a mapping": (
        GOOD + "configurations: {}\n",
        ["5: configurations: " + policy_words.configurations_expected("a mapping")],
    ),
    "a configuration of nobody": (
        GOOD + "configurations:\n- arguments: {}\n",
        ["6: configurations[0].name: " + policy_words.ACTION_NAME_MISSING],
    ),
    "a configuration that is a word": (
        GOOD + "configurations:\n- allocate\n",
        ["6: configurations[0]: " + policy_words.action_expected("'allocate'")],
    ),
    "a configuration of an unknown action": (
        GOOD + "configurations:\n- name: alocate\n",
        ["6: configurations[0].name: unknown action 'alocate'; did you mean 'allocate'?"],
    ),
    "a configuration twice": (
        GOOD + "configurations:\n- name: allocate\n- name: allocate\n",
        ["7: configurations[1].name: " + policy_words.action_twice("allocate", 6)],
    ),
    "a misspelled key of a configuration": (
        GOOD + "configurations:\n- name: allocate\n  argument: {}\n",
        ["7: configurations[0].argument: unknown key; did you mean 'arguments'?"],
    ),
    "an unknown argument of an action": (
        GOOD + "configurations:\n- name: allocate\n  arguments:\n    QueueScoreOrderEnabled: true\n",
        [
            "8: configurations[0].arguments.QueueScoreOrderEnabled: unknown argument; "
            "did you mean 'QueueScoreOrderEnable'?"
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_TOPS.values(), ids=BAD_TOPS.keys())
def test_a_bad_file_is_refused_with_line_and_path(text: str, expected: list[str], registry: Registry) -> None:
    assert problems(text, registry) == [f"policy.yaml:{line}" for line in expected]


BAD_PLUGINS = {
    "a misspelled plugin": (
        "- name: propotion",
        ["4: tiers[0].plugins[0].name: unknown plugin 'propotion'; did you mean 'proportion'?"],
    ),
    "a plugin like nothing known": ("- name: xyzzy", ["4: tiers[0].plugins[0].name: unknown plugin 'xyzzy'"]),
    "a misspelled plugin that is not here yet": (
        "- name: resourcequotas",
        ["4: tiers[0].plugins[0].name: unknown plugin 'resourcequotas'; did you mean 'resourcequota'?"],
    ),
    "a plugin of the field that is not here yet": (
        "- name: gang\n- name: sla\n  arguments:\n    sla-waiting-time: 1h",
        ["5: tiers[0].plugins[1].name: " + policy_words.plugin_not_yet("sla")],
    ),
    "a misspelled switch": (
        "- name: gang\n- name: drf\n  enableJobOrdr: false",
        ["6: tiers[0].plugins[1].enableJobOrdr: unknown key; did you mean 'enableJobOrder'?"],
    ),
    "a misspelled key of a plugin": (
        "- name: gang\n  argument: {}",
        ["5: tiers[0].plugins[0].argument: unknown key; did you mean 'arguments'?"],
    ),
    "both spellings of one switch": (
        "- name: gang\n  enableJobOrder: true\n  enabledJobOrder: true",
        ["6: tiers[0].plugins[0].enabledJobOrder: " + policy_words.switch_twice(5)],
    ),
    "a switch that is a number": (
        "- name: gang\n  enableJobOrder: 1",
        ["5: tiers[0].plugins[0].enableJobOrder: " + policy_words.flag_expected("'1'")],
    ),
    "a switch that is a list": (
        "- name: gang\n  enableJobOrder: []",
        ["5: tiers[0].plugins[0].enableJobOrder: " + policy_words.flag_expected("a list")],
    ),
    "a quoted yes": (
        "- name: gang\n  enableJobOrder: 'yes'",
        ["5: tiers[0].plugins[0].enableJobOrder: " + policy_words.flag_expected("'yes'")],
    ),
    "no name": (
        "- enableJobOrder: true",
        ["4: tiers[0].plugins[0].name: " + policy_words.PLUGIN_NAME_MISSING],
    ),
    "a plugin that is a word": (
        "- gang",
        ["4: tiers[0].plugins[0]: " + policy_words.plugin_expected("'gang'")],
    ),
    "a plugin twice": (
        "- name: gang\n- name: drf\n- name: gang",
        ["6: tiers[0].plugins[2].name: " + policy_words.plugin_twice("gang", 4)],
    ),
    "proportion with capacity": (
        "- name: proportion\n- name: capacity",
        [
            "5: tiers[0].plugins[1].name: " + policy_words.plugin_not_yet("capacity"),
            "5: tiers[0].plugins[1].name: " + policy_words.PROPORTION_AND_CAPACITY,
        ],
    ),
    "hierarchical drf with proportion in its tier": (
        "- name: drf\n  enabledHierarchy: true\n- name: proportion",
        ["6: tiers[0].plugins[1].name: " + policy_words.DRF_AND_PROPORTION],
    ),
    "arguments as a list": (
        "- name: binpack\n  arguments: [1]",
        ["5: tiers[0].plugins[0].arguments: " + reading_words.arguments_expected("a list")],
    ),
    "an argument for a plugin that takes none": (
        "- name: gang\n  arguments:\n    weight: 1",
        ["6: tiers[0].plugins[0].arguments.weight: " + reading_words.NO_ARGUMENTS],
    ),
    "a misspelled argument": (
        "- name: binpack\n  arguments:\n    binpack.wieght: 1",
        ["6: tiers[0].plugins[0].arguments.binpack.wieght: unknown argument; did you mean 'binpack.weight'?"],
    ),
    "an argument flat and nested": (
        "- name: binpack\n  arguments:\n    binpack.cpu: 1\n    binpack:\n      cpu: 2",
        ["8: tiers[0].plugins[0].arguments.binpack.cpu: " + reading_words.given_twice(6)],
    ),
    "a word for a number": (
        "- name: binpack\n  arguments:\n    binpack.cpu: lots",
        ["6: tiers[0].plugins[0].arguments.binpack.cpu: expected a whole number, got 'lots'"],
    ),
    "a fraction for a whole number": (
        "- name: binpack\n  arguments:\n    binpack.cpu: 1.5",
        ["6: tiers[0].plugins[0].arguments.binpack.cpu: expected a whole number, got '1.5'"],
    ),
    "a number beyond 64 bits": (
        "- name: binpack\n  arguments:\n    binpack.cpu: 9223372036854775808",
        ["6: tiers[0].plugins[0].arguments.binpack.cpu: expected a whole number, got '9223372036854775808'"],
    ),
    "an octal number": (
        "- name: binpack\n  arguments:\n    binpack.cpu: 010",
        [
            "6: tiers[0].plugins[0].arguments.binpack.cpu: "
            + reading_words.expected(WHOLE_NUMBER, "'010'")
            + reading_words.LEADING_ZERO
        ],
    ),
    "a number for a boolean": (
        "- name: predicates\n  arguments:\n    predicate.CacheEnable: 1",
        ["6: tiers[0].plugins[0].arguments.predicate.CacheEnable: " + policy_words.flag_expected("'1'")],
    ),
    "infinity": (
        "- name: overcommit\n  arguments:\n    overcommit-factor: .inf",
        ["6: tiers[0].plugins[0].arguments.overcommit-factor: expected a number, got '.inf'"],
    ),
    "out of range": (
        "- name: nodeorder\n  arguments:\n    leastrequested.weight: -1",
        ["6: tiers[0].plugins[0].arguments.leastrequested.weight: expected a whole number >= 0, got '-1'"],
    ),
    "a member of a family": (
        "- name: binpack\n  arguments:\n    binpack:\n      resources:\n        nvidia.com/gpu: many",
        ["8: tiers[0].plugins[0].arguments.binpack.resources.nvidia.com/gpu: expected a whole number, got 'many'"],
    ),
    "arguments that contradict each other": (
        "- name: binpack\n  arguments:\n    binpack.cpu: 1\n    binpack.resources.gpu: 3",
        ["7: tiers[0].plugins[0].arguments.binpack.resources.gpu: not in binpack.resources"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_PLUGINS.values(), ids=BAD_PLUGINS.keys())
def test_a_bad_plugin_is_refused_with_line_and_path(text: str, expected: list[str], registry: Registry) -> None:
    assert problems(plugin(text), registry) == [f"policy.yaml:{line}" for line in expected]


BAD_ARGUMENTS = {
    "a percentage above 100, nested": (
        "thresholds:\n  cpu: 120",
        ["7: thresholds.cpu: expected a whole number >= 0 and <= 100, got '120'"],
    ),
    "a percentage above 100, flat": (
        "thresholds.cpu: 120",
        ["6: thresholds.cpu: expected a whole number >= 0 and <= 100, got '120'"],
    ),
    "a number where keys are expected": (
        "thresholds: 80",
        ["6: thresholds: " + reading_words.keys_expected("thresholds.cpu, thresholds.mem", "'80'")],
    ),
    "a misspelled nested key": (
        "thresholds:\n  cpus: 80",
        ["7: thresholds.cpus: unknown argument; did you mean 'thresholds.cpu'?"],
    ),
    "a time without a unit": (
        "interval: 30",
        ["6: interval: " + reading_words.expected(f"{reading_words.DURATION} >= 0s", "'30'")],
    ),
    "a time below zero": (
        "patience: -1s",
        ["6: patience: " + reading_words.expected(f"{reading_words.DURATION} >= 0s", "'-1s'")],
    ),
    "none of the alternatives": ("be_cpu: [1]", ["6: be_cpu: expected a whole number or text, got a list"]),
    "a word for a list": ("strategies: low", ["6: strategies: " + reading_words.list_expected("'low'")]),
    "a word for a struct in a list": (
        "strategies: [low]",
        ["6: strategies[0]: " + reading_words.mapping_expected("'low'")],
    ),
    "a struct in a list without what it needs": (
        "strategies:\n- params: {cpu: 1}",
        ["7: strategies[0].name: missing; expected text"],
    ),
    "a plain yes for text": (
        "strategies:\n- name: yes",
        ["7: strategies[0].name: " + reading_words.expected("text", "'yes'") + reading_words.plain_boolean("yes")],
    ),
    "a member of a family in a list": (
        "strategies:\n- name: x\n  params:\n    cpu: low",
        ["9: strategies[0].params.cpu: expected a number, got 'low'"],
    ),
    "a number for a member that is a struct": (
        "resources.gpu: 3",
        ["6: resources.gpu: " + reading_words.keys_expected("resources.<name>.weight, resources.<name>.type", "'3'")],
    ),
    "a misspelled key of a family": (
        "resources:\n  gpu:\n    wieght: 1",
        ["8: resources.gpu.wieght: unknown argument; did you mean 'resources.gpu.weight'?"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_arguments_of_any_shape_are_told_by_line_and_path(text: str, expected: list[str], later: Registry) -> None:
    indented = "\n".join(f"    {line}" for line in text.splitlines())
    found = problems(plugin(f"- name: usage\n  arguments:\n{indented}"), later)
    before = "tiers[0].plugins[0].arguments"
    assert found == [f"policy.yaml:{line.replace(': ', f': {before}.', 1)}" for line in expected]


BAD_METRICS = {
    "an unknown type": (
        "type: prometeus",
        [
            "6: metrics.type: expected one of elasticsearch, metrics_server, prometheus, prometheus_adapt, "
            "prometheus_adapter, prometheus_adaptor, got 'prometeus'"
        ],
    ),
    "no address": (
        "type: prometheus",
        ["5: metrics: " + metrics_words.address_missing("prometheus")],
    ),
    "an address that is none": (
        "address: 192.168.0.10:9090",
        ["6: metrics." + metrics_words.ADDRESS_EXPECTED],
    ),
    "no time between questions": (
        "interval: 0s",
        ["6: metrics.interval: " + reading_words.expected(f"{reading_words.DURATION} > 0s", "'0s'")],
    ),
    "an unknown key, nested": (
        "tls:\n  insecureSkipVerfy: true",
        ["7: metrics.tls.insecureSkipVerfy: unknown argument; did you mean 'tls.insecureSkipVerify'?"],
    ),
    "an unknown key, flat": (
        "elasticsearch.indx: a",
        ["6: metrics.elasticsearch.indx: unknown argument; did you mean 'elasticsearch.index'?"],
    ),
    "basicauth of nobody": ("basicauth: 'true'", ["5: metrics: " + metrics_words.USERNAME_MISSING]),
    "no time for an answer": (
        "timeout: 0s",
        ["6: metrics.timeout: " + reading_words.expected(f"{reading_words.DURATION} > 0s", "'0s'")],
    ),
    "a password of two places": (
        "passwordEnv: A\npasswordFile: /b",
        ["7: " + metrics_words.given_besides("metrics.passwordFile", "passwordEnv")],
    ),
    "a password of two places, nested": (
        "elasticsearch:\n  password: a\n  passwordSecret: {namespace: n, name: b, key: c}",
        ["5: metrics: " + metrics_words.given_besides("elasticsearch.passwordSecret", "elasticsearch.password")],
    ),
    "half a Secret": (
        "tokenSecret: {name: login}",
        ["5: metrics: " + metrics_words.part_of_secret_missing("token", "namespace")],
    ),
    "a token and a password": (
        "basicauth: true\nusername: me\ntoken: t",
        ["6: metrics." + metrics_words.PASSWORD_AND_TOKEN],
    ),
    "a certificate without its key": (
        "tls.certFile: /client.pem",
        ["5: metrics: " + metrics_words.tls_missing("keyFile")],
    ),
    "a label that is none": (
        "instanceLabel: 'node) or vector(1'",
        ["6: metrics." + metrics_words.LABEL_EXPECTED],
    ),
    "an address with a question in it": (
        "address: http://prometheus:9090/?a=b",
        ["6: metrics." + metrics_words.ADDRESS_EXPECTED],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_METRICS.values(), ids=BAD_METRICS.keys())
def test_a_bad_metrics_block_is_refused(text: str, expected: list[str], registry: Registry) -> None:
    block = "".join(f"  {line}\n" for line in text.splitlines())
    assert problems(f"{GOOD}metrics:\n{block}", registry) == [f"policy.yaml:{line}" for line in expected]


def test_all_problems_are_told_at_once_and_by_line(registry: Registry) -> None:
    text = (
        plugin("- name: gangg\n- name: drf\n  enableJobOrdr: 1\n- name: binpack\n  arguments: {binpack.cpu: x}")
        + "x: 1\n"
    )
    lines = [problem.split(":")[1] for problem in problems(text.replace("allocate", "alocate"), registry)]
    assert lines == ["1", "4", "6", "8", "9"]


def test_a_flood_of_problems_is_cut(registry: Registry) -> None:
    text = GOOD + "".join(f"x{at}: 1\n" for at in range(500))
    found = problems(text, registry)
    assert len(found) == 101
    assert found[-1] == reading_words.more_problems("policy.yaml", 400)


def test_a_problem_is_one_printable_line_whatever_the_file_holds(registry: Registry) -> None:
    (found,) = problems(GOOD + '"a\\nb\\e[31m": 1\n', registry)
    assert found == "policy.yaml:5: a\\x0ab\\x1b[31m: unknown key"
    (long,) = problems(GOOD + f"{'x' * 900}: 1\n", registry)
    assert len(long) == 500


def test_aliases_that_multiply_are_refused_quickly(registry: Registry) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert "too large for a policy" in problems(bomb, registry)[0]


DEEP = ["[" * 5000, "a: " + "[" * 100 + "]" * 100, "a: &a [*a]"]


@pytest.mark.parametrize("text", DEEP, ids=["brackets without end", "a hundred brackets", "an alias of itself"])
def test_endless_nesting_is_refused(text: str, registry: Registry) -> None:
    assert problems(text, registry) == ["policy.yaml:1: " + reading_words.nested_too_deeply("policy")]


BAD_BYTES = {
    "not UTF-8": (b"actions: allocate\n# caf\xe9\n", "{path}:2: not UTF-8: byte 0xe9"),
    "far too large": (b"# " + b"x" * (300 * 1024), policy_words.too_large("{path}", 256)),
    "empty": (b"", "{path}:1: empty; expected a policy with actions and tiers"),
}


@pytest.mark.parametrize(("raw", "expected"), BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_bytes_that_are_no_policy(raw: bytes, expected: str, tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(raw)
    with pytest.raises(BadPolicy) as refused:
        load_file(path, registry)
    assert refused.value.problems == [expected.format(path=path)]


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(BadPolicy) as missing:
        load_file(tmp_path / "none.yaml", registry)
    assert missing.value.problems == [policy_words.cannot_be_read(f"{tmp_path}/none.yaml", "No such file or directory")]
    with pytest.raises(BadPolicy) as folder:
        load_file(tmp_path, registry)
    assert folder.value.problems == [policy_words.cannot_be_read(tmp_path, "Is a directory")]


MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
BAD_MANIFESTS = {
    "another kind": (
        "kind: Deployment\n",
        ["1: kind: " + policy_words.another_kind("Deployment")],
    ),
    "no data": (MANIFEST, ["1: data: " + policy_words.one_key_expected("none")]),
    "two keys": (
        MANIFEST + "data:\n  a.conf: x\n  b.conf: y\n",
        ["4: data: " + policy_words.one_key_expected("these: a.conf, b.conf")],
    ),
    "a mistake in a block keeps its line": (
        MANIFEST
        + "data:\n  volcano-scheduler.conf: |\n    actions: allocate\n    tiers:\n    - plugins:\n      - name: gong\n",
        ["9: tiers[0].plugins[0].name: unknown plugin 'gong'; did you mean 'gang'?"],
    ),
    "a YAML error in a block keeps its line": (
        MANIFEST + "data:\n  volcano-scheduler.conf: |-\n    actions: allocate\n    a: b: c\n",
        ["7: " + reading_words.not_yaml(reading_words.STRAY_COLON, " (column 5)")],
    ),
    "a mistake in a quoted text has the line of the text": (
        MANIFEST + 'data:\n  volcano-scheduler.conf: "actions: allocate\\ntiers:\\n- plugins:\\n  - name: gong\\n"\n',
        ["5: tiers[0].plugins[0].name: unknown plugin 'gong'; did you mean 'gang'?"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_MANIFESTS.values(), ids=BAD_MANIFESTS.keys())
def test_a_manifest_without_a_good_policy(text: str, expected: list[str], registry: Registry) -> None:
    assert problems(text, registry) == [f"policy.yaml:{line}" for line in expected]
