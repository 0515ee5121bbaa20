"""What is nested so deeply that reading it would end the process is told from what is merely long."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from vsched.cluster.manifests import decode_manifests, read
from vsched.errors import BadInput
from vsched.sim.manifests import read_documents
from vsched.yamltext import DEEPEST, is_too_deep

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
