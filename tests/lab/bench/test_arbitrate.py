"""The bench of arbitration: the cluster it makes, that what it measures happens, its stable JSON, and its tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.support.printed import printed
from vsched.arbitrator.effects import MakeConsumer, WriteAllocation, WriteStatus
from vsched.cli import cli
from vsched.clock import FakeClock
from vsched.daemon.arbitrate.admission import Admission
from vsched.errors import BadInput, Unavailable
from vsched.lab import words as common
from vsched.lab.bench.arbitrate import AT_ONCE, as_tables, claim, first, settle, steady
from vsched.lab.bench.arbitrator import STEPS, BenchArbitrator
from vsched.lab.bench.extender import answers, asked_about
from vsched.lab.bench.namespaces import NEWCOMER, NamespaceFeeder, NamespaceWorld, dealt, namespace_name
from vsched.lab.bench.words import arbitrate as words
from vsched.model.arbitration.records import SYSTEM_NAMESPACE
from vsched.web.findings import Findings
from vsched.web.pages.extender import extender_routes
from vsched.web.serve.server import serving

SMALL = NamespaceWorld(nodes=8, namespaces=12, pods=100, waiting=12, buckets=4, overused=3)
ARGUMENTS = [
    argument
    for name in ("nodes", "namespaces", "pods", "waiting", "buckets", "overused")
    for argument in (f"--{name}", str(getattr(SMALL, name)))
]


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench-arbitrate", *ARGUMENTS, "--rounds", "2", *arguments])


# -- the cluster


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        pytest.param(6, [1, 2, 3], [1, 2, 3], id="evenly"),
        pytest.param(7, [1, 1, 1], [2, 2, 3], id="with a rest"),
        pytest.param(0, [1, 2], [0, 0], id="nothing"),
    ],
)
def test_whole_numbers_are_dealt_by_weight(total: int, weights: list[int], parts: list[int]) -> None:
    assert dealt(total, weights) == parts


def test_running_pods_fill_the_nodes_where_namespaces_are_to_be_overused() -> None:
    snapshot = NamespaceFeeder(SMALL).mirror.snapshot(0.0)
    idle = {name: snapshot.nodes.idle[column] for column, name in enumerate(snapshot.axis.names)}
    assert not idle["cpu"].any()
    assert not idle["nvidia.com/gpu"].any()
    assert idle["pods"].all()


def test_there_is_room_for_what_waits_where_none_is_to_be() -> None:
    arbitrator = BenchArbitrator(NamespaceFeeder(replace(SMALL, overused=0)))
    found = arbitrator.round()
    assert found.verdict.overused == {}
    for name, party in found.arbitration.parties.items():
        deserved = found.division.namespaces[name].deserved
        assert all(deserved[resource] >= amount for resource, amount in party.requested.items())


def test_who_is_not_overused_waits_for_as_much_as_it_holds() -> None:
    found = BenchArbitrator(NamespaceFeeder(SMALL)).round().arbitration.parties
    pods = {name: (party.held.get("pods", 0), party.waiting.get("pods", 0)) for name, party in found.items()}
    assert pods[SYSTEM_NAMESPACE] == (1, 0)
    assert sum(held for held, _ in pods.values()) == SMALL.pods
    modest = [pods[namespace_name(number)] for number in range(SMALL.overused, SMALL.namespaces)]
    assert all(held == waiting for held, waiting in modest)
    assert sum(waiting for _, waiting in modest) == SMALL.waiting
    assert all(pods[namespace_name(number)][1] == 0 for number in range(SMALL.overused))


@pytest.mark.parametrize("overused", [0, 3, 5, 6])
def test_buckets_do_not_mix_the_overused_with_others(overused: int) -> None:
    crowd = replace(SMALL, overused=overused)
    overused_in, others_in = Counter[str](), Counter[str]()
    for number in range(crowd.namespaces):
        (overused_in if number < overused else others_in)[crowd.parent(number)] += 1
    assert not (overused_in.keys() & others_in.keys()) - {""}
    assert sum(others_in.values()) == crowd.namespaces - overused
    assert others_in.keys() > {""}


def test_equal_numbers_make_equal_clusters_and_other_seeds_others() -> None:
    def held(crowd: NamespaceWorld) -> dict[str, Any]:
        return {
            name: party.held
            for name, party in BenchArbitrator(NamespaceFeeder(crowd)).round().arbitration.parties.items()
        }

    assert held(SMALL) == held(SMALL)
    assert held(SMALL) != held(replace(SMALL, seed=2))


def test_pods_of_several_schedulers_are_counted() -> None:
    realm = NamespaceFeeder(SMALL)
    assert len({pod["spec"]["schedulerName"] for pod in realm.waiting}) == 3


# -- rounds


def test_everything_that_is_wanted_is_written_once() -> None:
    arbitrator = BenchArbitrator(NamespaceFeeder(SMALL))
    kinds = Counter(type(effect) for effect in arbitrator.round().verdict.effects)
    assert kinds[MakeConsumer] == 2, "one of ten namespaces has none, nor has kube-system"
    assert kinds[WriteAllocation] == 12, "eleven of the teams, and the one that may hold nothing"
    assert kinds[WriteStatus] == 16, "theirs, and those of four buckets"
    settle(arbitrator)
    found = arbitrator.round()
    assert found.verdict.effects == ()
    assert len(found.verdict.overused) == SMALL.overused
    records = {name: party.allocations for name, party in found.arbitration.parties.items()}
    assert all(len(allocations) == 1 for allocations in records.values())


def test_the_kinds_of_rounds_are_what_they_are_called() -> None:
    arbitrator = BenchArbitrator(NamespaceFeeder(SMALL))
    begun, resting, claimed = first(arbitrator, 3), steady(arbitrator, 3), claim(arbitrator, 3)
    assert (begun["effects"], resting["effects"], resting["overused"]) == (30, 0, SMALL.overused)
    assert claimed["evictions"] == 3
    for found in (begun, resting, claimed):
        times = [found[f"{step}_ms"] for step in STEPS]
        assert all(each["p99"] > 0 or each["p50"] == 0 for each in times)
        assert found["divide_ms"]["p50"] > 0


def test_changes_between_steady_rounds_are_published_and_change_no_sum() -> None:
    realm = NamespaceFeeder(SMALL)
    arbitrator = BenchArbitrator(realm)
    before = arbitrator.look().arbitration
    uids = {pod["metadata"]["uid"] for pod in realm.waiting}
    realm.renew(5)
    after = arbitrator.look().arbitration
    assert before is not None
    assert after is not None
    assert after.version > before.version
    assert len(uids & {pod["metadata"]["uid"] for pod in realm.waiting}) == SMALL.waiting - 5
    assert {name: party.waiting for name, party in after.parties.items()} == {
        name: party.waiting for name, party in before.parties.items()
    }


def test_who_claims_leaves_nothing_behind() -> None:
    arbitrator = BenchArbitrator(NamespaceFeeder(SMALL))
    settle(arbitrator)
    claim(arbitrator, 2)
    assert NEWCOMER not in arbitrator.round(AT_ONCE).arbitration.parties


# -- the extender


async def test_an_answer_that_is_not_by_the_ceilings_ends_the_bench() -> None:
    arbitrator = BenchArbitrator(NamespaceFeeder(SMALL))
    findings = Findings()
    findings.take_arbitrated(arbitrator.round())
    pods = asked_about(arbitrator.realm, findings, 4)
    admission = Admission(arbitrator.realm.mirror, findings, FakeClock())
    async with serving(extender_routes(admission), "127.0.0.1:0", "the extender") as port:
        printed = await answers(port, SMALL.nodes, pods)
        assert 0 < printed["all_ms"]["p50"] <= printed["all_ms"]["p99"] <= printed["all_ms"]["max"]
        with pytest.raises(Unavailable, match=re.escape(words.WRONG_ANSWER)):
            await answers(port, SMALL.nodes, pods[::-1])
        findings.arbitrated = None
        problem = f"OSError: {words.other_answer('http/1.1 503')}"
        with pytest.raises(Unavailable, match=re.escape(words.cannot_be_asked(problem))):
            await answers(port, SMALL.nodes, pods[:1])


def test_pods_that_wait_in_vain_are_not_asked_about() -> None:
    arbitrator = BenchArbitrator(NamespaceFeeder(replace(SMALL, waiting=1)))
    findings = Findings()
    findings.take_arbitrated(arbitrator.round())
    for pod in list(arbitrator.realm.waiting):
        arbitrator.realm.withdraw(pod)
    with pytest.raises(BadInput, match=re.escape(words.NONE_MAY_BE_PLACED)):
        asked_about(arbitrator.realm, findings, 2)


# -- the command


def test_the_json_has_the_keys_that_others_rely_on() -> None:
    found = bench("--json", "--requests", "6")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    steps = {f"{step}_ms" for step in STEPS}
    assert document.keys() == {"first", "steady", "claim", "extender", "rss_mb"}
    assert document["first"].keys() == steps | {"effects"}
    assert document["steady"].keys() == steps | {"effects", "overused"}
    assert document["claim"].keys() == steps | {"evictions"}
    kinds = {"all_ms", "placeable_ms", "refused_ms"}
    asked = document["extender"]
    assert asked.pop("requests") == 6
    assert asked["busy"].pop("rounds").keys() == steps
    assert asked.keys() == {"idle", "busy"}
    for times in asked.values():
        assert times.keys() == kinds
        assert all(0 < found["p50"] <= found["p99"] <= found["max"] for found in times.values())


TIMES = {f"{step}_ms": {"p50": 123.45, "p99": 234.56} for step in STEPS}
ROUNDS: dict[str, Any] = {
    "first": {**TIMES, "effects": 30},
    "steady": {**TIMES, "effects": 0, "overused": 3},
    "claim": {**TIMES, "evictions": 2},
    "rss_mb": 1234,
}
ANSWERS = {f"{kind}_ms": {"p50": 0.12, "p99": 3.45, "max": 67.8} for kind in ("all", "placeable", "refused")}


def test_the_tables_say_the_same() -> None:
    found = printed(*as_tables(ROUNDS))
    assert "divide 123.45 / 234.56 123.45 / 234.56 123.45 / 234.56" in found
    assert f"{words.OBJECTS_TO_WRITE} 30 0" in found
    assert "overused namespaces 3" in found
    assert "evictions 2" in found
    assert f"{common.PEAK_MEMORY} 1,234" in found
    assert "kube-scheduler" not in found


def test_the_tables_have_what_was_answered_if_anything_was_asked() -> None:
    found = printed(*as_tables({**ROUNDS, "extender": {"idle": ANSWERS, "busy": ANSWERS}}))
    assert words.ANSWERS.strip() in found
    assert f"{words.REFUSED} 0.12 / 3.45 / 67.8 0.12 / 3.45 / 67.8" in found


def test_the_command_prints_its_tables() -> None:
    found = bench("--requests", "0")
    assert found.exit_code == 0, found.output
    assert "a round" in found.stdout


def test_somebody_has_to_be_short() -> None:
    found = bench("--overused", "12")
    assert isinstance(found.exception, BadInput)
    assert str(found.exception) == words.too_many_overused(12)


def test_help_shows_an_example() -> None:
    found = CliRunner().invoke(cli, ["bench-arbitrate", "--help"])
    assert found.exit_code == 0
    assert "vsched bench-arbitrate --overused 0 --requests 0\n" in found.output
