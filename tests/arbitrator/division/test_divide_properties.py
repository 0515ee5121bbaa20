"""What holds of every division: sums, floors, limits, fairness between equals, and that nothing moves by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.parties import bucket, party, world
from vsched.arbitrator.division.divide import divide
from vsched.model.amounts.counted import Counted, lesser, summed
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Award, Bucket, Division, NamespaceAccount

KNOWN = {"cpu": 4000, "memory": 1 << 33, "pods": 20, "example.com/gpu": 3000, "example.com/none": 0}
"""What there may be; of the last, nodes have none."""
UNKNOWN = {"limits.cpu": 9000, "requests.storage": 1 << 33}
AREAS = ("", "", "x", "y", "missing")


class Made(NamedTuple):
    total: Counted
    storage: Counted
    parties: list[NamespaceAccount]
    buckets: list[Bucket]

    def divided(self) -> Division:
        return divide(world(self.total, self.parties, buckets=self.buckets, storage=self.storage))

    def changed(self, parties: Sequence[NamespaceAccount]) -> Made:
        return self._replace(parties=list(parties))


@st.composite
def amounts(draw: st.DrawFn, most: int = 24, least: int = 0) -> dict[str, int]:
    """Parts of what there is, in 24ths, of some of the resources."""
    names = draw(st.lists(st.sampled_from([*KNOWN, *UNKNOWN]), max_size=4, unique=True))
    scales = KNOWN | UNKNOWN | {"example.com/none": 4800}
    return {name: scales[name] * draw(st.integers(least, most)) // 24 for name in names}


@st.composite
def made_worlds(draw: st.DrawFn) -> Made:
    names = draw(st.lists(st.sampled_from([SYSTEM_NAMESPACE, *"abcdef"]), min_size=1, max_size=6, unique=True))
    parties = []
    for name in names:
        held = draw(amounts())
        parties.append(
            party(
                name,
                held=held,
                leaving={of: value // 2 for of, value in held.items()} if draw(st.booleans()) else {},
                waiting=draw(amounts()),
                reserved=draw(amounts(most=16)) if draw(st.booleans()) else {},
                hard=draw(amounts(least=4)) if draw(st.booleans()) else {},
                quota=draw(amounts(least=8)) if draw(st.booleans()) else {},
                weight=draw(st.integers(0, 4)),
                parent=draw(st.sampled_from(AREAS)),
            )
        )
    buckets = [
        bucket(name, hard=draw(amounts(least=4)), reserved=draw(amounts(most=12)), weight=draw(st.integers(1, 3)))
        for name in draw(st.sampled_from([(), ("x",), ("x", "y")]))
    ]
    present = draw(st.sampled_from([list(KNOWN), ["cpu", "memory", "pods"]]))
    storage = {"requests.storage": UNKNOWN["requests.storage"]} if draw(st.booleans()) else {}
    return Made({name: KNOWN[name] for name in present}, storage, parties, buckets)


def area_of(one: NamespaceAccount) -> str:
    return one.claim.parent if one.claim is not None and one.namespace != SYSTEM_NAMESPACE else ""


def limit_of(one: NamespaceAccount, made: Made) -> Counted:
    if one.namespace == SYSTEM_NAMESPACE or one.claim is None:
        return {}
    own = lesser(one.claim.hard, one.quota)
    return lesser(own, next((area.hard for area in made.buckets if area.name == area_of(one)), {}))


def floor_of(one: NamespaceAccount, made: Made) -> dict[str, int]:
    if one.namespace == SYSTEM_NAMESPACE or one.claim is None:
        return {}
    limit = limit_of(one, made)
    return {name: min(value, limit.get(name, value)) for name, value in one.claim.reserved.items()}


def aim_of(one: NamespaceAccount, made: Made) -> dict[str, int]:
    """What it would get if there were enough of everything."""
    limit, floor = limit_of(one, made), floor_of(one, made)
    demand = {name: min(value, limit.get(name, value)) for name, value in one.requested.items()}
    return {name: max(demand.get(name, 0), floor.get(name, 0)) for name in demand.keys() | floor.keys()}


def top_of(division: Division, made: Made) -> list[Award]:
    """Buckets, and the namespaces beside them."""
    return [
        *division.buckets.values(),
        *(division.namespaces[one.namespace] for one in made.parties if not area_of(one)),
    ]


def deserved_together(awards: Iterable[Award]) -> dict[str, int]:
    return summed(award.deserved for award in awards)


def within(less: Mapping[str, int], more: Mapping[str, int]) -> bool:
    """Whether nothing that ``more`` names is exceeded."""
    return all(less.get(name, 0) <= value for name, value in more.items())


def at_least(more: Mapping[str, int], less: Mapping[str, int]) -> bool:
    return all(more.get(name, 0) >= value for name, value in less.items())


@settings(max_examples=examples(30), deadline=None)
@given(made_worlds())
def test_bounds(made: Made) -> None:
    division = made.divided()
    together = deserved_together(division.namespaces.values())
    assert within(together, division.total)
    assert within(deserved_together(top_of(division, made)), division.total)
    for one in made.parties:
        award, limit, floor = division.namespaces[one.namespace], limit_of(one, made), floor_of(one, made)
        assert award.hard == limit
        assert within(award.deserved, limit)
        assert at_least(award.deserved, award.reserved)
        assert at_least(floor, award.reserved)
        requested = one.requested
        for name, value in award.deserved.items():
            assert value <= max(award.reserved.get(name, 0), requested.get(name, 0))
        if one.namespace != SYSTEM_NAMESPACE and one.claim is not None:
            assert summed([award.reserved, award.cut]) == summed([one.claim.reserved])
    for name, part in division.buckets.items():
        children = [division.namespaces[one.namespace] for one in made.parties if area_of(one) == name]
        assert within(deserved_together(children), part.deserved)
        assert within(deserved_together(children), part.hard)
        assert within(part.deserved, part.hard)
        assert at_least(part.deserved, part.reserved)


@settings(max_examples=examples(30), deadline=None)
@given(made_worlds())
def test_kube_system_deserves_what_it_requests(made: Made) -> None:
    division = made.divided()
    for one in made.parties:
        if one.namespace == SYSTEM_NAMESPACE:
            award, most = division.namespaces[SYSTEM_NAMESPACE], division.total
            requested = one.requested
            assert {name: value for name, value in award.deserved.items() if value} == {
                name: kept
                for name, value in requested.items()
                if (kept := min(value, most.get(name, _most(name, value))))
            }


def _most(name: str, value: int) -> int:
    """What no node has is nobody's; of what has no total, there is as much as anybody asks for."""
    return value if name in UNKNOWN else 0


