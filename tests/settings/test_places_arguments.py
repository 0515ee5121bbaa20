"""The arguments of task-topology and numa-aware: what a policy file may say, and what is said of mistakes."""

from __future__ import annotations

import pytest

from vsched.errors import BadInput
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

TEXT = "actions: allocate\ntiers:\n- plugins:\n  - name: {plugin}\n    arguments: {{{argument}}}\n"


@pytest.mark.parametrize(
    ("plugin", "argument"),
    [
        ("task-topology", "task-topology.weight: 3"),
        ("task-topology", 'task-topology: {weight: "0"}'),
        ("numa-aware", "weight: 3"),
        ("numa-aware", 'weight: "0"'),
    ],
)
def test_arguments_are_taken(plugin: str, argument: str) -> None:
    (conf,) = load_text(TEXT.format(plugin=plugin, argument=argument), "policy", REGISTRY).policy.plugins()

    assert conf.name == plugin


@pytest.mark.parametrize(
    ("plugin", "argument", "problem"),
    [
        pytest.param(
            "task-topology",
            "task-topology.weight: -1",
            "policy:5: tiers[0].plugins[0].arguments.task-topology.weight: expected a whole number >= 0, got '-1'",
            id="a negative weight of task-topology",
        ),
        pytest.param(
            "task-topology",
            "task-topology.wieght: 1",
            "policy:5: tiers[0].plugins[0].arguments.task-topology.wieght: unknown argument; "
            "did you mean 'task-topology.weight'?",
            id="a name with a mistake",
        ),
        pytest.param(
            "numa-aware",
            "weight: heavy",
            "policy:5: tiers[0].plugins[0].arguments.weight: expected a whole number >= 0, got 'heavy'",
            id="a weight of numa-aware that is no number",
        ),
    ],
)
def test_mistakes_are_refused_with_path_and_line(plugin: str, argument: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_text(TEXT.format(plugin=plugin, argument=argument), "policy", REGISTRY)
    assert problem in str(caught.value)
