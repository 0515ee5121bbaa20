"""Objective files: what they may say, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.lab.tune import words
from vsched.lab.tune.figures import Unit, known_figures
from vsched.lab.tune.objective import SearchedName as Asked
from vsched.lab.tune.objective import objective_of, read_objective
from vsched.settings.words.reading import did_you_mean

SAMPLES = Path(__file__).parents[3] / "config" / "samples" / "tune"


def test_an_objective_has_goals_limits_and_what_to_search() -> None:
    found = objective_of(
        'minimize: p95 Wait of gangs\nmaximize: [utilization]\nlimits:\n  fairness: ">= 0.97"\n'
        '  gpu-hours lost: "<= 1 %"\n  max wait: "<= 2h"\nsearch:\n  drf:\n  a.b: 1h .. 6h\n  c.d: [1, 2]\n',
        "o.yaml",
    )
    assert [(goal.figure.name, goal.minimize) for goal in found.goals] == [
        ("p95 wait of gangs", True),
        ("utilization", False),
    ]
    assert [(limit.figure.unit, limit.at_most, limit.bound) for limit in found.limits] == [
        (Unit.INDEX, False, 0.97),
        (Unit.SHARE, True, 0.01),
        (Unit.SECONDS, True, 7200.0),
    ]
    assert found.search == (
        Asked("drf", 8),
        Asked("a.b", 9, (), "1h", "6h"),
        Asked("c.d", 10, ("1", "2")),
    )
    assert found.limits[0].excess(0.9) > 0 > found.limits[0].excess(0.98)
    assert found.limits[1].excess(0.02) > 0 > found.limits[1].excess(0.0)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_samples_are_objectives(path: Path) -> None:
    assert read_objective(path).goals


GOAL = "minimize: mean wait\n"


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        pytest.param("[a]", 1, words.mapping_expected("a list"), id="a list"),
        pytest.param("limits: {}\n", 1, words.NO_GOAL, id="no goal"),
        pytest.param("minimise: wait\n", 1, words.unknown_key(did_you_mean("minimize")), id="a misspelled key"),
        pytest.param("minimize: wait\n", 1, words.no_figure("'wait'", known_figures()), id="no such figure"),
        pytest.param("minimize:\n- mean wait over gpus\n", 2, "is no figure", id="a size without a number"),
        pytest.param("minimize: utilisation of tpu\n", 1, "is no figure", id="an unknown resource"),
        pytest.param("minimize: [fairness, fairness]\n", 1, words.twice("fairness"), id="a goal twice"),
        pytest.param(
            "minimize: [p4 wait, p5 wait, p6 wait, p7 wait, p8 wait]\n",
            1,
            words.too_many(4, "goals"),
            id="five goals",
        ),
        pytest.param(f"{GOAL}limits: [fairness]\n", 2, words.mapping_expected("a list"), id="limits as a list"),
        pytest.param(
            f'{GOAL}limits:\n  fairness: "0.9"\n', 3, words.no_limit("'0.9'", '">= 0.97"'), id="a limit without a sign"
        ),
        pytest.param(f'{GOAL}limits: {{fairness: ">= 97 %"}}\n', 2, "limits.fairness", id="an index in per cent"),
        pytest.param(f'{GOAL}limits: {{max wait: "<= 5"}}\n', 2, "limits.max wait", id="a time without a unit"),
        pytest.param(f'{GOAL}limits: {{evictions: "<= 5 %"}}\n', 2, "limits.evictions", id="a count in per cent"),
        pytest.param(f'{GOAL}limits: {{speed: "<= 5"}}\n', 2, "is no figure", id="a limit of no figure"),
        pytest.param(f"{GOAL}search: {{a.b: 5}}\n", 2, words.no_values("'5'", 32), id="one value to search"),
        pytest.param(f"{GOAL}search: [a, [b]]\n", 2, words.NAMES_EXPECTED, id="a list of names and others"),
        pytest.param("", 1, "empty", id="nothing"),
        pytest.param("minimize: [\n", 2, "", id="no YAML"),
    ],
)
def test_a_mistake_is_refused_with_its_line(text: str, line: int, expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        objective_of(text, "o.yaml")
    first = str(refused.value).splitlines()[0]
    assert first.startswith(f"o.yaml:{line}: ")
    assert expected in first


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing\.yaml: cannot be read"):
        read_objective(tmp_path / "missing.yaml")
    (tmp_path / "large.yaml").write_text("#" * 70_000)
    with pytest.raises(BadInput) as refused:
        read_objective(tmp_path / "large.yaml")
    assert str(refused.value) == words.too_large(tmp_path / "large.yaml", 64)
