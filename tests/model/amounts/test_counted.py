"""Names and amounts of what Consumers count."""

from __future__ import annotations

import pytest

from vsched.errors import BadQuantity
from vsched.model.amounts.counted import counted_name, format_counted, lesser, parse_counted, summed

GOLD = "gold.storageclass.storage.k8s.io/requests.storage"


@pytest.mark.parametrize(
    ("written", "counted"),
    [
        pytest.param("cpu", "cpu", id="a compute resource is counted as itself"),
        pytest.param("requests.cpu", "cpu", id="requests of it are the same"),
        pytest.param("requests.nvidia.com/gpu", "nvidia.com/gpu", id="so are those of extended resources"),
        pytest.param("limits.memory", "limits.memory", id="limits are counted apart"),
        pytest.param("limits.nvidia.com/gpu", "", id="extended resources have no limits of their own"),
        pytest.param("storage", "requests.storage", id="storage is what claims request"),
        pytest.param(GOLD, GOLD, id="storage of a class is counted apart"),
        pytest.param("pods", "pods", id="pods are counted"),
        pytest.param("requests.pods", "", id="but nobody requests them"),
        pytest.param("services", "", id="objects cannot be divided"),
        pytest.param("count/deployments.apps", "", id="nor can their counts"),
        pytest.param("volcano.sh/namespace.weight", "", id="nor can the weight a quota gives its namespace"),
    ],
)
def test_what_is_written_is_counted_under_one_name(written: str, counted: str) -> None:
    assert counted_name(written) == counted


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("cpu", "1500m", 1500),
        ("limits.cpu", "2", 2000),
        ("memory", "1Gi", 1 << 30),
        ("limits.memory", "1Gi", 1 << 30),
        ("requests.memory", "7Gi", 7 << 30),
        ("requests.cpu", "2", 2000),
        ("requests.nvidia.com/gpu", "3", 3000),
        ("requests.ephemeral-storage", "5Gi", 5 << 30),
        ("requests.storage", "10Gi", 10 << 30),
        (GOLD, "1Ti", 1 << 40),
        ("persistentvolumeclaims", "12", 12),
        ("nvidia.com/gpu", "3", 3000),
        ("pods", "110", 110),
    ],
)
def test_amounts_are_read_in_base_units_and_written_back(name: str, text: str, value: int) -> None:
    assert parse_counted(name, text) == value
    assert format_counted(name, value) == text
    assert parse_counted(name, format_counted(name, value)) == value


@pytest.mark.parametrize("text", ["-1", "much"])
def test_an_amount_that_makes_no_sense_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadQuantity, match=r"^limits\.cpu: "):
        parse_counted("limits.cpu", text)


def test_limits_combine_to_the_tighter_one_and_amounts_to_their_sum() -> None:
    assert lesser({"cpu": 1, "memory": 9}, {"cpu": 2, "pods": 3}) == {"cpu": 1, "memory": 9, "pods": 3}
    assert summed([{"cpu": 1}, {"cpu": 2, "pods": 3}]) == {"cpu": 3, "pods": 3}
