"""More nodes are advised for a gang only where it fits in no way without them, and no more than it takes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.packing import Size, fits
from tests.support.plans import NOW, manifests, mirror, plan, policy_of
from vsched.explain.changes import changes
from vsched.explain.edits.nodes import AddNodes, PoolNode
from vsched.explain.menu.menus import menus
from vsched.explain.menu.records import NodesOfPool, NodesPart, OfferedPool
from vsched.explain.simulation import never
from vsched.framework.cycle import run_cycle
from vsched.model.frozen import freeze
from vsched.settings.built_in import REGISTRY

GANGS = policy_of("gang", "predicates nodeorder", actions="allocate")
GPU = "example.com/gpu"
GPUS, CPUS = "node gpu-0 cpu=4 gpu=1", "node cpu-0 cpu=4"
GANG = "job x/b min=3\npods x/b 1 cpu=4 role=launcher\npods x/b 2 cpu=1 gpu=1 role=worker"
"""In order, the launcher takes a node with a GPU."""
BY_WORKERS = "job x/b min=3\npods x/b 2 cpu=1 gpu=1 role=worker\npods x/b 1 cpu=4 role=launcher"
TAKEN = "job x/o min=1 pods=1 cpu=4 on=cpu-0 phase=Running"


def advised(text: str) -> dict[str, int]:
    """How many more nodes are advised, by the node that they are like."""
    snapshot = mirror(manifests(text)).snapshot(NOW)
    found = changes(snapshot, GANGS, REGISTRY, run_cycle(snapshot, GANGS, REGISTRY), "x/b", most=9)
    assert found.complete
    edits = (edit for change in found.changes if len(change.edits) == 1 for edit in change.edits)
    return {edit.like: edit.count for edit in edits if isinstance(edit, AddNodes)}


def offered(text: str, *pools: OfferedPool) -> NodesPart | None:
    """What a menu says of nodes; None where no gang waits."""
    snapshot = freeze(mirror(manifests(text)).snapshot(NOW))
    found = menus(snapshot, GANGS, REGISTRY, run_cycle(snapshot, GANGS, REGISTRY), pools, lambda: never).menus
    return found[0].nodes if found else None


def counts(found: NodesPart | None) -> dict[str, int]:
    return {} if found is None else {offer.pool: offer.count for offer in found.offers}


@pytest.mark.parametrize(
    ("text", "more"),
    [
        pytest.param(
            f"{GPUS}\nnode gpu-1 cpu=4 gpu=1\n{CPUS}\n{GANG}", {}, id="none where the gang fits in another order"
        ),
        pytest.param(f"{GPUS}\n{CPUS}\n{GANG}", {"gpu-0": 1}, id="one for the GPU that it lacks"),
        pytest.param(f"{GPUS}\n{GANG}", {"gpu-0": 2}, id="two where the launcher needs a node as well"),
        pytest.param(
            f"{GPUS}\nnode gpu-1 cpu=4 gpu=1\n{CPUS}\n{TAKEN}\n{GANG}",
            {"cpu-0": 1, "gpu-0": 1},
            id="either kind where the launcher alone has none",
        ),
        pytest.param(
            f"{GPUS}\nnode gpu-1 cpu=4 gpu=1\n{CPUS}\n{TAKEN}\n{BY_WORKERS}",
            {"cpu-0": 1, "gpu-0": 1},
            id="whichever of its pods is named first",
        ),
        pytest.param(
            f"{GPUS} taint=gpu:yes\n{CPUS}\n{GANG} tolerates=gpu",
            {"gpu-0": 1},
            id="of a kind whose taint the workers alone tolerate",
        ),
        pytest.param(
            f"{GPUS} zone=g\n{CPUS}\n{GANG} selector=zone:g", {"gpu-0": 1}, id="of a kind that the workers alone select"
        ),
    ],
)
def test_how_many_more_nodes_start_a_gang(text: str, more: dict[str, int]) -> None:
    assert advised(text) == more
    assert counts(offered(text)) == more
    assert bool(plan(text, GANGS).bound.get("b")) is not more


def test_a_pool_for_some_of_its_pods_is_offered() -> None:
    """The nodes have no GPU, and leave those that have one to the workers."""
    pool = OfferedPool("plain", "file", (PoolNode({}, (), {"cpu": 8000, "memory": 1 << 36, "pods": 110}),))
    text = f"{GPUS}\nnode gpu-1 cpu=4 gpu=1\n{CPUS}\n{TAKEN}\n{BY_WORKERS}"
    assert counts(offered(text, pool)) == {"plain": 1}


BOTH = f"""
node gpu-0 cpu=2 gpu=1
{CPUS}
job x/o min=1 phase=Running
pods x/o 1 cpu=2 gpu=1 on=gpu-0
pods x/o 1 cpu=4 on=cpu-0
job x/b min=3
pods x/b 1 cpu=4 role=launcher
pods x/b 2 cpu=1 gpu=1 role=worker
"""
"""The launcher and the workers need nodes of different kinds."""


def test_nodes_of_two_kinds_are_advised_together() -> None:
    snapshot = mirror(manifests(BOTH)).snapshot(NOW)
    found = changes(snapshot, GANGS, REGISTRY, run_cycle(snapshot, GANGS, REGISTRY), "x/b", most=9).changes
    assert (AddNodes("cpu-0", 1), AddNodes("gpu-0", 2)) in [change.edits for change in found]


def test_nodes_of_two_pools_are_offered_together() -> None:
    def pool(name: str, price: float, **amounts: int) -> OfferedPool:
        node = PoolNode({}, (), {"memory": 1 << 36, "pods": 110, **amounts})
        return OfferedPool(name, "file", (node,), price=price, delay_seconds=price)

    found = offered(BOTH, pool("gpus", 30.0, cpu=2000, **{GPU: 1000}), pool("cpus", 2.0, cpu=4000))
    assert found is not None
    (offer,) = found.offers
    assert (offer.pool, offer.count, offer.besides) == ("cpus", 1, (NodesOfPool("gpus", "file", 2, 30.0),))
    assert (offer.price, offer.price_of_one, offer.delay_seconds, offer.alone) == (62.0, 2.0, 30.0, 1)
    assert not found.refused


# -- compared with trying all ways ---------------------------------------------------------------------------------


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, Size], list[tuple[int, Size]]]:
    """Nodes of two kinds by name, and how many pods of each kind there are."""
    with_gpus, without = (draw(st.integers(2, 6)), draw(st.integers(1, 2))), (draw(st.integers(2, 8)), 0)
    nodes = {f"gpu-{at}": with_gpus for at in range(draw(st.integers(1, 2)))}
    nodes |= {f"cpu-{at}": without for at in range(draw(st.integers(1, 2)))}
    pods = [(draw(st.integers(1, 2)), (draw(st.integers(1, 5)), gpu)) for gpu in (0, 1, draw(st.integers(0, 1)))]
    return nodes, draw(st.permutations(pods))


@settings(deadline=None, max_examples=examples(60))
@given(clusters())
def test_the_number_of_nodes_is_the_least_that_is_enough(
    cluster: tuple[dict[str, Size], list[tuple[int, Size]]],
) -> None:
    sizes, kinds = cluster
    pods = [size for count, size in kinds for _ in range(count)]
    nodes = list(sizes.values())
    lines = [f"node {name} cpu={cpu} gpu={gpu}" for name, (cpu, gpu) in sizes.items()]
    lines += [f"job x/b min={len(pods)}"]
    lines += [f"pods x/b {count} cpu={cpu} gpu={gpu} role=r{at}" for at, (count, (cpu, gpu)) in enumerate(kinds)]
    found = offered("\n".join(lines))
    assert (found is None) is fits(nodes, pods)
    if found is None:
        return
    for offer in found.offers:
        parts = [(offer.pool, offer.count), *((one.pool, one.count) for one in offer.besides)]
        added = [sizes[name] for name, count in parts for _ in range(count)]
        assert fits([*nodes, *added], pods)
        assert not any(fits([*nodes, *added[:at], *added[at + 1 :]], pods) for at in range(len(added)))
    for name in found.refused:
        assert not fits([*nodes, *[sizes[name]] * len(pods)], pods)
