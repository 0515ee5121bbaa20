"""MIG geometries as the ConfigMap of Volcano's device plugin has them."""

from __future__ import annotations

import pytest

from vsched.errors import BadInput
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES, MigGeometry, MigProfile, ModelGeometries
from vsched.settings.geometries import divisions_in
from vsched.settings.words import files as words

TEXT = """
nvidia:
  resourceCountName: volcano.sh/vgpu-number
  deviceMemoryScaling: 1
  knownMigGeometries:
  - models: [ "H100-PCIE-80GB", "H100-SXM5-80GB" ]
    allowedGeometries:
      - group: "group1"
        geometries:
        - name: 1g.10gb
          memory: 10240
          count: 7
      - group: group2
        geometries:
        - {name: 3g.40gb, memory: 40960, count: 1}
        - {name: 1g.10gb, memory: 10240, count: 4}
vnpus: []
"""
SMALL = "nvidia: {gpuMemoryFactor: 10, knownMigGeometries: [{models: [A], allowedGeometries: [%s]}]}"
ONE = "{group: g, geometries: [{name: p, memory: 105, count: 1}]}"


def test_geometries_are_read() -> None:
    assert divisions_in(TEXT, "map").geometries == (
        ModelGeometries(
            ("H100-PCIE-80GB", "H100-SXM5-80GB"),
            (
                MigGeometry("group1", (MigProfile("1g.10gb", 10240, 7),)),
                MigGeometry("group2", (MigProfile("3g.40gb", 40960, 1), MigProfile("1g.10gb", 10240, 4))),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", DEFAULT_GEOMETRIES, id="an empty text"),
        pytest.param("nvidia: {deviceSplitCount: 10}", DEFAULT_GEOMETRIES, id="nothing about MIG"),
        pytest.param("nvidia: {knownMigGeometries: []}", (), id="no model at all"),
    ],
)
def test_the_usual_geometries_count_where_none_are_said(text: str, found: object) -> None:
    assert divisions_in(text, "map").geometries == found


def test_memory_is_in_the_unit_of_the_device_plugin() -> None:
    ((one,),) = (each.geometries for each in divisions_in(SMALL % ONE, "map").geometries)
    assert one.memory() == (10,), "105 MiB are ten units of 10 MiB"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("nvidia: [", "not YAML", id="no YAML"),
        pytest.param("nvidia: 3", "map: nvidia: must be an object, is an integer", id="another type"),
        pytest.param(SMALL % f"{ONE}, {ONE}", "map: nvidia.knownMigGeometries[0]: two geometries have", id="twice"),
        pytest.param(
            SMALL % "{group: a-b, geometries: [{name: p, memory: 1, count: 1}]}",
            "map: nvidia.knownMigGeometries[0].allowedGeometries[0].group: must be a string matching",
            id="a name that annotations cannot have",
        ),
        pytest.param(
            SMALL % "{group: g, geometries: [{name: p, memory: 1, count: 0}]}",
            "geometries[0].count: must be an integer >= 1",
            id="no instance of a profile",
        ),
        pytest.param("a: " + "[" * 2000, words.nested_too_deeply("map"), id="too deep"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        divisions_in(text, "map")
    assert problem in str(caught.value)
