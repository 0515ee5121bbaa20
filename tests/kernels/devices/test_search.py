"""The exact search: what it finds is the first solution that an exhaustive and independent check accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.device_asks import ANY, A, H, claim, want
from tests.support.devicesets import amounts, device, gpus, pool
from vsched.kernels.devices.alike import search_once
from vsched.kernels.devices.books import DeviceBooks, Holding
from vsched.kernels.devices.inventory import Inventory, inventory_of
from vsched.kernels.devices.search import ALL_DEVICES, Ask, ClaimAsk, DeviceSearchResult, Pick, search
from vsched.model.claims.devices import Device, DeviceConstraint, DevicePool
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.shape import Toleration

NODES = NodeStatics([NodeAttributes("n1", {"zone": "a"}), NodeAttributes("n2", {"zone": "b"})])


def found(
    claims: Sequence[ClaimAsk], *pools: DevicePool, used: Sequence[str] = (), steps: int = 0
) -> list[list[str]] | None:
    """The devices for each claim on the first node, as ``request=device``; ``used`` are in use."""
    inventory = inventory_of(tuple(sorted(pools, key=lambda one: (one.driver, one.name))), NODES)
    books = DeviceBooks(inventory)
    books.add(Holding(number) for number, one in enumerate(inventory.devices) if one.id.device in used)
    result = search(claims, 0, inventory, books, later=False, steps=steps)
    if result.picks is None:
        return None
    return [[f"{pick.request}={inventory.devices[pick.device].id.device}" for pick in mine] for mine in result.picks]


MIXED = pool(
    device("a0", attributes={"model": "a", "numa": 0}),
    device("a1", attributes={"model": "a", "numa": 1}),
    device("h0", attributes={"model": "h", "numa": 0}),
    device("h1", attributes={"model": "h", "numa": 1}),
    device("h2", attributes={"model": "h", "numa": 1}),
    device("x"),
)
SAME = DeviceConstraint("gpu/numa")
DIFFERENT = DeviceConstraint("gpu/numa", distinct=True)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param([claim(Ask("r", ANY, 2))], [["r=a0", "r=a1"]], id="the first devices in order"),
        pytest.param(
            [claim(Ask("r", A, 1)), claim(Ask("s", A, 1))], [["r=a0"], ["s=a1"]], id="claims do not share a device"
        ),
        pytest.param(
            [claim(Ask("r", ANY, 1), Ask("s", A, 2))],
            [["r=h0", "s=a0", "s=a1"]],
            id="an earlier request leaves the devices that a later one needs",
        ),
        pytest.param([claim(Ask("r", A, 3))], None, id="too few devices"),
        pytest.param(
            [claim(Ask("r", A, 1), Ask("s", H, 2), constraints=[SAME])],
            [["r=a1", "s=h1", "s=h2"]],
            id="matchAttribute: all have the same value",
        ),
        pytest.param(
            [claim(Ask("r", A, 2), Ask("s", H, 2), constraints=[DeviceConstraint("gpu/numa", ("s",))])],
            [["r=a0", "r=a1", "s=h1", "s=h2"]],
            id="a constraint of some requests does not concern the others",
        ),
        pytest.param([claim(Ask("r", A, 2), constraints=[SAME])], None, id="no two have the same value"),
        pytest.param(
            [claim(Ask("r", H, 2), constraints=[DIFFERENT])],
            [["r=h0", "r=h1"]],
            id="distinctAttribute: all have different values",
        ),
        pytest.param([claim(Ask("r", H, 3), constraints=[DIFFERENT])], None, id="two have the same value"),
        pytest.param(
            [claim(Ask("r", want("device.driver == 'gpu'"), 6), constraints=[DIFFERENT])],
            None,
            id="a device without the attribute meets no constraint",
        ),
        pytest.param(
            [claim([Ask("r/many", H, 4), Ask("r/few", H, 2)])],
            [["r/few=h0", "r/few=h1"]],
            id="firstAvailable: the first alternative that can be served",
        ),
        pytest.param(
            [claim([Ask("r/h", H, 3), Ask("r/a", A, 1)], Ask("s", H, 1))],
            [["r/a=a0", "s=h0"]],
            id="a later request makes an earlier one take its second alternative",
        ),
        pytest.param(
            [
                claim(
                    [Ask("r/h", H, 2), Ask("r/a", A, 2)],
                    constraints=[DeviceConstraint("gpu/numa", ("r/h",), distinct=True)],
                )
            ],
            [["r/h=h0", "r/h=h1"]],
            id="a constraint may name an alternative",
        ),
        pytest.param([claim(Ask("r", H, ALL_DEVICES))], [["r=h0", "r=h1", "r=h2"]], id="all devices that match"),
        pytest.param(
            [claim(Ask("r", H, ALL_DEVICES), Ask("s", H, 1))], None, id="all devices, and one more of the same"
        ),
        pytest.param([claim(Ask("r", want("false"), ALL_DEVICES))], None, id="all of none"),
        pytest.param([claim(Ask("r", ANY, 33))], None, id="more than a claim may have"),
        pytest.param([claim()], [[]], id="a claim without requests"),
    ],
)
def test_search(claims: Sequence[ClaimAsk], expected: list[list[str]] | None) -> None:
    assert found(claims, MIXED) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("device.attributes['gpu'].link == true", "r=flag", id="true"),
        pytest.param("device.attributes['gpu'].link == 1", "r=one", id="1"),
        pytest.param("device.attributes['gpu'].exists(k, device.attributes['gpu'][k] == 1)", "r=one", id="1 in a loop"),
    ],
)
def test_devices_that_differ_in_true_and_1_are_different(expression: str, expected: str) -> None:
    both = pool(device("flag", attributes={"link": True}), device("one", attributes={"link": 1}))
    assert found([claim(Ask("r", want(expression), ALL_DEVICES))], both) == [[expected]]


def test_administrative_access_gets_devices_in_use_and_does_not_use_them_up() -> None:
    admin = want("device.driver == 'gpu'", admin=True)
    two = gpus("n1", 2)
    assert found([claim(Ask("r", admin, 2)), claim(Ask("s", ANY, 1))], two, used=["gpu-0"]) == [
        ["r=gpu-0", "r=gpu-1"],
        ["s=gpu-1"],
    ]
    assert found([claim(Ask("r", admin, 3))], two) is None, "no device twice in one claim"
    assert found([claim(Ask("r", admin, 2)), claim(Ask("s", admin, 2))], two) is not None


@pytest.mark.parametrize(
    ("taint", "tolerations", "served"),
    [
        pytest.param("k:NoSchedule", (), False, id="NoSchedule keeps requests off"),
        pytest.param("k:NoExecute", (), False, id="NoExecute too"),
        pytest.param("k:None", (), True, id="None does nothing"),
        pytest.param("k:NoSchedule", (Toleration("k", "Exists"),), True, id="a toleration of the key"),
        pytest.param("k:NoSchedule", (Toleration("other", "Exists"),), False, id="a toleration of another key"),
        pytest.param("k:NoExecute", (Toleration("k", "Exists", effect="NoSchedule"),), False, id="of another effect"),
        pytest.param("k:NoExecute", (Toleration(operator="Exists"),), True, id="a toleration of everything"),
    ],
)
def test_taints_of_devices(taint: str, tolerations: tuple[Toleration, ...], served: bool) -> None:
    tainted = pool(device("a", taints=[taint]))
    assert (found([claim(Ask("r", want(tolerations=tolerations), 1))], tainted) is not None) is served
    whole = found([claim(Ask("r", want(tolerations=tolerations), ALL_DEVICES))], tainted)
    assert (whole is not None) is served, "all devices: a tainted one is one of them"


def test_devices_of_a_pool_share_counters() -> None:
    parts = pool(
        device("whole", consumes={"card": {"memory": 80}}),
        device("half-0", consumes={"card": {"memory": 40}}),
        device("half-1", consumes={"card": {"memory": 40}}),
        device("quarter", consumes={"card": {"memory": 20}}),
        device("huge", consumes={"card": {"memory": 81}}),
        counters=(("card", (("memory", 80),)),),
    )
    assert found([claim(Ask("r", ANY, 1))], parts) == [["r=whole"]]
    assert found([claim(Ask("r", ANY, 2))], parts) == [["r=half-0", "r=half-1"]]
    assert found([claim(Ask("r", ANY, 3))], parts) is None
    assert found([claim(Ask("r", ANY, 1))], parts, used=["half-1"]) == [["r=half-0"]]
    assert found([claim(Ask("r", ANY, 2))], parts, used=["half-1"]) is None
    assert found([claim(Ask("r", ANY, 1))], parts, used=["whole"]) is None


def test_devices_that_several_nodes_reach() -> None:
    far = pool(device("far", "", pool="net"), device("zonal", "", pool="net", nodes=()))
    assert found([claim(Ask("r", ANY, 2))], far, gpus("n1", 1)) == [["r=gpu-0", "r=far"]]


def test_pools_with_binding_conditions_come_last() -> None:
    slow = pool(device("slow", pool="a"), device("slower", pool="a", binding_conditions=("Ready",)))
    assert found([claim(Ask("r", ANY, 3))], slow, pool(device("plain", pool="b"))) == [
        ["r=plain", "r=slow", "r=slower"]
    ]


def test_the_search_gives_up_after_its_steps() -> None:
    many = gpus("n1", 16, attributes={"numa": 0})
    impossible = [claim(Ask("r", ANY, 8), Ask("s", ANY, 8), Ask("t", ANY, 1))]
    inventory = inventory_of((many,), NODES)
    assert search(impossible, 0, inventory, DeviceBooks(inventory), later=False, steps=500) == DeviceSearchResult(
        None, False, 500
    )
    assert found([claim(Ask("r", ANY, 8))], many, steps=8) is not None


# -- against an exhaustive check ------------------------------------------------------------------------------------

WANTS = st.sampled_from([ANY, A, H, want("device.driver == 'gpu'", admin=True), want(capacity=amounts(memory=3))])
DEVICES = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from("ah"),
            "numa": st.sampled_from([None, 0, 1]),
            "memory": st.sampled_from([0, 2, 4, 6]),
            "shareable": st.booleans(),
            "used": st.integers(0, 3),
            "counter": st.sampled_from([0, 0, 1, 2]),
        }
    ),
    max_size=4,
)
ASKS = st.builds(Ask, st.just("r"), WANTS, st.sampled_from([1, 1, 2, ALL_DEVICES]))
CLAIMS = st.lists(
    st.builds(
        lambda requests, constraints: claim(
            *(
                [Ask(f"q{at}/a{place}" if len(asks) > 1 else f"q{at}", *one[1:]) for place, one in enumerate(asks)]
                for at, asks in enumerate(requests)
            ),
            constraints=constraints,
        ),
        st.lists(st.lists(ASKS, min_size=1, max_size=2), min_size=1, max_size=2),
        st.lists(st.sampled_from([SAME, DIFFERENT, DeviceConstraint("gpu/numa", ("q0",))]), max_size=1),
    ),
    min_size=1,
    max_size=2,
)


def built(*nodes: Sequence[dict[str, Any]]) -> tuple[Inventory, DeviceBooks]:
    """The devices of some nodes, and the uses of them."""
    pools = []
    for name, described in zip(NODES.names, nodes, strict=False):
        made = [_device(f"d{number}", name, one) for number, one in enumerate(described)]
        pools += [pool(*made, counters=(("card", (("slots", 3),)),))] if made else []
    inventory = inventory_of(tuple(pools), NODES)
    books = DeviceBooks(inventory)
    for number, one in enumerate(one for described in nodes for one in described):
        if not one["used"]:
            continue
        if one["shareable"]:
            books.add([Holding(number, amounts(memory=min(one["used"], one["memory"])) if one["memory"] else ())])
        elif one["used"] == 1:
            books.add([Holding(number)])
    return inventory, books


def _device(name: str, node: str, one: dict[str, Any]) -> Device:
    return device(
        name,
        node,
        attributes={"model": one["model"], **({} if one["numa"] is None else {"numa": one["numa"]})},
        capacity=amounts(memory=one["memory"]) if one["memory"] else (),
        shareable=one["shareable"],
        consumes={"card": {"slots": one["counter"]}} if one["counter"] else None,
    )


def accepts(
    claims: Sequence[ClaimAsk], picks: Sequence[Sequence[Pick]], inventory: Inventory, books: DeviceBooks
) -> bool:
    """Whether devices may be given to claims, told in another way than the search does."""
    uses: Counter[int] = Counter()
    memory: Counter[int] = Counter()
    for asked, mine in zip(claims, picks, strict=True):
        if len(mine) > 32:
            return False
        plain = Counter(pick.device for pick in mine if pick.admin)
        if any(number > 1 for number in plain.values()):
            return False
        order = [pick.device for pick in mine]
        if any(pick.admin and pick.device in order[:at] for at, pick in enumerate(mine)):
            return False
        for pick in mine:
            if not pick.admin:
                uses[pick.device] += 1
                memory[pick.device] += dict(pick.taken).get("gpu/memory", 0)
        for constraint in asked.constraints:
            concerned = [
                dict(inventory.devices[pick.device].model.attributes).get(constraint.attribute)
                for pick in mine
                if not constraint.requests or pick.request.partition("/")[0] in constraint.requests
            ]
            if None in concerned:
                return False
            if len(set(concerned)) not in ((len(concerned),) if constraint.distinct else (0, 1)):
                return False
    slots = 0
    for number, one in enumerate(inventory.devices):
        before = int(books.held[number])
        if uses[number] and not one.model.shareable and before + uses[number] > 1:
            return False
        held = dict(books.used(number, later=False)).get("gpu/memory", 0) + memory[number]
        if uses[number] and held > dict(one.model.capacity).get("gpu/memory", 0):
            return False
        if before + uses[number]:
            slots += sum(amount for _, some in one.traits.consumes for _, amount in some)
    return slots <= 3 or not any(
        uses[number] and not books.held[number] and inventory.devices[number].traits.consumes for number in uses
    )


def every_way(claims: Sequence[ClaimAsk], inventory: Inventory) -> Iterator[list[list[Pick]]]:
    """All ways to give devices to claims, in the order in which they are preferred."""
    requests = [(at, alternatives) for at, asked in enumerate(claims) for alternatives in asked.requests]
    options = [[way for ask in alternatives for way in ways(ask, inventory)] for _, alternatives in requests]
    for chosen in product(*options):
        picks: list[list[Pick]] = [[] for _ in claims]
        for (at, _), some in zip(requests, chosen, strict=True):
            picks[at].extend(some)
        yield picks


def ways(ask: Ask, inventory: Inventory) -> Iterator[list[Pick]]:
    fitting = []
    for number, one in enumerate(inventory.devices):
        model = dict(one.model.attributes)["gpu/model"]
        memory = dict(one.model.capacity).get("gpu/memory")
        if ask.want in (A, H) and model != ("a" if ask.want == A else "h"):
            continue
        if ask.want.capacity and (memory is None or memory < 3000):
            continue
        taken = ()
        if one.model.shareable and memory is not None and not ask.want.admin:
            taken = (("gpu/memory", 3000 if ask.want.capacity else memory),)
        fitting.append(Pick(ask.name, number, taken, ask.want.admin, one.model.shareable))
    if ask.number == ALL_DEVICES:
        if fitting:
            yield fitting
        return
    for some in combinations_with_replacement(fitting, ask.number):
        yield list(some)


@given(DEVICES, CLAIMS)
def test_the_search_finds_the_first_way_that_is_allowed(
    described: Sequence[dict[str, Any]], claims: Sequence[ClaimAsk]
) -> None:
    inventory, books = built(described)
    first = next((way for way in every_way(claims, inventory) if accepts(claims, way, inventory, books)), None)
    result = search(claims, 0, inventory, books, later=False, steps=0)
    assert result.complete
    assert (None if result.picks is None else [list(mine) for mine in result.picks]) == first


@given(DEVICES, st.integers(0, 3), st.sampled_from(["model", "numa", "used", "shareable", "nothing"]), CLAIMS)
def test_an_answer_from_a_node_with_devices_that_are_alike_is_the_same(
    described: Sequence[dict[str, Any]], at: int, field: str, claims: Sequence[ClaimAsk]
) -> None:
    other = [dict(one) for one in described]
    if at < len(other) and field != "nothing":
        other[at][field] = {"model": "h", "numa": 1, "used": 1, "shareable": True}[field]
    inventory, books = built(described, other)
    for row, later in ((0, False), (1, False), (0, True), (1, True)):
        fresh = search(claims, row, inventory, books, later=later, steps=0)
        assert search_once(tuple(claims), row, inventory, books, later=later, steps=0).picks == fresh.picks
        few = search_once(tuple(claims), row, inventory, books, later=later, steps=2)
        assert few.picks == fresh.picks or not few.complete


def test_equal_values_at_other_places_make_nodes_different() -> None:
    def node(name: str, *numas: int | None) -> DevicePool:
        made = [
            device(f"d{at}", name, attributes={} if numa is None else {"numa": numa}) for at, numa in enumerate(numas)
        ]
        return pool(*made)

    nodes = NodeStatics([NodeAttributes(f"n{at}", {}) for at in range(4)])
    inventory = inventory_of((node("n0", 5, 5), node("n1", 5, 7), node("n2", 7, 7), node("n3", 7, None)), nodes)
    books = DeviceBooks(inventory)
    for constraint, served in ((SAME, [0, 2]), (DIFFERENT, [1])):
        asked = (claim(Ask("r", ANY, 2), constraints=[constraint]),)
        answers = [search_once(asked, row, inventory, books, later=False, steps=0) for row in range(4)]
        assert [row for row, answer in enumerate(answers) if answer.picks is not None] == served
        assert [answer.steps for answer in answers][2] == 0, "the answer of the first node"
        for row in served:
            picks = answers[row].picks
            assert picks is not None
            assert [inventory.devices[pick.device].node for pick in picks[0]] == [f"n{row}"] * 2
