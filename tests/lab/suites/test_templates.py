"""Templates of objects: how numbers get into them, and what is refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.lab.suites.templates import Template


def template(folder: Path, text: str) -> Template:
    path = folder / "object.yaml"
    path.write_text(text, encoding="utf-8")
    return Template(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("{{.Index}}", 7, id="the index"),
        pytest.param("{{ .Count }}", 20, id="how many there are"),
        pytest.param("pod-{{.Index}}", "pod-7", id="in a text"),
        pytest.param("{{DivideInt .Index 5}}", 1, id="a quotient without the rest"),
        pytest.param("{{Mod .Index 5}}", 2, id="the rest"),
        pytest.param("{{AddInt .Index 1}}", 8, id="a sum"),
        pytest.param("{{SubtractInt .Count .Index}}", 13, id="a difference"),
        pytest.param("{{MultiplyInt (AddInt .Index 1) 10}}", 80, id="parentheses"),
        pytest.param("{{DivideInt 30000 .Count}}Mi", "1500Mi", id="an amount"),
        pytest.param('"{{.Index}}"', "7", id="in quotes it stays a text"),
    ],
)
def test_numbers_are_filled_in(tmp_path: Path, text: str, value: object) -> None:
    found = template(tmp_path, f"kind: Pod\nspec:\n  value: {text}\n").make(7, 20)
    assert found["spec"] == {"value": value}


def test_objects_of_a_template_are_not_the_same_one(tmp_path: Path) -> None:
    plain = template(tmp_path, "kind: Pod\nspec: {a: {b: 1}}\n")
    plain.make(0, 2)["spec"]["a"]["b"] = 2
    assert plain.make(1, 2)["spec"] == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Pod\nspec: {a: 1\n", ":3: not YAML", id="no YAML"),
        pytest.param("kind: Pod\nspec:\n  a: x-{{.Name}}\n", ":3: {{.Name}} cannot be filled in", id="another value"),
        pytest.param(
            "kind: Pod\nspec:\n  a: x-{{Sqrt 4}}\n", ":3: {{Sqrt 4}} cannot be filled in", id="another function"
        ),
        pytest.param("kind: Pod\nspec:\n  a: x-{{Mod 4}}\n", words.ENDS_TOO_EARLY, id="too few numbers"),
        pytest.param("kind: Pod\nspec:\n  a: x-{{Mod 4 2 1}}\n", ":3: {{Mod 4 2 1}}", id="too many numbers"),
        pytest.param("kind: Pod\nspec:\n  a: x-{{Mod 4 0}}\n", ":3: {{Mod 4 0}}", id="a division by zero"),
        pytest.param("kind: Pod\nspec:\n  a: x-{{(AddInt 1 2}}\n", words.NOT_CLOSED, id="an open parenthesis"),
        pytest.param("- a\n", "no object", id="a list"),
        pytest.param("spec: {}\n", "no object", id="no kind"),
        pytest.param("kind: Pod\nspec: 7\n", "spec is 7: expected a mapping", id="a spec that is none"),
    ],
)
def test_what_cannot_be_a_template_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        template(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "object.yaml"))
    assert message in str(caught.value)


def test_a_template_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nothing\.yaml: cannot be read"):
        Template(tmp_path / "nothing.yaml")
