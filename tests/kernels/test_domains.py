"""Topology domains: numbering, membership and sums."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.domains import domains_with, labelled_nodes, members, single_nodes, tally, topology
from vsched.model.nodes.table import NodeAttributes, NodeStatics

ZONES = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=8)


def statics_of(zones: list[str | None]) -> NodeStatics:
    return NodeStatics(
        [NodeAttributes(f"n{row}", {} if zone is None else {"zone": zone}) for row, zone in enumerate(zones)]
    )


@given(ZONES)
def test_members_of_a_domain_are_the_nodes_with_its_value(zones: list[str | None]) -> None:
    statics = statics_of(zones)
    domains = topology(statics, "zone")
    assert domains.size == len(set(zones) - {None})
    assert domains.everywhere is (None not in zones)
    for row, zone in enumerate(zones):
        assert domains.present[row] == (zone is not None)
        same = [other for other, value in enumerate(zones) if value == zone]
        assert members(domains, int(domains.ids[row])).tolist() == same


@given(ZONES, st.lists(st.dictionaries(st.integers(0, 9), st.integers(-3, 9)), max_size=3), st.data())
def test_sums_leave_out_unknown_and_ineligible_nodes(
    zones: list[str | None], found: list[dict[int, int]], data: st.DataObject
) -> None:
    statics = statics_of(zones)
    domains = topology(statics, "zone")
    eligible = data.draw(st.none() | st.lists(st.booleans(), min_size=len(zones), max_size=len(zones)))
    mask = None if eligible is None else np.array(eligible, dtype=np.bool_)
    weighted = [({f"n{row}": count for row, count in one.items()}, weight) for weight, one in enumerate(found, 1)]
    sums = tally(domains, weighted, statics.row, mask)
    assert sums[-1] == 0
    for value in set(zones) - {None}:
        domain = int(domains.ids[zones.index(value)])
        assert sums[domain] == sum(
            weight * count
            for weight, one in enumerate(found, 1)
            for row, count in one.items()
            if row < len(zones) and zones[row] == value and (eligible is None or eligible[row])
        )
    if mask is not None:
        expected = {value for value, holds in zip(zones, mask, strict=True) if holds} - {None}
        assert np.count_nonzero(domains_with(domains, mask)) == len(expected)


def test_every_node_by_itself() -> None:
    domains = single_nodes(statics_of(["a", "a", None]))
    assert (domains.size, domains.everywhere, domains.ids.tolist()) == (3, True, [0, 1, 2])


def test_every_node_with_a_label_by_itself() -> None:
    domains = labelled_nodes(statics_of(["a", None, "a"]), "zone")
    assert (domains.size, domains.everywhere, domains.ids.tolist()) == (3, False, [0, 3, 2])
    assert domains.present.tolist() == [True, False, True]
