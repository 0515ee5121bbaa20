"""What the records of a bottle's daemons have to say: what is there in the end, and of which times nothing is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vsched.errors import BadInput
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.statuses import stays
from vsched.lab.soak.claims import key_of
from vsched.record.folder import read_all, read_lines, segments_of
from vsched.record.history import History, merged
from vsched.record.lines import Began
from vsched.record.names import TraceNames


def untrue_records(folders: Iterable[Path], after_losses: Iterable[Path], pods: Iterable[Obj]) -> Iterator[str]:
    """What is not true of all folders together, when lines are waited for no more; ``after_losses`` are the segments
    that have to say since when nothing is known, if they are there.
    """
    begun = [folder for folder in folders if segments_of(folder)]
    try:
        known = History(merged([read_all([folder]) for folder in begun])).pods
        # What is lost before anything was recorded is not missing.
        later = {path for folder in begun for path in segments_of(folder)[1:]}
        firsts = [(path, next(read_lines(path))) for path in after_losses if path in later]
    except BadInput as error:
        yield str(error)
        return
    for path, first in firsts:
        if not isinstance(first, Began) or not first.after:
            yield words.says_no_gap(path.name)
    names, there = TraceNames(), set[str]()
    for pod in pods:
        id, node = names.id(pod["metadata"]["uid"]), pod["spec"].get("nodeName", "")
        there.add(id)
        found = known.get(id)
        if stays(pod) and (found is None or found.how or found.node != node):
            yield words.recorded(key_of(pod), "" if found is None or found.how else found.node, node)
    for id, found in known.items():
        if not found.how and id not in there:
            yield words.still_recorded(found.seen.job, id)
