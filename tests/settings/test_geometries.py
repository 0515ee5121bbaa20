"""MIG geometries as the ConfigMap of Volcano's device plugin has them."""

from __future__ import annotations

import pytest

from vsched.errors import BadInput
from vsched.model.deviceshare.chips import DEFAULT_CHIPS, NpuChip, NpuTemplate
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


MODEL = """
- chipName: 910B3
  commonWord: Ascend910B3
  resourceName: huawei.com/Ascend910B3
  resourceMemoryName: huawei.com/Ascend910B3-memory
  resourceCoreName: huawei.com/Ascend910B3-core
  memoryAllocatable: 65536
  memoryCapacity: 65536
  aiCore: 20
  aiCPU: 7
  templates:
  - {name: vir10_3c_32g, memory: 32768, aiCore: 10, aiCPU: 3}
  - {name: vir05_1c_16g, memory: 16384, aiCore: 5, aiCPU: 1}
"""
CHIP = NpuChip("Ascend910B3", 65536, (NpuTemplate("vir05_1c_16g", 16384), NpuTemplate("vir10_3c_32g", 32768)))
WHOLE = "{commonWord: AscendX, memoryAllocatable: 5, memoryCapacity: 9%s}"


def indented(text: str) -> str:
    return text.replace("\n", "\n    ")


@pytest.mark.parametrize(
    ("text", "chips"),
    [
        pytest.param(f"vnpus:{indented(MODEL)}", (CHIP,), id="a list, as older device plugins have it"),
        pytest.param(
            f"vnpus:\n  hamiVnpuCore: false\n  configs:{indented(MODEL)}", (CHIP,), id="as newer ones have it"
        ),
        pytest.param("nvidia: {}", DEFAULT_CHIPS, id="the usual ones where nothing is said"),
        pytest.param("vnpus: {hamiVnpuCore: true}", DEFAULT_CHIPS, id="and where no model is"),
        pytest.param("vnpus: []", (), id="none at all"),
        pytest.param(f"vnpus: [{WHOLE % ''}]", (NpuChip("AscendX", 9),), id="a model that is given out whole"),
    ],
)
def test_models_are_read(text: str, chips: object) -> None:
    assert divisions_in(text, "map").chips == chips


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("vnpus: 5", "map: vnpus: must be an object or a list, is an integer", id="no list"),
        pytest.param(
            f"vnpus: [{WHOLE % ', resourceName: npu'}]",
            "map: vnpus[0].resourceName: 'npu' (expected huawei.com/AscendX)",
            id="a resource of another name",
        ),
        pytest.param(
            f"vnpus: {{configs: [{WHOLE % ', memoryFactor: 10'}]}}",
            "map: " + words.memory_factor("vnpus.configs[0]", 10),
            id="another unit",
        ),
        pytest.param(f"vnpus: [{WHOLE % ''}, {WHOLE % ''}]", "map: " + words.two_models("vnpus"), id="a model twice"),
        pytest.param(
            "vnpus: [{commonWord: AscendX, memoryCapacity: 9}]",
            "map: vnpus[0]: Object missing required field `memoryAllocatable`",
            id="a field too few",
        ),
    ],
)
def test_what_cannot_be_understood_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        divisions_in(text, "map")
    assert str(caught.value) == problem
