"""Node pools from a file, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsched.apimachinery.manifests.node_pools import POOL
from vsched.errors import BadInput
from vsched.sim.command.examples import POOLS_EXAMPLE
from vsched.sim.fleet.nodes import read_pools


def write(folder: Path, text: str) -> Path:
    path = folder / "pools.yaml"
    path.write_text(text)
    return path


def test_the_example_of_the_help(tmp_path: Path) -> None:
    (pool,) = read_pools(write(tmp_path, POOLS_EXAMPLE))

    assert (pool.name, pool.least, pool.most, pool.delay, pool.idle, pool.price) == ("h100", 0, 4, 30.0, 600.0, 2.5)
    first, second, again = pool.node(0), pool.node(1), pool.node(3)
    assert first["metadata"]["name"] == "h100-0"
    assert first["metadata"]["labels"][POOL] == "h100"
    assert first["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "h100"
    assert first["metadata"]["labels"]["kubernetes.io/hostname"] == "h100-0"
    assert first["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    zones = [one["metadata"]["labels"]["topology.kubernetes.io/zone"] for one in (first, second, again)]
    assert zones == ["zone-a", "zone-b", "zone-a"]


def test_the_pools_of_the_samples() -> None:
    assert [pool.name for pool in read_pools(Path(__file__).parents[3] / "config" / "pools.yaml")] == ["h100", "cpu"]


def test_a_pool_that_says_nothing_but_its_name(tmp_path: Path) -> None:
    (pool,) = read_pools(write(tmp_path, "- name: a\n  zones: []\n"))

    assert (pool.least, pool.most, pool.delay, pool.idle, pool.price, pool.out_of_stock) == (0, 10, 0.0, None, 0.0, "")
    assert "topology.kubernetes.io/zone" not in pool.node(0)["metadata"]["labels"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[]", "nothing in it", id="nothing"),
        pytest.param("- max: 3", "name is None: expected the name of a pool", id="no name"),
        pytest.param("- {name: a, count: 3}", "count has no meaning for a pool", id="a count"),
        pytest.param("- {name: a, max: -1}", "max is -1: expected a number of nodes", id="a negative number"),
        pytest.param("- {name: a, min: 3, max: 2}", "min is 3: expected at most max, 2", id="more than the most"),
        pytest.param("- {name: a, delay: soon}", "delay is 'soon': expected a time", id="a time"),
        pytest.param("- {name: a, price: much}", "price is 'much': expected a number", id="a price"),
        pytest.param("- {name: a, colour: red}", "unknown key 'colour'", id="an unknown key"),
        pytest.param("- {name: a}\n- {name: a}", "two pools are called 'a'", id="a name twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=r"pools\.yaml") as found:
        read_pools(write(tmp_path, text))
    assert message in str(found.value)
