"""Models of NPUs as the ConfigMap of HAMi's device plugin has them."""

from __future__ import annotations

import pytest

from vsched.errors import BadInput
from vsched.model.deviceshare.chips import DEFAULT_CHIPS, NpuChip, NpuTemplate
from vsched.settings.geometries import divisions_in
from vsched.settings.words import files as words

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
