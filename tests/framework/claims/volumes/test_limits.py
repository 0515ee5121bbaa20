"""How many volumes nodes can attach: each CSI driver has its limit, and a volume counts once a node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.storage_world import CSI, StorageWorld, ask, on
from vsched.framework.claims.handler import ClaimRules
from vsched.framework.claims.volumes.words import no_driver
from vsched.framework.words.nodes import TOO_MANY_VOLUMES

OTHER = "other.csi.example.com"
EBS = "ebs.csi.aws.com"


def full() -> StorageWorld:
    """Each of two nodes can attach two volumes; a pod on n1 has two."""
    made = StorageWorld(n1="", n2="").limit(2).bound_csi("a").bound_csi("b").storage_class("csi").local_class("local")
    made.running("r", "n1", "a", "b")
    return made


@pytest.mark.parametrize(
    ("change", "claims", "nodes"),
    [
        pytest.param(lambda world: world.bound_csi("c"), ["c"], "n2", id="a node that has its limit takes no more"),
        pytest.param(
            lambda world: world.bound_csi("c").bound_csi("d").bound_csi("e"),
            ["c", "d", "e"],
            "",
            id="a pod with more volumes than the limit fits nowhere",
        ),
        pytest.param(lambda world: world, ["a"], "n1 n2", id="a volume that is there already does not count again"),
        pytest.param(
            lambda world: world.bound_csi("c"), ["a", "c"], "n2", id="others of the pod count even if one is there"
        ),
        pytest.param(
            lambda world: world.bound_csi("c", handle="handle-a"),
            ["c"],
            "n1 n2",
            id="claims whose volumes have one handle count once",
        ),
        pytest.param(
            lambda world: world.bound_csi("c", OTHER),
            ["c"],
            "n1 n2",
            id="the limit of one driver is not that of another",
        ),
        pytest.param(
            lambda world: world.bound("c"), ["c"], "n1 n2", id="a volume that no CSI driver attaches does not count"
        ),
        pytest.param(
            lambda world: world.bound_csi("c").limit(None, "n1"),
            ["c"],
            "n1 n2",
            id="a driver may have no limit on a node",
        ),
        pytest.param(lambda world: world.bound_csi("c").limit(0, "n2"), ["c"], "", id="a limit may be 0"),
        pytest.param(lambda world: world.claim("c", "csi"), ["c"], "n2", id="a volume that is to be made counts"),
        pytest.param(
            lambda world: world.claim("c", "csi").claim("d", "csi").claim("e", "csi"),
            ["c", "d", "e"],
            "",
            id="each volume that is to be made counts",
        ),
        pytest.param(
            lambda world: world.claim("c", "local").volume("v", "local"),
            ["c"],
            "n1 n2",
            id="a static volume that no CSI driver attaches does not count",
        ),
        pytest.param(
            lambda world: world.claim("c", "local").volume("v", "local", driver=CSI, handle="h"),
            ["c"],
            "n2",
            id="a static volume of the driver counts",
        ),
        pytest.param(
            lambda world: (
                world.claim("c", "csi")
                .volume("v", "csi", affinity=on("n1"))
                .volume("w", "csi", affinity=on("n2"), driver=CSI, handle="w")
            ),
            ["c"],
            "n1 n2",
            id="what counts may depend on the node",
        ),
    ],
)
def test_nodes_attach_no_more_volumes_than_their_driver_can(
    change: Callable[[StorageWorld], StorageWorld], claims: list[str], nodes: str
) -> None:
    made = change(full())
    asked = ask(made, made.task("p", *claims))
    assert asked.nodes() == nodes
    assert set(asked.reasons()) <= {TOO_MANY_VOLUMES}


def test_a_driver_without_an_entry_for_the_node_has_no_limit() -> None:
    made = StorageWorld(n1="", n2="").limit(0, "n1").bound_csi("c")
    assert ask(made, made.task("p", "c")).nodes() == "n2"


def test_a_driver_may_have_to_run_on_the_node() -> None:
    made = StorageWorld(n1="", n2="", n3="").driver(required=True).limit(1, "n1").limit(None, "n2").bound_csi("c")
    asked = ask(made, made.task("p", "c"))
    assert asked.nodes() == "n1 n2"
    assert asked.reasons() == {no_driver(CSI): "n3"}


@pytest.mark.parametrize(
    ("volume", "driver", "nodes"),
    [
        pytest.param("pv-a", CSI, "n1 n2", id="of a volume that a pod uses: it is not counted twice"),
        pytest.param("gone", CSI, "n2", id="of a volume that no longer exists: it counts"),
        pytest.param("free", CSI, "n2", id="of a volume that no pod uses: it counts"),
        pytest.param("free", OTHER, "n1 n2", id="of another driver: it does not count"),
        pytest.param("", CSI, "n2", id="of a volume without a PersistentVolume: it counts"),
    ],
)
def test_volume_attachments_count(volume: str, driver: str, nodes: str) -> None:
    made = (
        StorageWorld(n1="", n2="").limit(2).bound_csi("a").bound_csi("c").volume("free", driver=driver, handle="free")
    )
    made.running("r", "n1", "a")
    made.attach("n1", volume, driver)
    assert ask(made, made.task("p", "c")).nodes() == nodes


def test_a_volume_that_is_still_attached_needs_no_further_slot() -> None:
    made = StorageWorld(n1="", n2="").limit(1).bound_csi("c").attach("n1", "pv-c")
    assert ask(made, made.task("p", "c")).nodes() == "n1 n2"


def test_a_static_volume_counts_even_if_it_is_still_attached() -> None:
    made = StorageWorld(n1="", n2="").limit(1).storage_class("csi").claim("c", "csi")
    made.volume("v", "csi", driver=CSI, handle="v").attach("n1", "v")
    assert ask(made, made.task("p", "c")).nodes() == "n2"


def test_a_node_may_have_several_volumes_without_persistent_volumes() -> None:
    made = StorageWorld(n1="", n2="").limit(2).bound_csi("c").attach("n1", "").attach("n1", "")
    assert ask(made, made.task("p", "c")).nodes() == "n2"


def test_two_nodes_attach_a_shared_volume_each() -> None:
    made = StorageWorld(n1="", n2="").limit(1).bound_csi("shared").bound_csi("c")
    made.running("r1", "n1", "shared")
    made.running("r2", "n2", "shared")
    assert ask(made, made.task("p", "c")).nodes() == ""
    assert ask(made, made.task("q", "shared")).nodes() == "n1 n2"


def test_volumes_of_pods_that_leave_count_until_they_have_left() -> None:
    made = StorageWorld(n1="", n2="").limit(1).bound_csi("a").bound_csi("c").bound_csi("d")
    made.running("r", "n1", "a", leaving=True)
    handler = made.handler()
    asked = ask(made, made.task("p", "c"), handler)
    assert (asked.nodes(), asked.nodes(later=True)) == ("n2", "n1 n2")
    # Whoever waits for it has it later, and nobody else.
    asked.take("n1", later=True)
    other = ask(made, made.task("q", "d"), handler)
    assert (other.nodes(), other.nodes(later=True)) == ("n2", "n2")


def test_volumes_of_evicted_pods_can_be_replaced_later() -> None:
    made = full().bound_csi("c")
    handler = made.handler()
    asked = ask(made, made.task("p", "c"), handler)
    assert asked.nodes(later=True) == "n2"
    handler.evict(made.tasks[0], 0)
    assert (asked.nodes(), asked.nodes(later=True)) == ("n2", "n1 n2")
    handler.restore(made.tasks[0], 0)
    assert asked.nodes(later=True) == "n2"


def test_an_eviction_counts_also_before_the_first_pod_asks() -> None:
    made = full().bound_csi("c")
    handler = made.handler()
    handler.evict(made.tasks[0], 0)
    assert ask(made, made.task("p", "c"), handler).nodes(later=True) == "n1 n2"


def test_a_shared_volume_stays_as_long_as_one_of_its_pods() -> None:
    made = StorageWorld(n1="").limit(1).bound_csi("a").bound_csi("c")
    made.running("r1", "n1", "a")
    made.running("r2", "n1", "a")
    handler = made.handler()
    handler.evict(made.tasks[0], 0)
    assert ask(made, made.task("p", "c"), handler).nodes(later=True) == ""
    handler.evict(made.tasks[1], 0)
    assert ask(made, made.task("p", "c"), handler).nodes(later=True) == "n1"


def test_evicting_pods_can_help_against_a_limit() -> None:
    made = full().bound_csi("c")
    (check,) = made.handler().checks(made.task("p", "c"))
    assert (check.reason, check.resolvable) == (TOO_MANY_VOLUMES, True)


def test_pods_that_this_session_placed_count() -> None:
    made = (
        StorageWorld(n1="", n2="").limit(2).storage_class("csi").claim("a", "csi").claim("b", "csi").claim("c", "csi")
    )
    handler = made.handler()
    ask(made, made.task("p1", "a"), handler).take("n1")
    ask(made, made.task("p2", "b"), handler).take("n1")
    third = ask(made, made.task("p3", "c"), handler)
    assert third.nodes() == "n2"
    handler.give_back(made.task("p2", "b"), 0)
    assert third.nodes() == "n1 n2"


@pytest.mark.parametrize("each", [1, 2, 5, 9])
def test_a_node_takes_pods_up_to_a_high_limit_and_again_once_they_are_given_back(each: int) -> None:
    limit = 40
    pods = limit // each
    made = StorageWorld(n1="", n2="").limit(limit).storage_class("csi")
    names = [[f"c{pod}-{number}" for number in range(each)] for pod in range(pods + 1)]
    for name in (name for claims in names for name in claims):
        made.claim(name, "csi")
    tasks = [made.task(f"p{pod}", *claims) for pod, claims in enumerate(names)]
    handler, last = made.handler(), tasks[-1]
    for task in tasks[:pods]:
        assert ask(made, last, handler).nodes() == "n1 n2"
        ask(made, task, handler).take("n1")
    assert ask(made, last, handler).nodes() == "n2"
    for task in reversed(tasks[:pods]):
        handler.give_back(task, 0)
        assert ask(made, last, handler).nodes() == "n1 n2"


def test_how_many_pods_can_attach_their_volumes_is_counted() -> None:
    made = StorageWorld(n1="", n2="", n3="").limit(5, "n1", "n2").bound_csi("a").storage_class("csi")
    made.running("r", "n1", "a")
    made.claim("c", "csi").claim("d", "csi")
    (room,) = made.handler().limits(made.task("p", "c", "d"))
    assert room.reason == TOO_MANY_VOLUMES
    assert room.most.tolist()[:2] == [2, 2]
    assert room.most[2] > 1 << 40
    # Pods that share a claim share its volume.
    assert made.handler().limits(made.task("q", "a")) == []


def test_the_volumes_of_plugins_that_were_migrated_count_for_their_driver() -> None:
    made = StorageWorld(n1="").storage_class("gp2", "kubernetes.io/aws-ebs").limit(1, driver=EBS).claim("a", "gp2")
    made.bound_csi("b", EBS)
    handler = made.handler()
    assert ask(made, made.task("p", "a"), handler).nodes() == "n1"
    ask(made, made.task("q", "b"), handler).take("n1")
    assert ask(made, made.task("r", "a"), handler).nodes() == ""


def test_limits_can_be_switched_off() -> None:
    made = full().bound_csi("c")
    assert ask(made, made.task("p", "c"), rules=ClaimRules(volume_limits=False)).nodes() == "n1 n2"


def test_claims_of_running_pods_that_are_gone_do_not_count() -> None:
    made = StorageWorld(n1="").limit(1).bound_csi("c")
    made.running("r", "n1", "deleted")
    assert ask(made, made.task("p", "c")).nodes() == "n1"


def test_a_volume_without_a_record_counts_by_its_class() -> None:
    made = StorageWorld(n1="").limit(1).storage_class("csi").claim("a", "csi", volume="gone", bound=True).bound_csi("c")
    made.running("r", "n1", "a")
    assert ask(made, made.task("p", "c")).nodes() == ""
