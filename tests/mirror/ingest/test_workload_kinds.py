"""The table of workload kinds: what is refused, each time in one line that says where."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.errors import BadInput
from vsched.mirror.ingest.gangs import facts_of, slug
from vsched.mirror.ingest.paths import ObjectPlace, path_of
from vsched.mirror.ingest.words import groups as words
from vsched.mirror.ingest.words.fields import PATH_SYNTAX, no_path
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadKind
from vsched.mirror.ingest.workload_tables import read_table

KIND = {"apiVersions": ["example.com/v1"], "kind": "Thing"}


def entry(**fields: Any) -> dict[str, Any]:
    return {"workloads": [{**KIND, **fields}]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param([], "f: must be an object, is a list", id="no map"),
        pytest.param({"workload": []}, "f: object contains unknown field workload", id="an unknown field"),
        pytest.param(
            entry(rolls=[]), "f: workloads[0]: object contains unknown field rolls", id="an unknown field of a kind"
        ),
        pytest.param(
            {"workloads": [{"kind": "Thing"}]},
            "f: workloads[0]: object missing required field apiVersions",
            id="no version",
        ),
        pytest.param(
            entry(apiVersions=[]),
            words.no_api_versions("f: workloads[0]"),
            id="an empty list of versions",
        ),
        pytest.param(
            entry(apiVersions=["example.com"]),
            words.bad_api_version("f: workloads[0]", 0, "example.com"),
            id="a group without a version",
        ),
        pytest.param(
            entry(apiVersions=["example.com/v1", "other.com/v1"]),
            words.api_version_of_another_group("f: workloads[0]", 1, "other.com/v1", "example.com"),
            id="two groups",
        ),
        pytest.param(
            entry(kind="thing"),
            words.bad_kind("f: workloads[0]", "thing"),
            id="a kind in lower case",
        ),
        pytest.param(
            entry(apiVersions=["v1"], kind="Pod"),
            words.kind_of_pods("f: workloads[0]"),
            id="pods themselves",
        ),
        pytest.param(
            entry(roles=[{"name": "a", "replicas": "spec..n"}]),
            f"f: workloads[0].roles[0].replicas: {no_path('spec..n', PATH_SYNTAX)}",
            id="a path that is none",
        ),
        pytest.param(
            entry(roles=[{"name": "a", "minimum": [{"path": "n", "when": "x[a]"}]}]),
            f"f: workloads[0].roles[0].minimum[0].when: {no_path('x[a]', PATH_SYNTAX)}",
            id="a condition that is none",
        ),
        pytest.param(
            entry(roles=[{"pods": {"a": "b"}}]),
            words.neither_name_nor_each("f: workloads[0]", 0),
            id="a role without a name",
        ),
        pytest.param(
            entry(split=[{"when": "spec.x"}]),
            words.bad_split("f: workloads[0]", 0),
            id="a split by nothing",
        ),
        pytest.param(
            {"workloads": [KIND, KIND]},
            words.kind_twice("f", "workloads[1]: Thing.example.com"),
            id="a kind twice",
        ),
        pytest.param(
            {"workloads": [{**KIND, "label": "l"}, {**KIND, "kind": "Other", "label": "l"}]},
            words.label_of_another("f", "Other.example.com", "l", "Thing.example.com"),
            id="one label of two kinds",
        ),
    ],
)
def test_a_bad_table_is_refused_in_one_line(document: Any, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_table(document, "f")
    assert str(caught.value) == message


def test_a_file_replaces_and_completes_the_built_in_table() -> None:
    built_in = read_table({"workloads": [KIND, {**KIND, "kind": "Other"}]}, "built-in")
    changed = read_table(entry(annotated=True), "f", built_in)
    assert [(each.kind, each.annotated) for each in changed.kinds] == [("Thing", True), ("Other", False)]
    alone = read_table({"builtIn": False, **entry()}, "f", built_in)
    assert [each.kind for each in alone.kinds] == ["Thing"]
    assert read_table(None, "f", NO_WORKLOADS).kinds == ()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("a.b", [1], id="names with dots between"),
        pytest.param("l[*].n", [1, 2], id="every item of a list"),
        pytest.param("a[*]", [1], id="every value of a map"),
        pytest.param("m['x.y/z']", [3], id="a name with dots"),
        pytest.param("a.c", [], id="nothing there"),
        pytest.param("l.n", [], id="a name in a list"),
        pytest.param("null", [], id="null"),
    ],
)
def test_paths_lead_to_what_is_there(path: str, found: list[int]) -> None:
    document = {"a": {"b": 1}, "l": [{"n": 1}, {}, {"n": 2}], "m": {"x.y/z": 3}, "null": None}
    assert list(ObjectPlace(document).values(path)) == found
    assert list(ObjectPlace(document, 5).values(f"$.{path}")) == found


def test_an_empty_path_is_none() -> None:
    with pytest.raises(BadInput, match="'' is no path"):
        path_of("")


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(7, 7, id="a number"),
        pytest.param("spec.n", 4, id="a path"),
        pytest.param("spec.none", 1, id="one where a path leads nowhere"),
        pytest.param(["spec.none", "spec.n"], 4, id="the first path that leads to one"),
        pytest.param([{"path": "spec.n", "when": "spec.off"}, 2], 2, id="a condition that does not hold"),
        pytest.param([{"path": "spec.n", "when": "spec.word=yes"}, 2], 4, id="a condition that holds"),
        pytest.param({"path": "spec.n", "less": 1}, 3, id="less"),
        pytest.param({"path": "spec.n", "less": 9}, 0, id="never below zero"),
        pytest.param({"path": "spec.n", "times": ["spec.m", "spec.none"]}, 12, id="times"),
        pytest.param({"path": "spec.n", "atMost": ["spec.m"]}, 3, id="at most"),
    ],
)
def test_how_many_pods_a_role_has(count: Any, expected: int) -> None:
    document = {"spec": {"n": 4, "m": 3, "off": False, "word": "yes"}}
    (kind,) = read_table(entry(roles=[{"name": "a", "replicas": count}]), "f").kinds
    (role,) = facts_of(kind, document).roles
    assert (role.replicas, role.minimum) == (expected, expected)


def test_names_of_split_gangs_stay_different() -> None:
    assert slug("a-1") == "a-1"
    assert slug("A-1") != slug("a-1")
    assert slug("a_b") != slug("a.b")
    assert len(slug("x" * 63)) < 60


def test_the_plural_is_the_kind_and_an_s_unless_it_is_given() -> None:
    thing = WorkloadKind(api_versions=("example.com/v1", "example.com/v1beta1"), kind="Thing")
    assert [str(each) for each in thing.resources] == ["things.example.com", "things.example.com"]
    other = WorkloadKind(api_versions=("example.com/v1",), kind="Index", plural="indices")
    assert other.resources[0].plural == "indices"
