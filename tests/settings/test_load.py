"""What a good policy file loads as: every spelling, every shape of arguments, Volcano's documented leniency."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from textwrap import dedent, indent

import msgspec
import pytest

from vsched.framework.policy import PluginConf, Policy, Switches
from vsched.framework.registry import Action, Registry, points_of
from vsched.settings import Settings, default_settings, load_file, load_text
from vsched.settings.describe import describe
from vsched.settings.document import policy_text
from vsched.settings.load import default_text

HEAD = "actions: allocate\ntiers:\n- plugins:\n"
DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]


def plugin(text: str, registry: Registry) -> PluginConf:
    settings = load_text(HEAD + indent(dedent(text).strip("\n"), "  ") + "\n", "policy.yaml", registry)
    return next(settings.policy.plugins())


def arguments(name: str, text: str, registry: Registry) -> msgspec.Struct:
    return plugin(f"- name: {name}\n  arguments:\n" + indent(dedent(text).strip("\n"), "    "), registry).args


def test_every_switch_is_read_in_both_spellings(registry: Registry) -> None:
    for switch, default in msgspec.structs.asdict(Switches()).items():
        words = "".join(word.capitalize() for word in switch.split("_"))
        for key in (f"enable{words}", f"enabled{words}"):
            conf = plugin(f"- name: gang\n  {key}: {str(not default).lower()}", registry)
            assert conf.switches == msgspec.structs.replace(Switches(), **{switch: not default})


def test_a_switch_is_on_unless_it_is_said_to_be_off(registry: Registry) -> None:
    switches = plugin("- name: gang\n  enableJobOrder:", registry).switches
    off = {switch for switch, value in msgspec.structs.asdict(switches).items() if not value}
    assert off == {"cluster_order", "hierarchy"}
    assert switches.enabled("job_order")
    assert switches.enabled("")


SWITCH_VALUES = {
    "false": False, "False": False, "no": False, "off": False, "'false'": False, '"0"': False, "'F'": False,
    "true": True, "TRUE": True, "yes": True, "on": True, "'True'": True, "'1'": True, "'t'": True,
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SWITCH_VALUES.items())
def test_booleans_as_yaml_and_go_write_them(text: str, value: bool, registry: Registry) -> None:
    assert plugin(f"- name: gang\n  enableJobOrder: {text}", registry).switches.job_order is value


SAME_BINPACK = {
    "flat": """
        binpack.weight: 10
        binpack.resources: nvidia.com/gpu, example.com/foo
        binpack.resources.nvidia.com/gpu: 2
        """,
    "nested": """
        binpack:
          weight: 10
          resources:
            nvidia.com/gpu: 2
        binpack.resources: [nvidia.com/gpu, example.com/foo]
        """,
    "mixed": """
        binpack:
          weight: 10
          resources.nvidia.com/gpu: 2
        binpack.resources: "nvidia.com/gpu,example.com/foo"
        """,
    "quoted": """
        "binpack.weight": "10"
        'binpack.resources': ' nvidia.com/gpu , example.com/foo '
        binpack.resources.nvidia.com/gpu: '2'
        """,
}


@pytest.mark.parametrize("text", SAME_BINPACK.values(), ids=SAME_BINPACK.keys())
def test_arguments_are_the_same_flat_nested_mixed_and_quoted(text: str, registry: Registry) -> None:
    assert msgspec.to_builtins(arguments("binpack", text, registry)) == {
        "binpack.weight": 10,
        "binpack.cpu": 1,
        "binpack.memory": 1,
        "binpack.resources": ("nvidia.com/gpu", "example.com/foo"),
        "binpack.resources.*": {"nvidia.com/gpu": 2},
    }


SHAPES = {
    "a nested struct, flat": ("thresholds.cpu: 70", {"thresholds": {"cpu": 70, "mem": 80}}),
    "a nested struct, nested": ("thresholds: {mem: '70'}", {"thresholds": {"cpu": 80, "mem": 70}}),
    "nothing given for a struct": ("thresholds:", {"thresholds": {"cpu": 80, "mem": 80}}),
    "a time": ("interval: 1h1m1.5s", {"interval": 3661.5}),
    "a time that may be absent": ("patience: 10ms", {"patience": 0.01}),
    "no time": ("patience: null", {"patience": None}),
    "one alternative": ("be_cpu: 300", {"be_cpu": 300}),
    "another alternative": ("be_cpu: 300m", {"be_cpu": "300m"}),
    "a list of structs": (
        "strategies:\n- name: low\n  params: {cpu: 20, memory.x: '0.5'}",
        {"strategies": ({"name": "low", "params": {"cpu": 20.0, "memory.x": 0.5}},)},
    ),
    "a family of structs, nested": (
        "resources:\n  nvidia.com/gpu:\n    type: MostAllocated\n    weight: 2\n  cpu: {weight: 3}",
        {
            "resources": {
                "nvidia.com/gpu": {"type": "MostAllocated", "weight": 2},
                "cpu": {"type": "LeastAllocated", "weight": 3},
            }
        },
    ),
    "a family of structs, flat": (
        "resources.nvidia*.weight: 2",
        {"resources": {"nvidia*": {"type": "LeastAllocated", "weight": 2}}},
    ),
    "anything": (
        "anything: {a: [1, 1.5, yes, '1', x, null]}",
        {"anything": {"a": [1, 1.5, True, "1", "x", None]}},
    ),
}


@pytest.mark.parametrize(("text", "expected"), SHAPES.values(), ids=SHAPES.keys())
def test_arguments_of_any_shape(text: str, expected: dict[str, object], later: Registry) -> None:
    found = msgspec.to_builtins(arguments("usage", text, later))
    assert {key: found[key] for key in expected} == expected


LENIENT = {
    "a negative binpack weight is one": ("binpack", "binpack.weight: -3", "binpack.weight", 1),
    "an overcommit factor below one is 1.2": ("overcommit", "overcommit-factor: 0.5", "overcommit-factor", 1.2),
    "an overcommit factor may be whole": ("overcommit", "overcommit-factor: 2", "overcommit-factor", 2.0),
}


@pytest.mark.parametrize(("name", "text", "key", "value"), LENIENT.values(), ids=LENIENT.keys())
def test_documented_leniency_is_kept(name: str, text: str, key: str, value: object, registry: Registry) -> None:
    assert msgspec.to_builtins(arguments(name, text, registry))[key] == value


def test_no_arguments_and_empty_arguments_are_the_defaults(registry: Registry) -> None:
    absent = plugin("- name: binpack", registry)
    assert absent == plugin("- name: binpack\n  arguments:", registry)
    assert absent == plugin("- name: binpack\n  arguments: {}", registry)


def test_every_action_has_arguments_whether_the_file_tells_it_anything_or_not(registry: Registry) -> None:
    text = (
        HEAD
        + "  - name: gang\nconfigurations:\n- name: enqueue\n  arguments:\n    QueueScoreOrder:\n      drf.weight: 2"
    )
    policy = load_text(text, "policy.yaml", registry).policy
    assert list(policy.action_args) == ["enqueue", "allocate", "backfill"]
    assert msgspec.to_builtins(policy.action_args["enqueue"])["QueueScoreOrder.*.weight"] == {"drf": 2.0}
    assert policy.action_args["allocate"] == registry.actions["allocate"].args_type()


def test_actions_keep_their_order_and_may_come_twice(registry: Registry) -> None:
    text = "actions: ' allocate,backfill ,  allocate'\ntiers: [{plugins: [{name: gang}]}]"
    assert load_text(text, "policy.yaml", registry).policy.actions == ("allocate", "backfill", "allocate")


def test_plugins_of_separate_tiers_are_not_in_conflict(registry: Registry) -> None:
    text = "actions: allocate\ntiers:\n- plugins: [{name: drf, enableHierarchy: true}]\n- plugins: [{name: proportion}]"
    assert len(load_text(text, "policy.yaml", registry).policy.tiers) == 2


def test_aliases_stand_for_what_they_name(registry: Registry) -> None:
    text = HEAD + "  - &one {name: gang}\n  - name: binpack\n    arguments: &a {binpack.cpu: 3}\n"
    text += "configurations: [{name: allocate, arguments: {QueueScoreOrder: &w {drf.weight: 1}}},"
    text += " {name: enqueue, arguments: {QueueScoreOrder: *w}}]"
    args = load_text(text, "policy.yaml", registry).policy.action_args
    assert args["allocate"] == args["enqueue"]


def test_a_policy_inside_a_config_map_is_the_same_policy(registry: Registry) -> None:
    text = default_text()
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  volcano-scheduler.conf: |\n"
    settings = load_text(manifest + indent(text, "    "), "cm.yaml", registry)
    assert settings.policy == load_text(text, "policy.yaml", registry).policy


def test_settings_know_their_file(tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "policy.yaml"
    raw = b"\xef\xbb\xbf" + default_text().replace("\n", "\r\n").encode()
    path.write_bytes(raw)
    settings = load_file(path, registry, generation=3)
    assert (settings.source, settings.generation, settings.warnings) == (str(path), 3, ())
    assert settings.sha256 == sha256(raw).hexdigest()
    assert settings.policy == default_settings(registry).policy


def test_the_built_in_policy_is_the_one_in_the_config_folder(registry: Registry) -> None:
    assert default_text() == (ROOT / "config" / "scheduler.yaml").read_text()
    settings = default_settings(registry)
    assert settings.source == "built-in"
    assert [[conf.name for conf in tier.plugins] for tier in settings.policy.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    off = {conf.name for conf in settings.policy.plugins() if not conf.switches.preemptable}
    assert off == {"gang", "drf"}


@pytest.mark.parametrize("name", ["volcano-built-in", "queue-score-order"])
def test_files_of_the_field_load(name: str, registry: Registry) -> None:
    assert isinstance(load_file(DATA / f"{name}.yaml", registry), Settings)


def test_the_built_in_policy_loads_in_this_build(built: Registry) -> None:
    assert default_settings(built).warnings == ()
    assert load_file(DATA / "volcano-built-in.yaml", built).warnings == ()


def test_every_documented_argument_loads_in_this_build(built: Registry) -> None:
    settings = load_file(DATA / "volcano-all-arguments.yaml", built)
    assert settings.warnings == ()
    assert load_text(policy_text(settings.policy), "again.yaml", built).policy == settings.policy


def test_names_are_registered_once(registry: Registry) -> None:
    gang, allocate = registry.plugins["gang"], registry.actions["allocate"]
    with pytest.raises(ValueError, match="'gang' is registered twice"):
        Registry.of([gang, gang], [])
    with pytest.raises(ValueError, match="'allocate' is registered twice"):
        Registry.of([], [allocate, Action("allocate", allocate.run)])


def test_the_points_of_a_plugin_are_the_classes_it_inherits(registry: Registry) -> None:
    assert [point.__name__ for point in points_of(registry.plugins["gang"])] == [
        "JobValid",
        "JobOrder",
        "JobReady",
        "Preemptable",
    ]
    assert [point.point for point in points_of(registry.plugins["overcommit"])] == ["job_enqueued"]


def test_a_policy_finds_its_plugins(registry: Registry) -> None:
    policy = default_settings(registry).policy
    drf = policy.plugin("drf")
    assert drf is not None
    assert not drf.switches.preemptable
    assert policy.plugin("capacity") is None
    assert list(Policy((), ()).plugins()) == []


@pytest.mark.parametrize("path", sorted((ROOT / "config" / "policies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_sample_policy_loads_without_a_warning(path: Path, built: Registry) -> None:
    settings = load_file(path, built)
    assert settings.warnings == ()
    assert load_text(policy_text(settings.policy), "again.yaml", built).policy == settings.policy


def test_what_this_build_has_can_be_declared_described_and_written(built: Registry) -> None:
    plugins = ", ".join(f"{{name: {name}}}" for name in built.plugins if name != "capacity")
    text = f"actions: '{','.join(built.actions)}'\ntiers: [{{plugins: [{plugins}]}}]"
    settings = load_text(text, "policy.yaml", built)
    assert load_text(policy_text(settings.policy), "again.yaml", built).policy == settings.policy
    assert all(plugin["points"] for plugin in describe(settings, built)["tiers"][0]["plugins"])
