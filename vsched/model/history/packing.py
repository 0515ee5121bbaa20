"""A history as few bytes, for an object in the cluster.

The sums of hours are laid out holder by holder and byte by byte, as equal bytes in a row compress best. A history that
is too large even so loses detail in steps: first the precision of hours, then the hours of holders that used least
count for their queue, at last these holders themselves are left out.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from math import isfinite
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from vsched.errors import UNREADABLE
from vsched.model import words
from vsched.model.history.records import CLUSTER, Decay, Holder, Sums, UsageHistory, are_amounts
from vsched.model.nodes.table import Floats

VERSION = 1
PACKED_BYTES_MAX = 640 * 1024
"""In Base64, as in an object, these are 854 KiB."""
UNPACKED_BYTES_MAX = 1 << 27
_LEVEL = 6
Bits = TypeVar("Bits", np.uint32, np.uint64)
Number = TypeVar("Number", np.float32, np.float64)
_SHRINK = 0.8


class PackedHistory(NamedTuple):
    """The bytes of a history, and what was left out of it."""

    body: bytes
    holders: int
    """How many are counted one by one."""
    rounded: bool = False
    """Whether the sums of hours are rounded to 0.4 %."""
    merged: int = 0
    """Holders whose hours count for their queue."""
    dropped: int = 0
    """Holders that are left out."""


class BadHistory(ValueError):
    """What cannot be read as a history; the text says why."""


class _Parts(msgspec.Struct, frozen=True, array_like=True):
    version: int
    at: float
    since: float
    resources: tuple[str, ...]
    holders: tuple[Holder, ...]
    decays: tuple[Decay, ...]
    decayed: bytes
    ends: tuple[float, ...]
    lengths: tuple[float, ...]
    present_seconds: float
    hours: bytes
    """By holder, resource and hour, the present hour last."""


class _Head(msgspec.Struct, frozen=True, array_like=True):
    version: int


_HEAD = msgspec.msgpack.Decoder(_Head)
_DECODER = msgspec.msgpack.Decoder(_Parts)


def pack(history: UsageHistory, limit: int = PACKED_BYTES_MAX) -> PackedHistory:
    """The history in at most ``limit`` bytes."""
    whole = _without_idle_rows(history)
    rows = len(whole.holders)
    body = _packed(whole)
    if len(body) <= limit:
        return PackedHistory(body, rows - 1)
    whole = _rounded(whole)
    if len(body := _packed(whole)) <= limit:
        return PackedHistory(body, rows - 1, rounded=True)
    ranks = _ranks(whole)
    least = len(_packed(_merged(whole, ranks[:0])[0]))
    count = int(rows * max(0, limit - least) / max(1, len(body) - least))
    while count:
        lessened, merged = _merged(whole, ranks[:count])
        if len(body := _packed(lessened)) <= limit:
            return PackedHistory(body, rows - 1, rounded=True, merged=merged)
        count = int(count * _SHRINK)
    lessened, merged = _merged(whole, ranks[:0])
    body, count = _packed(lessened), len(lessened.holders)
    while len(body) > limit and count > 1:
        count = int(count * min(_SHRINK, limit / len(body)))
        kept = np.sort(np.concatenate(([0], _ranks(lessened)[: max(0, count - 1)])))
        body = _packed(_only(lessened, kept))
    left = max(1, count)
    return PackedHistory(body, left - 1, rounded=True, merged=merged, dropped=len(lessened.holders) - left)


def unpack(body: bytes) -> UsageHistory:
    """The history of these bytes; raises BadHistory."""
    try:
        inflater = zlib.decompressobj()
        content = inflater.decompress(body, UNPACKED_BYTES_MAX)
        if inflater.unconsumed_tail or not inflater.eof:
            raise BadHistory(words.CUT_OFF_OR_TOO_LARGE)
        version = _HEAD.decode(content).version
        if version != VERSION:
            raise BadHistory(words.other_version(version, VERSION))
        return _unpacked(_DECODER.decode(content))
    except zlib.error as error:
        raise BadHistory(words.cannot_be_decompressed(error)) from None
    except BadHistory:
        raise
    except UNREADABLE as error:
        raise BadHistory(words.cannot_be_read(error)) from None


def _packed(history: UsageHistory) -> bytes:
    hours = np.concatenate((history.hours, history.present[None].astype(np.float32))).transpose(1, 2, 0)
    decayed = np.array(list(history.decayed.values()), dtype=np.float64)
    parts = _Parts(
        VERSION,
        history.at,
        history.since,
        history.resources,
        tuple(history.holders),
        tuple(history.decayed),
        _planes(decayed),
        tuple(history.ends.tolist()),
        tuple(history.lengths.tolist()),
        history.present_seconds,
        _planes(hours),
    )
    return zlib.compress(msgspec.msgpack.encode(parts), _LEVEL)


def _unpacked(parts: _Parts) -> UsageHistory:
    rows, width, count = len(parts.holders), len(parts.resources), len(parts.ends)
    if not rows or parts.holders[0] != CLUSTER:
        raise BadHistory(words.NO_CLUSTER)
    if len(set(parts.holders)) != rows or len(set(parts.resources)) != width:
        raise BadHistory(words.TWICE)
    if any(not decay.half_life > 0 or not decay.window > 0 for decay in parts.decays):
        raise BadHistory(words.NOT_ABOVE_0)
    numbers = (parts.at, parts.since, parts.present_seconds, *parts.ends, *parts.lengths)
    if len(parts.lengths) != count or not all(isfinite(number) and number >= 0 for number in numbers):
        raise BadHistory(words.NO_TIMES)
    decayed: Floats = _from_planes(parts.decayed, np.dtype(np.float64), (len(parts.decays), rows, width))
    hours: Sums = _from_planes(parts.hours, np.dtype(np.float32), (rows, width, count + 1)).transpose(2, 0, 1)
    if not are_amounts(decayed) or not are_amounts(hours):
        raise BadHistory(words.NOT_FINITE)
    return UsageHistory(
        at=parts.at,
        since=parts.since,
        resources=parts.resources,
        holders=parts.holders,
        decayed={decay: decayed[place] for place, decay in enumerate(parts.decays)},
        present=hours[-1].astype(np.float64),
        present_seconds=parts.present_seconds,
        ends=np.array(parts.ends, dtype=np.float64),
        lengths=np.array(parts.lengths, dtype=np.float64),
        hours=np.ascontiguousarray(hours[:-1]),
    )


# -- bytes


def _planes(numbers: Floats | Sums) -> bytes:
    """The first bytes of all numbers, then the second ones, and so on."""
    found = np.ascontiguousarray(numbers)
    return found.view(np.uint8).reshape(-1, found.itemsize).T.tobytes()


def _from_planes(planes: bytes, kind: np.dtype[Number], shape: tuple[int, ...]) -> npt.NDArray[Number]:
    count = int(np.prod(shape))
    if len(planes) != count * kind.itemsize:
        raise BadHistory(words.SUMS_NOT_OF_ALL_HOURS)
    numbers = np.frombuffer(planes, np.uint8).reshape(kind.itemsize, count).T.tobytes()
    return np.frombuffer(numbers, kind).reshape(shape).copy()


def _rounded(history: UsageHistory) -> UsageHistory:
    """The history with sums of fewer digits: of hours exact to 0.4 %, decayed ones to a millionth."""
    decayed = {
        decay: _cut(sums.view(np.uint64), np.uint64(32)).view(np.float64) for decay, sums in history.decayed.items()
    }
    return replace(history, hours=_cut(history.hours.view(np.uint32), np.uint32(16)).view(np.float32), decayed=decayed)


def _cut(bits: npt.NDArray[Bits], count: Bits) -> npt.NDArray[Bits]:
    """The numbers, rounded so that the last ``count`` of their bits are 0."""
    kind = bits.dtype.type
    half = kind(1) << (count - kind(1))
    return ((bits + half) >> count) << count


# -- rows


def _without_idle_rows(history: UsageHistory) -> UsageHistory:
    """The history without the rows that are not in use."""
    rows = [row for row, holder in enumerate(history.holders) if not row or holder != CLUSTER]
    return history if len(rows) == len(history.holders) else _only(history, np.array(rows))


def _only(history: UsageHistory, rows: npt.NDArray[np.intp]) -> UsageHistory:
    return replace(
        history,
        holders=tuple(history.holders[row] for row in rows.tolist()),
        decayed={decay: sums[rows] for decay, sums in history.decayed.items()},
        present=history.present[rows],
        hours=history.hours[:, rows],
    )


def _ranks(history: UsageHistory) -> npt.NDArray[np.intp]:
    """The rows of holders, those that used most first."""
    used = history.present + history.hours.sum(axis=0)
    for sums in history.decayed.values():
        used = used + sums
    parts = (used / np.maximum(used[:1], 1.0)).max(axis=1, initial=0.0)
    return np.argsort(-parts[1:], kind="stable") + 1


def _merged(history: UsageHistory, kept: npt.NDArray[np.intp]) -> tuple[UsageHistory, int]:
    """The history with the hours of all other holders as those of their queues, and how many others there are."""
    stays = np.zeros(len(history.holders), dtype=bool)
    stays[[0, *kept.tolist()]] = True
    gives = [row for row, holder in enumerate(history.holders) if not stays[row] and holder.namespace]
    holders: list[Holder] = list(history.holders)
    rows = {holder: row for row, holder in enumerate(holders)}
    takes = [_row_of(Holder(holders[row].queue), rows, holders) for row in gives]
    more = len(holders) - len(history.holders)
    present, hours = _longer(history.present, more), _longer(history.hours, more)
    for sums in (present, *hours):
        np.add.at(sums, takes, sums[gives])
    present[gives], hours[:, gives] = 0.0, 0.0
    decayed = {decay: _longer(sums, more) for decay, sums in history.decayed.items()}
    return _rounded(replace(history, holders=tuple(holders), decayed=decayed, present=present, hours=hours)), len(gives)


def _row_of(holder: Holder, rows: dict[Holder, int], holders: list[Holder]) -> int:
    row = rows.get(holder)
    if row is None:
        row = rows[holder] = len(holders)
        holders.append(holder)
    return row


def _longer(sums: npt.NDArray[Number], rows: int) -> npt.NDArray[Number]:
    """A copy with so many rows more, the last axis but one."""
    return np.pad(sums, (*((0, 0),) * (sums.ndim - 2), (0, rows), (0, 0)))
