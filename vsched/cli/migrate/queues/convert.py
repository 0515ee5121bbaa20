"""Objects of Kueue and KAI to the text of Volcano Queues: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from vsched.cli.migrate.queues import kai, kueue, words
from vsched.cli.migrate.queues.made import (
    QUEUE_API,
    Amounts,
    Conversion,
    MadeNamespace,
    MadeQueue,
    Obj,
    QueueNamer,
    note_conflicts,
    whole_weights,
)
from vsched.errors import BadInput
from vsched.model.amounts.resources import format_amount
from vsched.printable import one_printable_line

QUEUE_NAME = "scheduling.volcano.sh/queue-name"
EXPECTED = words.expected_queues(kueue.GROUP, kai.GROUP)
ABOUT = (
    words.HEADER,
    words.WHAT_COUNTS,
)


def converted_text(objects: Iterable[Obj]) -> str:
    """The Queues and namespaces as YAML with comments; raises BadInput where there are no queues to convert."""
    return "".join(_documents(convert(objects)))


def convert(objects: Iterable[Obj]) -> Conversion:
    """What all objects become; raises BadInput where there are none to convert, or one cannot be read."""
    of_kueue, of_kai, others = list[Obj](), list[Obj](), Counter[str]()
    for obj in objects:
        group = obj["apiVersion"].partition("/")[0]
        if group == kueue.GROUP:
            of_kueue.append(obj)
        elif group == kai.GROUP:
            of_kai.append(obj)
        else:
            others[f"{obj['kind']} ({obj['apiVersion']})"] += 1
    made = kueue.converted(of_kueue)
    more = kai.converted(of_kai)
    made.notes += more.notes
    _add(made, more.queues)
    if not made.queues:
        raise BadInput(words.nothing_to_convert(EXPECTED))
    made.notes += (words.ignored(count, kind) for kind, count in others.items())
    note_conflicts(made.queues)
    return made


def _add(made: Conversion, queues: list[MadeQueue]) -> None:
    """Add the queues of KAI to those of Kueue, under names of their own."""
    names = QueueNamer()
    for queue in made.queues:
        names.take(queue.name, "")
    changed: dict[str, str] = {}
    for queue in queues:
        changed[queue.name] = names.take(queue.name, "kai")
        if changed[queue.name] != queue.name:
            queue.notes.append(words.name_taken(queue.name))
        queue.name = changed[queue.name]
        queue.parent = changed.get(queue.parent, "")
    made.queues += queues


# -- as text


def _documents(made: Conversion) -> Iterator[str]:
    yield _comments([*ABOUT, *made.notes])
    weights = whole_weights(made.queues)
    for queue in made.queues:
        yield f"---\n{_comments([queue.source, *queue.notes])}{_yaml(_queue(queue, weights[queue.name]))}"
    for namespace in made.namespaces:
        lines = [words.default_queue(namespace.name) if namespace.queue else f"Namespace {namespace.name}"]
        body = _yaml(_namespace(namespace)) if namespace.queue else ""
        yield f"---\n{_comments([*lines, *namespace.notes])}{body}"


def _comments(lines: Iterable[str]) -> str:
    return "".join(f"# {one_printable_line(line)}\n" for line in lines)


def _yaml(obj: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(obj, sort_keys=False, allow_unicode=False)
    return text


def _queue(queue: MadeQueue, weight: int) -> Obj:
    metadata: Obj = {"name": queue.name}
    if queue.annotations:
        metadata["annotations"] = queue.annotations
    spec: Obj = {"weight": weight}
    if queue.parent:
        spec["parent"] = queue.parent
    if queue.priority:
        spec["priority"] = queue.priority
    for field, amounts in (("deserved", queue.deserved), ("capability", queue.capability)):
        if amounts:
            spec[field] = _shown(amounts)
    if queue.guarantee:
        spec["guarantee"] = {"resource": _shown(queue.guarantee)}
    return {"apiVersion": QUEUE_API, "kind": "Queue", "metadata": metadata, "spec": spec}


def _shown(amounts: Amounts) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in amounts.items()}


def _namespace(namespace: MadeNamespace) -> Obj:
    metadata = {"name": namespace.name, "annotations": {QUEUE_NAME: namespace.queue}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
