"""A history as few bytes: what comes back is what went in, and it is never too large."""

from __future__ import annotations

import zlib
from dataclasses import replace
from math import inf

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsched.model.frozen import frozen_history
from vsched.model.history.packing import PACKED_BYTES_MAX, BadHistory, pack, unpack
from vsched.model.history.records import CLUSTER, Decay, Holder, UsageHistory

DAY, WHOLE = Decay(86_400.0), Decay(inf)
AT = 1_800_000_123.0


def history(
    holders: int, hours: int, seed: int = 1, resources: int = 2, decays: tuple[Decay, ...] = (DAY,)
) -> UsageHistory:
    """A history of random numbers, which is the worst case; the first holders use most."""
    random = np.random.default_rng(seed)
    names = (CLUSTER, *(Holder(f"q{each % 3}", f"ns{each}", "ann") for each in range(holders)))
    scale = 1e9 * 0.9 ** np.arange(holders + 1)[:, None]
    begin = AT - AT % 3600 - 3600.0 * hours
    return UsageHistory(
        at=AT,
        since=begin,
        resources=tuple(f"r{each}" for each in range(resources)),
        holders=names,
        decayed={decay: (1.0 - 0.05 * random.random((holders + 1, resources))) * scale for decay in decays},
        present=(1.0 - 0.05 * random.random((holders + 1, resources))) * scale,
        present_seconds=123.0,
        ends=begin + 3600.0 * (np.arange(hours) + 1),
        lengths=np.full(hours, 3600.0),
        hours=((1.0 - 0.05 * random.random((hours, holders + 1, resources))) * scale).astype(np.float32),
    )


@settings(deadline=None)
@given(st.integers(0, 6), st.integers(0, 5), st.integers(0, 9), st.integers(0, 3))
def test_what_is_unpacked_is_what_was_packed(holders: int, hours: int, seed: int, resources: int) -> None:
    packed = history(holders, hours, seed, resources, (DAY, WHOLE))
    found = unpack(pack(packed).body)
    assert (found.at, found.since, found.resources, tuple(found.holders)) == (
        packed.at,
        packed.since,
        packed.resources,
        packed.holders,
    )
    assert found.present_seconds == packed.present_seconds
    assert np.array_equal(found.ends, packed.ends)
    assert np.array_equal(found.lengths, packed.lengths)
    assert np.array_equal(found.hours, packed.hours)
    assert np.allclose(found.present, packed.present, rtol=1e-6)
    assert list(found.decayed) == [DAY, WHOLE]
    assert all(np.array_equal(found.decayed[decay], packed.decayed[decay]) for decay in packed.decayed)


def test_rows_that_are_not_in_use_are_left_out() -> None:
    packed = history(3, 2)
    found = unpack(pack(replace(packed, holders=(CLUSTER, packed.holders[1], CLUSTER, packed.holders[3]))).body)
    assert tuple(found.holders) == (CLUSTER, packed.holders[1], packed.holders[3])
    assert np.array_equal(found.hours, packed.hours[:, [0, 1, 3]])


def test_a_frozen_history_does_not_change_with_its_book() -> None:
    book = history(3, 2)
    found = frozen_history(book)
    book.present[:] = 0.0
    book.decayed[DAY][:] = 0.0
    assert found.present.all()
    assert found.decayed[DAY].all()


def total(sums: np.ndarray, of: UsageHistory, queue: str) -> np.ndarray:
    """What all holders of a queue used together."""
    rows = [row for row, holder in enumerate(of.holders) if holder.queue == queue]
    return sums[..., rows, :].sum(axis=-2)


@pytest.mark.parametrize("share", [0.5, 0.4, 0.2, 0.1])
def test_a_history_that_is_too_large_loses_the_hours_of_those_that_used_least_to_their_queues(share: float) -> None:
    whole = history(400, 24)
    limit = int(len(pack(whole).body) * share)
    packed = pack(whole, limit)
    found = unpack(packed.body)
    assert len(packed.body) <= limit
    assert packed.rounded
    assert packed.dropped == 0
    assert (packed.merged > 0) is (share < 0.5)
    for queue in ("q0", "q1", "q2"):
        assert np.allclose(total(found.hours, found, queue), total(whole.hours, whole, queue), rtol=0.01)
        assert np.allclose(total(found.present, found, queue), total(whole.present, whole, queue), rtol=0.01)
    assert set(whole.holders) <= set(found.holders)
    rows = [list(found.holders).index(holder) for holder in whole.holders]
    assert np.allclose(found.decayed[DAY][rows], whole.decayed[DAY], rtol=1e-5)
    used = [bool(found.hours[:, row].any()) for row in rows[1:]]
    assert used == sorted(used, reverse=True), "those that used most keep their hours"
    assert used.count(False) == packed.merged


@pytest.mark.parametrize("limit", [10_000, 3_000, 300])
def test_if_that_is_not_enough_those_that_used_least_are_left_out(limit: int) -> None:
    packed = pack(history(2000, 3), limit)
    found = unpack(packed.body)
    assert len(packed.body) <= limit
    assert packed.dropped > 0
    assert found.holders[0] == CLUSTER
    assert len(found.holders) == packed.holders + 1


def test_the_largest_history_fits_into_an_object() -> None:
    packed = pack(history(2000, 168, resources=6))
    assert len(packed.body) <= PACKED_BYTES_MAX
    assert packed.holders >= 2000
    assert 4 * PACKED_BYTES_MAX / 3 < 900 * 1024


def tampered(place: int, value: object) -> bytes:
    parts = msgspec.msgpack.decode(zlib.decompress(pack(history(2, 2)).body))
    parts[place] = value
    return zlib.compress(msgspec.msgpack.encode(parts))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(b"", "cut off", id="nothing"),
        pytest.param(b"{}", "decompressed", id="something else"),
        pytest.param(pack(history(2, 2)).body[:-20], "cut off", id="a part"),
        pytest.param(zlib.compress(b"[]"), "cannot be read", id="no parts"),
        pytest.param(tampered(0, 2), "version 2", id="a later version"),
        pytest.param(tampered(1, "now"), "cannot be read", id="a time that is none"),
        pytest.param(tampered(1, -1.0), "times", id="a time before the epoch"),
        pytest.param(tampered(3, ["a", "a"]), "twice", id="a resource that is there twice"),
        pytest.param(tampered(3, ["a"]), "not of all", id="too few resources"),
        pytest.param(tampered(4, [["q", "n", "u"]] * 3), "not the cluster", id="no cluster"),
        pytest.param(tampered(5, [[0.0, 1.0]]), "above 0", id="no half-life"),
        pytest.param(tampered(6, np.full(6, np.nan).tobytes()), "finite", id="a sum that is no number"),
        pytest.param(tampered(10, b"\xff"), "not of all", id="too few sums"),
    ],
)
def test_what_cannot_be_read_says_why(body: bytes, why: str) -> None:
    with pytest.raises(BadHistory, match=why):
        unpack(body)
