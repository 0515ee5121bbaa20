"""What is nested so deeply that reading it would end the process is told from what is merely long; what is no YAML."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
import yaml

from vsched import words
from vsched.api.manifests import decode_manifests, read
from vsched.apimachinery.manifests.documents import read_documents
from vsched.cli.plan.usage_file import read_usage
from vsched.errors import BadInput
from vsched.kube.auth.kubeconfig import read_files
from vsched.yamltext import DEEPEST, KubernetesLoader, is_too_deep, not_yaml

MANY = 300_000
DEEP = [
    pytest.param("a: " + "[" * MANY, id="brackets that never close"),
    pytest.param("[" * MANY + "]" * MANY, id="brackets that do"),
    pytest.param("\n".join(["a: {" for _ in range(MANY)]), id="a line each"),
    pytest.param("- " * MANY + "a", id="lists in lists on one line"),
]


@pytest.mark.parametrize("text", DEEP)
def test_deep_text_is_told_before_it_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(text, encoding="utf-8")

    assert is_too_deep(text)
    with pytest.raises(BadInput, match=r"deep\.yaml: nested too deeply"):
        decode_manifests(read([str(path)], StringIO()))
    with pytest.raises(BadInput, match=r"deep\.yaml: nested too deeply"):
        read_documents(path)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- {a: [1]}\n" * MANY, id="many brackets that close"),
        pytest.param("- a\n" * MANY, id="a long list"),
        pytest.param("]" * MANY, id="closing brackets"),
        pytest.param("[" * DEEPEST + "]" * DEEPEST, id="as deep as may be"),
        pytest.param("a: '" + "- " * (DEEPEST - 1) + "'", id="dashes in a text"),
    ],
)
def test_long_text_is_not_deep(text: str) -> None:
    assert not is_too_deep(text)


def bomb(levels: int, times: int, form: str) -> str:
    """A few lines whose aliases, each ``times`` times the one before, come to more than any machine holds."""
    lines = ["a0: &a0 {kind: ConfigMap}"]
    for level in range(1, levels):
        before = ", ".join([f"*a{level - 1}"] * times)
        body = {"list": f"[{before}]", "map": f"{{x: [{before}]}}", "merge": f"{{<<: [{before}]}}"}[form]
        lines.append(f"a{level}: &a{level} {body}")
    return "\n".join(lines)


@pytest.mark.parametrize("form", ["list", "map", "merge"])
def test_aliases_without_end_are_refused_in_one_line_and_at_once(form: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(bomb(40, 9, form), encoding="utf-8")
    with pytest.raises(BadInput, match=words.ALIASES_EXPAND):
        decode_manifests(read([str(path)], StringIO()))
    with pytest.raises(BadInput, match=words.ALIASES_EXPAND):
        read_documents(path)
    with pytest.raises(BadInput, match=words.ALIASES_EXPAND):
        read_usage(str(path), 0.0)
    with pytest.raises(BadInput, match=words.ALIASES_EXPAND):
        read_files([path])


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: {c: *a}}"], ids=["a list", "a mapping"])
def test_what_is_in_itself_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ring.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="aliases expand"):
        decode_manifests(read([str(path)], StringIO()))


def test_aliases_as_people_use_them_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "fine.yaml"
    labels = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {}\n  labels: &l {{a: b}}\n  annotations: *l\n"
    path.write_text("---\n".join(labels.format(f"n{number}") for number in range(50)), encoding="utf-8")
    assert len(list(read([str(path)], StringIO()))) == 50


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: 1\nb: {a: 1, ]", "x.yaml:2: not YAML: ", id="its line"),
        pytest.param("a: \0", "x.yaml: not YAML: unacceptable character #x0000: ", id="no line where none is known"),
    ],
)
def test_what_is_no_yaml_is_told_in_one_line(text: str, said: str) -> None:
    with pytest.raises(yaml.YAMLError) as caught:
        yaml.load(text, Loader=KubernetesLoader)
    told = str(not_yaml("x.yaml", caught.value))
    assert told.startswith(said)
    assert "\n" not in told