@settings(max_examples=examples(30), deadline=None)
@given(made_worlds())
def test_reservations_hold_where_there_is_room_for_all(made: Made) -> None:
    division = made.divided()
    system = division.namespaces[SYSTEM_NAMESPACE].deserved if SYSTEM_NAMESPACE in division.namespaces else {}
    floors = {one.namespace: floor_of(one, made) for one in made.parties}
    stated = {area.name: area for area in made.buckets}
    areas = sorted({area_of(one) for one in made.parties} | stated.keys())
    for name in {name for floor in floors.values() for name in floor}:
        needed, whole = 0, set[str]()
        for area in areas:
            inside = sum(floors[one.namespace].get(name, 0) for one in made.parties if area_of(one) == area)
            own = stated.get(area, Bucket(area))
            if inside <= own.hard.get(name, inside):
                whole.add(area)
            kept = max(inside, own.reserved.get(name, 0)) if area else inside
            needed += min(kept, own.hard.get(name, kept))
        if name in UNKNOWN and name not in division.total:
            fits = True
        else:
            fits = needed + system.get(name, 0) <= division.total.get(name, 0)
        for one in made.parties:
            if fits and area_of(one) in whole and name in floors[one.namespace]:
                assert division.namespaces[one.namespace].reserved[name] == floors[one.namespace][name]


@settings(max_examples=examples(30), deadline=None)
@given(made_worlds())
def test_nothing_that_is_asked_for_stays_undivided(made: Made) -> None:
    """But for less than a unit a party; here, amounts are so small that units are base units."""
    division = made.divided()
    left = {
        name: value - deserved_together(top_of(division, made)).get(name, 0) for name, value in division.total.items()
    }
    for name, part in division.buckets.items():
        children = [one for one in made.parties if area_of(one) == name]
        together = deserved_together(division.namespaces[one.namespace] for one in children)
        for one in children:
            lacking = _lacking(one, made, division)
            assert all(part.deserved[of] - together[of] < len(children) for of in lacking)
    count = len(top_of(division, made))
    for one in made.parties:
        if not area_of(one) and one.namespace != SYSTEM_NAMESPACE:
            assert all(left.get(of, 0) < count for of in _lacking(one, made, division))


