"""Pledges: sums by queue that go on from those of the mirror are those of all admitted jobs."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.support.clusters import clusters
from tests.support.plans import NOW, manifests, mirror
from vsched.framework.ledger.pledges import Pledges
from vsched.model.jobs.job import shortfall_of


@given(text=clusters(), data=st.data())
def test_sums_by_queue_are_those_of_all_pledges(text: str, data: st.DataObject) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    pledges = Pledges(snapshot)
    waiting = [key for key in snapshot.jobs if key not in snapshot.admitted]
    for key in data.draw(st.lists(st.sampled_from(waiting), unique=True)) if waiting else ():
        if data.draw(st.booleans(), "looked at in between"):
            pledges.made()
        pledges.add(snapshot.jobs[key], shortfall_of(snapshot.jobs[key]))

    sums: dict[str, Counter[int]] = {}
    for pledge in pledges.made():
        sums.setdefault(pledge.queue, Counter()).update(dict(pledge.amounts))
    assert {name: held for name in snapshot.books if (held := pledges.queue(name))} == sums
