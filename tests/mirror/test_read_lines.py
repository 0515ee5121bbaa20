"""A mirror that reads lines in one pass, and pods that are alike once, is the mirror that reads each object whole."""

from __future__ import annotations

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mirror.streams import Event, Fields, sometimes, streams
from tests.support.examples import examples
from tests.support.spoiling import VALUES
from tests.support.views import view
from vsched.api.resources import RESOURCES
from vsched.daemon.watches import VersionedReader
from vsched.kube.watch.framing import decode_event
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings

OURS = frozenset({"volcano"})
HOSTILE = [value for value in VALUES if len(value) < 100]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.data())
def test_both_ways_lead_to_the_same_mirror(stream: tuple[list[Event], list[Fields]], data: st.DataObject) -> None:
    partial, whole = Mirror(MirrorSettings(OURS)), Mirror(MirrorSettings(OURS))
    for type_, kind, fields in stream[0]:
        spoilt = data.draw(st.sampled_from(HOSTILE), label="spoilt") if data.draw(sometimes) else b'"ok"'
        field = data.draw(st.sampled_from(["priority", "nodeName", "queue", "volumes", "labels", "uid"]))
        place = "metadata" if field in ("labels", "uid") else "spec"
        marked = msgspec.json.encode(fields | {place: {**fields.get(place, {}), "@@": 1}})
        obj = marked if spoilt == b'"ok"' else marked.replace(b'"@@":1', b'"%b":%b' % (field.encode(), spoilt))
        line = b'{"type":"%b","object":%b}' % (type_.encode(), obj)
        read = VersionedReader(kind, RESOURCES[kind])
        told = read.line(line)
        try:
            by_itself = read(bytes(decode_event(line).object))
        except msgspec.MsgspecError:
            assert told is None
            continue
        partial.intake.apply(kind, type_, by_itself if told is None else told.item)
        whole.stores.pods.sweep()  # it remembers nothing of one pod for the next
        whole.intake.apply(kind, type_, by_itself)
        if data.draw(sometimes, label="snapshot"):
            assert view(partial.snapshot(0.0)) == view(whole.snapshot(0.0))
    assert view(partial.snapshot(0.0)) == view(whole.snapshot(0.0))
    assert partial.broken == whole.broken
    assert partial.blemished == whole.blemished
