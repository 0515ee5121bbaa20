"""The invariants of ``vsched/README.md``, by their numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import clusters, seeded
from tests.support.examples import examples
from tests.support.kinds import KINDS, Case, case_of
from tests.support.plans import DEFAULT_POLICY, NOW, decide, manifests, mirror, plan, reading
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.framework.points.extension import SessionContext
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.kube.watch.deltas import Delta
from vsched.model.dump.cycle import report_bytes
from vsched.model.maps import as_dict
from vsched.model.memo import Memo, Mode
from vsched.model.plan import Bind, CycleReport, Evict, Nominate, Ungate, Withdraw
from vsched.settings.built_in import REGISTRY

PACKAGE = Path(__file__).parents[1] / "vsched"
PURE = ("actions", "arbitrator", "explain", "framework", "kernels", "model", "plugins", "proof", "shadow")
IMPURE = frozenset({"asyncio", "logging", "os", "random", "secrets", "socket", "structlog", "time"})


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for room in PURE:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            yield path, ast.parse(path.read_text())


def test_the_page_lists_as_many_invariants_as_there_are_tests() -> None:
    page = (PACKAGE / "README.md").read_text().partition("## Invariants")[2].partition("\n## ")[0]
    numbers = re.findall(r"^(\d)\. ", page, re.MULTILINE)
    tests = re.findall(r"^def test_invariant_(\d)_", Path(__file__).read_text(), re.MULTILINE)
    assert sorted(set(tests)) == numbers


def test_invariant_1_nothing_below_settings_waits_or_looks_outside() -> None:
    found: list[str] = []
    for path, module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
                found.append(f"{path}:{node.lineno}: waits")
            elif isinstance(node, ast.Import | ast.ImportFrom):
                first = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                found += [f"{path}:{node.lineno}: {name}" for name in first if name.partition(".")[0] in IMPURE]
    assert found == []


def test_invariant_2_a_plugin_is_given_nothing_that_changes_the_session() -> None:
    hints = " ".join(str(hint) for hint in get_type_hints(SessionContext).values())
    assert not re.search(r"\b(Session|Ledger|Statement|PluginSet|WaitingJobs|Cache|ApiClient)\b", hints)


@settings(max_examples=examples(60), deadline=None)
@given(clusters(), seeded)
def test_invariant_3_a_rollback_is_bit_exact(text: str, random: Random) -> None:
    session = Session(mirror(manifests(text)).snapshot(NOW), DEFAULT_POLICY, REGISTRY, Trace())
    before = amounts(session)
    with session.statement() as statement:
        for job in session.jobs.values():
            for task in list(job.job.pending.values()):
                row = random.randrange(len(session.nodes))
                step = random.choice((statement.allocate, statement.pipeline))
                step(job, task, row)
    assert amounts(session) == before


def amounts(session: Session) -> list[Any]:
    nodes = session.nodes
    tables = [one.tobytes() for one in (nodes.idle, nodes.releasing, nodes.pipelined, nodes.requested, nodes.scoring)]
    held = [sorted(some(session.usage.queue(name))) for name in session.snapshot.queues]
    return [tables, held, [(job.key, job.ready, job.waiting, some(job.allocated)) for job in session.jobs.values()]]


def some(amounts: Mapping[int, int]) -> list[tuple[int, int]]:
    """Without those that are nothing."""
    return [(column, amount) for column, amount in amounts.items() if amount]


def test_invariant_3_amounts_on_nodes_are_integers() -> None:
    nodes = mirror(manifests("node n1 cpu=3 memory=5Gi")).snapshot(NOW).nodes
    assert {table.dtype for table in (nodes.allocatable, nodes.idle, nodes.requested)} == {np.dtype(np.int64)}


def in_order(reports: Sequence[CycleReport]) -> bytes:
    """Maps have no order."""
    return msgspec.json.encode(reports, order="sorted", enc_hook=as_dict)


@settings(max_examples=examples(60), deadline=None)
@given(st.builds(case_of, seeded, st.sampled_from(KINDS)), seeded)
def test_invariant_4_equal_inputs_give_equal_bytes(case: Case, random: Random) -> None:
    objects, usage = manifests(case.text), reading(case.text)
    shuffled = random.sample(objects, len(objects))
    first, second = (decide(each, case.policy, cycles=2, usage=usage).reports for each in (objects, shuffled))
    assert in_order(first) == in_order(second)


@settings(max_examples=examples(60), deadline=None)
@given(st.builds(case_of, seeded, st.sampled_from(KINDS)))
def test_invariant_5_what_is_kept_by_row_does_not_outlive_the_rows(case: Case) -> None:
    """A node that comes before all others moves every row by one."""
    cache, memo = mirror(manifests(case.text)), Memo(Mode.ON)
    cache.inputs.use(reading(case.text))
    for text in ("", "node a0 cpu=1", "node b0 cpu=9"):
        for found in manifests(text):
            if found["kind"] == "Node":
                cache.intake.apply("Node", Delta.ADDED, api.decode("Node", orjson.dumps(found)))
        snapshot = cache.snapshot(NOW)
        report = run_cycle(snapshot, case.policy, REGISTRY, memo=memo)
        assert report_bytes(report) == report_bytes(run_cycle(snapshot, case.policy, REGISTRY))
        cache.settle(report)


@pytest.mark.parametrize("effect", [Bind, Evict, Nominate, Ungate, Withdraw])
def test_invariant_6_every_effect_on_a_pod_carries_its_uid(effect: type[msgspec.Struct]) -> None:
    assert "uid" in {field.name for field in msgspec.structs.fields(effect)}


def test_invariant_7_queues_that_fill_from_outside_have_a_bound() -> None:
    unbounded = re.compile(r"asyncio\.Queue\(\)")
    found = [str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if unbounded.search(path.read_text())]
    bounded_elsewhere = {
        "writes/claims/transactions.py": "settings.limit gangs at a time",
        "lab/sender.py": "links",
        "sim/api/spoiled_watches.py": "what a watch sends in the seconds of a fault that was asked for",
    }
    assert {*found} == {*bounded_elsewhere}


def test_invariant_8_a_bad_object_is_left_out_with_a_reason_and_others_go_on() -> None:
    text = "node n1 cpu=4\njob x/bad queue=nowhere min=1 pods=1 cpu=1\njob x/good min=1 pods=1 cpu=1 phase=Inqueue"
    decided = plan(text, DEFAULT_POLICY)
    assert [bind.name for bind in decided.reports[0].binds] == ["good.0"]
    assert "nowhere" in decided.message("x/bad")