def _lacking(one: NamespaceAccount, made: Made, division: Division) -> set[str]:
    award = division.namespaces[one.namespace]
    return {name for name, value in aim_of(one, made).items() if award.deserved.get(name, 0) < value}


@settings(max_examples=examples(25), deadline=None)
@given(made_worlds(), st.data())
def test_reserving_more_of_something_never_lowers_what_is_deserved_of_it(made: Made, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(made.parties) - 1))
    one = made.parties[number]
    assert one.claim is not None
    name = data.draw(st.sampled_from([*KNOWN, *UNKNOWN]))
    more = one.claim.reserved | {name: one.claim.reserved.get(name, 0) + data.draw(st.integers(1, 5000))}
    raised = msgspec.structs.replace(one, claim=msgspec.structs.replace(one.claim, reserved=more))
    parties = [*made.parties[:number], raised, *made.parties[number + 1 :]]
    before, after = made.divided(), made.changed(parties).divided()
    assert after.namespaces[one.namespace].deserved.get(name, 0) >= before.namespaces[one.namespace].deserved.get(
        name, 0
    )


@settings(max_examples=examples(25), deadline=None)
@given(made_worlds())
def test_who_holds_what_it_deserves_goes_on_deserving_it(made: Made) -> None:
    """A fixed point: the same requests, differently held, are divided in the same way."""
    before = made.divided()
    settled = []
    for one in made.parties:
        requested, award = one.requested, before.namespaces[one.namespace]
        held = {name: min(value, award.deserved.get(name, 0)) for name, value in requested.items()}
        waiting = {name: value - held[name] for name, value in requested.items()}
        settled.append(msgspec.structs.replace(one, held=held, leaving={}, waiting=waiting))
    after = made.changed(settled).divided()
    assert {name: award.deserved for name, award in after.namespaces.items()} == {
        name: award.deserved for name, award in before.namespaces.items()
    }
    assert after.buckets.keys() == before.buckets.keys()
    assert all(after.buckets[name].deserved == part.deserved for name, part in before.buckets.items())


@settings(max_examples=examples(25), deadline=None)
@given(made_worlds(), seeded)
def test_names_do_not_matter(made: Made, dice: Any) -> None:
    names = [one.namespace for one in made.parties if one.namespace != SYSTEM_NAMESPACE]
    mixed = list(names)
    dice.shuffle(mixed)
    renamed = dict(zip(names, mixed, strict=True)) | {SYSTEM_NAMESPACE: SYSTEM_NAMESPACE}
    before = made.divided().namespaces
    after = (
        made.changed([msgspec.structs.replace(one, namespace=renamed[one.namespace]) for one in made.parties])
        .divided()
        .namespaces
    )
    assert all(after[renamed[name]] == award for name, award in before.items())


@settings(max_examples=examples(30), deadline=None)
@given(made_worlds())
def test_ceilings(made: Made) -> None:
    """Between what is deserved and the limit; and who keeps more than it deserves gets nothing of what is claimed."""
    division = made.divided()
    claimed: dict[str, int] = {}
    for one in made.parties:
        kept, requested, award = one.kept, one.requested, division.namespaces[one.namespace]
        for name, value in requested.items():
            claim = max(kept.get(name, 0), min(value, award.deserved.get(name, 0)))
            claimed[name] = claimed.get(name, 0) + claim
    spare = {name: value - claimed.get(name, 0) for name, value in division.total.items()}
    for one in made.parties:
        award, kept = division.namespaces[one.namespace], one.kept
        if one.namespace == SYSTEM_NAMESPACE:
            assert award.ceiling == {}
            continue
        assert within(award.ceiling, award.hard)
        assert within(award.deserved, award.ceiling)
        assert award.ceiling.keys() >= division.total.keys() | award.hard.keys()
        for name, value in spare.items():
            least, most = award.deserved[name], max(award.deserved[name], kept.get(name, 0) + value)
            assert least <= award.ceiling[name] <= max(most, least + value)
            if not area_of(one) and name not in award.hard and value >= 0:
                assert award.ceiling[name] == max(least, kept.get(name, 0)) + value
