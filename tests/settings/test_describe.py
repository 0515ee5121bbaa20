"""What ``vsched check`` prints, and what the log says when a file replaces another."""

from __future__ import annotations

import json

import pytest

from vsched.framework.registry import Registry
from vsched.settings import Settings, default_settings, load_text
from vsched.settings.describe import describe, describe_lines
from vsched.settings.diff import changes
from vsched.settings.words import policy as words

BASE = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
- plugins:
  - name: drf
    enableHierarchy: true
  - name: binpack
    arguments:
      binpack.cpu: 5
      binpack.resources: nvidia.com/gpu
      binpack.resources.nvidia.com/gpu: 2
configurations:
- name: enqueue
  arguments:
    QueueScoreOrderEnable: true
metrics:
  type: prometheus
  address: http://p:9090
  password: one
"""


def load(text: str, registry: Registry) -> Settings:
    return load_text(text, "policy.yaml", registry)


def test_lines_mark_what_is_off_and_show_what_is_unusual(registry: Registry) -> None:
    assert describe_lines(load(BASE, registry), registry) == [
        "actions: enqueue, allocate",
        "  enqueue: QueueScoreOrderEnable: true",
        "tier 1:",
        "  priority  TaskOrder JobOrder Preemptable",
        "  gang      JobValid JobOrder JobReady Preemptable(off)",
        "tier 2:",
        "  drf       JobOrder QueueOrder Preemptable hierarchy(on)",
        "  binpack   NodeOrder",
        "            binpack.cpu: 5",
        '            binpack.resources: ["nvidia.com/gpu"]',
        "            binpack.resources.nvidia.com/gpu: 2",
        "metrics:",
        "  type: prometheus",
        "  address: http://p:9090",
        "  password: ***",
    ]


def test_the_data_says_the_same(registry: Registry) -> None:
    data = describe(load(BASE, registry), registry)
    assert json.loads(json.dumps(data)) == data
    gang = data["tiers"][0]["plugins"][1]
    assert gang == {
        "name": "gang",
        "points": {"JobValid": True, "JobOrder": True, "JobReady": True, "Preemptable": False},
        "hierarchy": False,
        "arguments": {},
    }
    assert data["tiers"][1]["plugins"][1]["arguments"] == {
        "binpack.weight": 1,
        "binpack.cpu": 5,
        "binpack.memory": 1,
        "binpack.resources": ["nvidia.com/gpu"],
        "binpack.resources.nvidia.com/gpu": 2,
    }
    assert data["configurations"]["enqueue"]["QueueScoreOrderEnable"] is True
    assert data["metrics"]["password"] == "***"
    assert len(data["warnings"]) == 1


def test_settings_as_data_are_plain_json(registry: Registry) -> None:
    data = load(BASE, registry).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["policy"]["actions"] == "enqueue, allocate"
    assert data["policy"]["tiers"][0]["plugins"][1] == {"name": "gang", "enablePreemptable": False}


CHANGES = {
    "nothing": ("", "", "no change"),
    "a comment": ("actions:", "# why\nactions:", words.LAYOUT_ONLY),
    "a spelling": ("enablePreemptable", "enabledPreemptable", words.LAYOUT_ONLY),
    "the actions": ("enqueue, allocate", "allocate", "actions enqueue, allocate -> allocate"),
    "a plugin less": ("  - name: priority\n", "", "priority removed"),
    "a plugin more": (
        "  - name: priority\n",
        "  - name: priority\n  - name: conformance\n",
        words.added("conformance", 1),
    ),
    "a plugin elsewhere": (
        "  - name: priority\n  - name: gang\n    enablePreemptable: false\n- plugins:\n",
        "  - name: gang\n    enablePreemptable: false\n- plugins:\n  - name: priority\n",
        words.moved("priority", 1, 2),
    ),
    "another order": (
        "  - name: priority\n  - name: gang\n    enablePreemptable: false\n",
        "  - name: gang\n    enablePreemptable: false\n  - name: priority\n",
        words.order_in_tier(1, "gang, priority"),
    ),
    "a switch": ("enablePreemptable: false", "enablePreemptable: true", "gang enablePreemptable false -> true"),
    "an argument": ("binpack.cpu: 5", "binpack.cpu: 7", "binpack binpack.cpu 5 -> 7"),
    "an argument less": ("      binpack.cpu: 5\n", "", "binpack binpack.cpu 5 -> 1"),
    "a member of a family less": (
        "      binpack.resources.nvidia.com/gpu: 2\n",
        "",
        "binpack binpack.resources.nvidia.com/gpu 2 -> unset",
    ),
    "a configuration": (
        "QueueScoreOrderEnable: true",
        "QueueScoreOrderEnable: false",
        "enqueue QueueScoreOrderEnable true -> false",
    ),
    "a password": ("password: one", "password: two", "metrics password changed"),
    "credentials in an address": (
        "http://p:9090",
        "http://a:b@p:9090",
        "metrics address http://p:9090 -> http://***@p:9090",
    ),
    "no metrics any more": (BASE[BASE.index("metrics:") :], "", "metrics removed"),
}


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_one_line(old: str, new: str, expected: str, registry: Registry) -> None:
    assert changes(load(BASE, registry), load(BASE.replace(old, new, 1), registry)) == expected


def test_a_secret_inside_an_address_is_not_told(registry: Registry) -> None:
    one = load(BASE.replace("http://p", "http://a:one@p"), registry)
    two = load(BASE.replace("http://p", "http://a:two@p"), registry)
    assert changes(one, two) == "metrics address changed"


def test_metrics_that_are_new_are_told(registry: Registry) -> None:
    without = BASE[: BASE.index("metrics:")]
    assert changes(load(without, registry), load(BASE, registry)) == "metrics added"


def test_many_changes_are_counted(registry: Registry) -> None:
    line = changes(load(BASE, registry), default_settings(registry))
    assert line.count("; ") == 8
    assert line.endswith(" more")
    assert "\n" not in line
