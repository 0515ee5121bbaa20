"""Made-up names: the same for the same, in the same order, and with rules for every text that there is."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import vsched
from vsched.model.anonymous.names import Pseudonyms, anonymised
from vsched.model.anonymous.rules import Renaming, rules_of
from vsched.model.anonymous.snapshot import KEYS
from vsched.model.marks import NodeName, Word
from vsched.model.plan import AskAgain, CycleReport
from vsched.model.snapshot import Snapshot

words = st.text(st.sampled_from("abmdefkz019_AQZ"), min_size=1, max_size=4) | st.sampled_from(
    ["default", "kube", "system", "volcano", "memory", "acme", "k8s", "zebra", "9x", "10", "m"]
)
names = st.lists(words, min_size=1, max_size=4).flatmap(
    lambda parts: st.sampled_from(["-", ".", "/"]).map(lambda mark: mark.join(parts))
)


def shown(found: list[str]) -> list[str]:
    """What stands for each of these names."""
    return anonymised(lambda pseudonyms: [pseudonyms.name(name) for name in found])


@given(st.lists(names, max_size=20))
def test_names_keep_their_order_and_which_are_the_same(found: list[str]) -> None:
    made = shown(found)
    for one, one_made in zip(found, made, strict=True):
        for other, other_made in zip(found, made, strict=True):
            assert (one < other) is (one_made < other_made)
            assert one.startswith(f"{other}/") is one_made.startswith(f"{other_made}/")


def test_words_go_and_numbers_and_marks_stay() -> None:
    kept = ["42", "-7", "", "default", "kube-system", "true", "volcano.sh/hierarchy", "30s", "4Gi", "08:00"]
    assert shown(kept) == kept
    [made] = shown(["acme-train-12"])
    assert re.fullmatch(r"[A-Za-z]+0\d*-[A-Za-z]+0\d*-12", made)
    assert "acme" not in made
    assert "train" not in made


def test_nodes_and_uids_are_replaced_whole() -> None:
    def make(pseudonyms: Pseudonyms) -> list[str]:
        hosts = [pseudonyms.node(f"ip-10-0-0-{number}") for number in (2, 1)]
        return [*hosts, pseudonyms.value("ip-10-0-0-2"), pseudonyms.value("a-zone"), pseudonyms.uid("0b-7"), *hosts]

    second, first, label, zone, uid, *_ = anonymised(make)
    assert (first, second, label, uid) == ("node-1", "node-2", "node-2", "uid-1")
    assert zone == shown(["a-zone", "ip-10-0-0-2", "ip-10-0-0-1"])[0]


def test_addresses_of_nodes_go_but_for_the_one_that_means_all() -> None:
    found = anonymised(lambda pseudonyms: [pseudonyms.address(one) for one in ("10.0.0.2", "0.0.0.0", "fe80::1")])
    assert found == ["address-1", "0.0.0.0", "address-2"]


def test_keys_that_vsched_gives_a_meaning_stay() -> None:
    rooms = ("model", "plugins", "kernels", "actions", "framework", "arbitrator")
    package = Path(vsched.__file__).parent
    source = "".join(path.read_text(encoding="utf-8") for room in rooms for path in (package / room).rglob("*.py"))
    keys = set(re.findall(r'"((?:[a-z0-9.-]*\.)?(?:volcano\.sh|k8s\.io|kubernetes\.io)/[A-Za-z.-]+)"', source))
    assert len(keys) > 5
    assert shown(sorted(keys)) == sorted(keys)


# -- every text has a rule


class Fresh(msgspec.Struct):
    """A record that somebody adds."""

    what: str
    kind: Word
    where: NodeName | None = None
    others: tuple[tuple[str, int], ...] = ()
    count: int = 0


def test_a_text_that_nobody_has_marked_is_a_name() -> None:
    record = Fresh("secret", "Pod", "host-7", (("secret", 2),), 3)
    found = anonymised(lambda pseudonyms: Renaming(pseudonyms).record(record))
    assert found == Fresh(shown(["secret"])[0], "Pod", "node-1", ((shown(["secret"])[0], 2),), 3)


def test_decisions_about_pods_that_were_asked_before_have_pseudonyms() -> None:
    record = AskAgain("6f1", "secret", "secret-0", 1.0, 2.0, "preempt", "", True, False)
    found = anonymised(lambda pseudonyms: Renaming(pseudonyms).record(record))
    assert found == msgspec.structs.replace(record, uid="uid-1", namespace=found.namespace, name=found.name)
    assert "secret" not in (found.namespace, found.name)


def reachable(kind: Any, seen: set[Any]) -> Iterator[type]:
    """The structs that can be found in values of a type."""
    for inner in get_args(kind):
        yield from reachable(inner, seen)
    if not isinstance(kind, type) or kind in seen or isinstance(kind, types.GenericAlias):
        return
    seen.add(kind)
    if issubclass(kind, msgspec.Struct):
        yield kind
    if issubclass(kind, msgspec.Struct) or is_dataclass(kind):
        for hint in get_type_hints(kind).values():
            yield from reachable(hint, seen)


def holds_text(kind: Any) -> bool:
    if kind is str:
        return True
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return any(holds_text(hint) for hint in get_type_hints(kind).values())
    if isinstance(kind, type) and issubclass(kind, Enum):
        return False
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return any(holds_text(hint) for hint in get_type_hints(kind).values())
    return any(holds_text(inner) for inner in get_args(kind))


def test_every_text_of_the_model_has_a_rule() -> None:
    from vsched.model.arbitration.records import Arbitration
    from vsched.model.jobs.spec import JobSpec
    from vsched.model.nodes.table import NodeAttributes
    from vsched.model.pods.task import Task

    seen: set[Any] = set()
    roots = [
        *(
            get_type_hints(Snapshot)[field.name]
            for field in fields(Snapshot)
            if field.name not in ("advice", "node_pools")
        )
    ]
    found = [
        struct
        for root in (*roots, JobSpec, Task, NodeAttributes, Arbitration, CycleReport)
        for struct in reachable(root, seen)
    ]
    assert len(found) > 30
    missing = [
        f"{struct.__name__}.{name}"
        for struct in found
        for name, hint in get_type_hints(struct).items()
        if holds_text(hint) and name not in rules_of(struct) and typing.get_origin(hint) is not typing.ClassVar
    ]
    assert missing == []
    assert set(KEYS) <= {field.name for field in fields(Snapshot)}
