"""A cycle to JSON and back: what it was decided on, by which policy, what outside answered, and what was decided.

Exact: the cycle run again on what is read gives the report that was recorded, byte for byte (``report_bytes``). A
recording is one JSON object, gzipped or not::

    {"kind": "vsched recording", "format": 1,
     "head": {"version": "0.1.0", "number": 17, "why": "asked", …},
     "policy": "actions: …",          the policy file that loads as the policy that was in force
     "calls": […],                    what services outside answered, in order
     "snapshot": {…},                 see ``dump_snapshot``
     "report": {…}}                   see ``dump_report``; null where the cycle ended in an error

Values that a newer vsched has added have their defaults where they are missing; what this one does not know is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from vsched.errors import UNREADABLE, BadInput, why_unreadable
from vsched.model.dump.report import ReportParts, report_of, report_parts
from vsched.model.dump.snapshot import SnapshotParts, Writing, snapshot_of
from vsched.model.dump.tables import Parts, written
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot

KIND = "vsched recording"
FORMAT = 1
"""Grows when older programs could no longer read what is written, or would read it wrongly."""
MOST_BYTES = 1 << 30
"""Of JSON: far more than ten thousand nodes and a million pods come to."""
_USUAL_BYTES, _MOST_TIMES = 64 << 20, 200
"""What a gzip may unpack to, however short it is, and how many times its length."""
_GZIP = b"\x1f\x8b"
_GZIP_BITS = 31
"""What zlib calls its format with the header and trailer of gzip."""
_LEVEL = 5
"""Of compression: half the time of the usual 6, for a few percent more bytes."""
ASKED = "asked"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a recording."""

    number: int = 0
    """Of the session, from 1 on."""
    at: float = 0.0
    """When it was, seconds since the epoch."""
    version: str = ""
    """Of the vsched that decided."""
    commit: str = ""
    why: str = ASKED
    """Why it was kept, in one word: ``asked``, ``exception``, ``no-progress``, ``useless-eviction``."""
    says: str = ""
    """The same in a sentence."""
    anonymous: bool = False
    """Names are made up; their order, and which are the same, is as it was."""
    error: str = ""
    """What the cycle ended in, where there is no report."""
    scheduler_names: tuple[str, ...] = ()
    """Pods with any of these in ``spec.schedulerName`` are the daemon's."""
    default_queue: str = "default"
    """The queue of PodGroups that name none."""
    unrecorded: int = 0
    """Answers from outside that were too long to be kept: without them the cycle cannot be run again exactly."""


class Call(msgspec.Struct, frozen=True):
    """One question to a service outside, in the course of a cycle."""

    verb: str
    question: str
    """A digest of what was sent, to notice that something else is asked."""
    answer: bytes | None
    """None where there was none."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One cycle."""

    snapshot: Snapshot
    policy: str
    """The text of a policy file that loads as the policy in force, without secrets."""
    report: CycleReport | None
    """None where the cycle ended in an error."""
    head: Head = field(default_factory=Head)
    calls: tuple[Call, ...] = ()


class _Document(msgspec.Struct, frozen=True):
    """A recording as it is read."""

    head: Head
    policy: str
    calls: list[Call]
    snapshot: SnapshotParts
    report: ReportParts | None


class _Label(msgspec.Struct, frozen=True):
    """What tells a recording from other JSON."""

    kind: str = ""
    format: int = 0


def encode(recording: Recording) -> bytes:
    """The recording as JSON."""
    return b"".join(json_pieces(recording))


def pack(recording: Recording, between: Callable[[], object] = lambda: None) -> bytes:
    """The recording as JSON, gzipped; equal ones give equal bytes. ``between`` is called between any two pieces."""
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_BITS)
    squeezed = []
    for piece in json_pieces(recording):
        squeezed.append(squeeze.compress(piece))
        between()
    return b"".join((*squeezed, squeeze.flush()))


def json_pieces(recording: Recording) -> Iterator[bytes]:
    """The recording as JSON in many pieces, so that other threads have their turn in between."""
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
    """The recording that JSON, gzipped or not, stands for; raises BadInput with one line."""
    text = _unpacked(data) if data.startswith(_GZIP) else data
    try:
        label = msgspec.json.decode(text, type=_Label)
    except UNREADABLE as error:
        raise BadInput(f"no recording: {_why(error)}") from None
    if label.kind != KIND:
        raise BadInput(f"no recording (expected JSON with kind {KIND!r}, as vsched dump writes it)")
    if label.format != FORMAT:
        raise BadInput(f"a recording of format {label.format}, and this vsched reads format {FORMAT}")
    try:
        found = msgspec.json.decode(text, type=_Document)
        snapshot, tasks = snapshot_of(found.snapshot)
        report = None if found.report is None else report_of(found.report, tasks)
    except (*UNREADABLE, BadInput) as error:
        raise BadInput(f"a recording that is broken: {_why(error)}") from None
    except (LookupError, StopIteration, ValueError, OverflowError) as error:
        raise BadInput(f"a recording that is broken: its parts do not belong together ({_why(error)})") from None
    return Recording(snapshot, found.policy, report, found.head, tuple(found.calls))


def _unpacked(data: bytes) -> bytes:
    loosen = zlib.decompressobj(_GZIP_BITS)
    most = min(MOST_BYTES, max(_USUAL_BYTES, _MOST_TIMES * len(data)))
    try:
        text = loosen.decompress(data, most)
    except zlib.error as error:
        raise BadInput(f"no recording: not gzip after all: {error}") from None
    if loosen.unconsumed_tail:
        raise BadInput(f"no recording: its gzip unpacks to more than {most >> 20} MiB")
    if not loosen.eof:
        raise BadInput("a recording that is cut off: the end of its gzip is missing")
    return text


def _why(error: Exception) -> str:
    """What is wrong, in one line."""
    text = " ".join(why_unreadable(error).split()) or type(error).__name__
    return "it is cut off" if text == "Input data was truncated" else text


def report_bytes(report: CycleReport) -> bytes:
    """What was decided, as JSON of which equal decisions have the same bytes; how long it took is left out."""
    return msgspec.json.encode(msgspec.structs.replace(report, spans=()))
