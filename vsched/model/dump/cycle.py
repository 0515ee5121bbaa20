"""A recording of one cycle to JSON and back: the snapshot, the policy, answers of external services, and the report.

A recording is exact: the same cycle, run again on it, gives the recorded report byte for byte (``report_bytes``). It is
one JSON object, gzipped or not::

    {"kind": "vsched recording", "format": 1,
     "head": {"version": "0.1.0", "number": 17, "why": "asked", …},
     "policy": "actions: …",          the policy file that loads as the policy that was in force
     "calls": […],                    answers of external services, in order
     "snapshot": {…},                 see ``dump_snapshot``
     "report": {…}}                   see ``dump_report``; null where the cycle ended in an error

Missing fields get their defaults, so this vsched reads recordings of older ones. Unknown fields are refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from vsched.errors import UNREADABLE, BadInput, why_unreadable
from vsched.model import words
from vsched.model.dump.report import ReportParts, report_of, report_parts
from vsched.model.dump.snapshot import SnapshotParts, Writing, snapshot_of
from vsched.model.dump.tables import Parts, written
from vsched.model.maps import as_dict
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot

KIND = "vsched recording"
FORMAT = 1
"""The version of the format; it grows when older programs could not read a recording, or would read it wrongly."""
MOST_BYTES = 1 << 30
"""The largest JSON text: far more than ten thousand nodes and a million pods need."""
_USUAL_BYTES, _MOST_TIMES = 64 << 20, 200
"""The size that each gzip may unpack to, and for larger files the limit as a multiple of the gzip's length."""
_GZIP = b"\x1f\x8b"
_GZIP_BITS = 31
"""zlib's number for the gzip format."""
_LEVEL = 5
"""The compression level: half the time of the usual 6, for a few percent more bytes."""
ASKED = "asked"


class RecordingHead(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a recording."""

    number: int = 0
    """The number of the cycle, from 1 on."""
    at: float = 0.0
    """The time of the cycle, seconds since the epoch."""
    version: str = ""
    """The version of the vsched that ran the cycle."""
    commit: str = ""
    why: str = ASKED
    """Why it was recorded, in one word: ``asked``, or one of ``exception``, ``no-progress``, ``useless-eviction``,
    ``eviction-loop`` and ``violation``."""
    says: str = ""
    """Why it was recorded, as a sentence."""
    anonymous: bool = False
    """Whether pseudonyms replace the names; these keep the order of names, and equal names stay equal."""
    error: str = ""
    """The error that ended the cycle, where there is no report."""
    scheduler_names: tuple[str, ...] = ()
    """The daemon schedules pods with any of these in ``spec.schedulerName``."""
    default_queue: str = "default"
    """The queue of PodGroups that name no queue."""
    unrecorded: int = 0
    """The number of answers that were too long to record; without them the cycle cannot be repeated exactly."""


class ExternalCall(msgspec.Struct, frozen=True):
    """One call to an external service during a cycle."""

    verb: str
    question: str
    """A digest of the request, to notice a different request when the cycle is repeated."""
    answer: bytes | None
    """The answer; None where the call failed."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The record of one cycle."""

    snapshot: Snapshot
    policy: str
    """The text of a policy file that loads as the policy of the cycle, without secrets."""
    report: CycleReport | None
    """None where the cycle ended in an error."""
    head: RecordingHead = field(default_factory=RecordingHead)
    calls: tuple[ExternalCall, ...] = ()


class _Document(msgspec.Struct, frozen=True):
    """The JSON object of a recording, for decoding."""

    head: RecordingHead
    policy: str
    calls: list[ExternalCall]
    snapshot: SnapshotParts
    report: ReportParts | None


class _Label(msgspec.Struct, frozen=True):
    """The fields that distinguish a recording from other JSON."""

    kind: str = ""
    format: int = 0


def encode(recording: Recording) -> bytes:
    """The recording as JSON."""
    return b"".join(json_pieces(recording))


def pack(recording: Recording, between: Callable[[], object] = lambda: None) -> bytes:
    """The recording as gzipped JSON; equal recordings give equal bytes. ``between`` is called after each piece."""
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_BITS)
    squeezed = []
    for piece in json_pieces(recording):
        squeezed.append(squeeze.compress(piece))
        between()
    return b"".join((*squeezed, squeeze.flush()))


def json_pieces(recording: Recording) -> Iterator[bytes]:
    """The recording as JSON in many pieces, so that other threads can run between two pieces."""
    return written(Parts(_parts(recording)))


def _parts(recording: Recording) -> Iterator[tuple[str, object]]:
    writing = Writing(recording.snapshot)
    yield "kind", KIND
    yield "format", FORMAT
    yield "head", recording.head
    yield "policy", recording.policy
    yield "calls", iter(recording.calls)
    yield "snapshot", Parts(writing.parts())
    report = recording.report
    yield "report", None if report is None else Parts(report_parts(report, recording.snapshot, writing.tasks))


def decode(data: bytes) -> Recording:
    """Decode a recording from JSON, gzipped or not; raises BadInput with what is to be said of it."""
    text = _unpacked(data) if data.startswith(_GZIP) else data
    try:
        label = msgspec.json.decode(text, type=_Label)
    except UNREADABLE as error:
        why = _why(error)
        told = words.VSCHED_DUMP_WRITES_THEM if why.startswith(words.JSON_IS_MALFORMED) else f": {why}"
        raise BadInput(words.not_a_recording(told)) from None
    if label.kind != KIND:
        raise BadInput(words.not_a_recording_of_kind(KIND))
    if label.format != FORMAT:
        raise BadInput(words.other_format(label.format, FORMAT))
    try:
        found = msgspec.json.decode(text, type=_Document)
        snapshot, tasks = snapshot_of(found.snapshot)
        report = None if found.report is None else report_of(found.report, tasks)
    except (*UNREADABLE, BadInput) as error:
        raise BadInput(words.broken(_why(error))) from None
    except (LookupError, StopIteration, ValueError, OverflowError) as error:
        raise BadInput(words.parts_do_not_belong_together(_why(error))) from None
    return Recording(snapshot, found.policy, report, found.head, tuple(found.calls))


def _unpacked(data: bytes) -> bytes:
    loosen = zlib.decompressobj(_GZIP_BITS)
    most = min(MOST_BYTES, max(_USUAL_BYTES, _MOST_TIMES * len(data)))
    try:
        text = loosen.decompress(data, most)
    except zlib.error as error:
        raise BadInput(words.not_gzip(error)) from None
    if loosen.unconsumed_tail:
        raise BadInput(words.unpacks_to_more(most >> 20))
    if not loosen.eof:
        raise BadInput(words.CUT_OFF_GZIP)
    return text


def _why(error: Exception) -> str:
    """The error in one line."""
    text = " ".join(why_unreadable(error).split()) or type(error).__name__
    return words.CUT_OFF if text == words.INPUT_WAS_TRUNCATED else text


def report_bytes(report: CycleReport) -> bytes:
    """The report as JSON without times; equal decisions give equal bytes."""
    return msgspec.json.encode(msgspec.structs.replace(report, spans=()), enc_hook=as_dict)
