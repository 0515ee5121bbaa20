"""``vsched plan --consolidate``: which pods would be moved for a job, from a dump and from manifests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.questions import Asker, recording_of
from vsched.cli import cli
from vsched.cli.plan.moving import words
from vsched.cli.plan.words.flags import did_you_mean
from vsched.explain.words import phrases as sentences

CLUSTER = """
    node n1 cpu=4
    node n2 cpu=4
    node n3 cpu=1 zone=c
    job ns/a phase=Running
    pods ns/a 1 cpu=2 on=n1 owned started=7200
    job ns/b phase=Running min=0
    pods ns/b 1 cpu=2 on=n2 owned started=3600 vsched.io/cooperative-eviction=5m
    job ns/want pods=1 cpu=4 phase=Inqueue
    job ns/small pods=1 cpu=1 selector=zone:c phase=Inqueue
    job ns/large pods=1 cpu=8 phase=Inqueue
"""


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path, recording_of(CLUSTER))


def test_moves_as_data(asker: Asker) -> None:
    document = asker.answer("--consolidate", "ns/want")
    assert (document["job"], document["state"], document["session"]) == ("ns/want", "moves", 7)
    [move] = document["moves"]
    assert (move["pod"], move["node"], move["to"]) == ("ns/b.0", "n2", "n1")
    assert (move["lost_seconds"], move["asked_seconds"]) == (pytest.approx(3600, abs=2), 300)
    assert move["breaks_job"] is False
    assert document["places"] == {"ns/want.0": "n2"}
    assert document["notes"] == [words.NOT_BY_ITSELF]


def test_moves_as_a_table(asker: Asker) -> None:
    heading, *table = asker.ask("--consolidate", "ns/want").stdout.splitlines()
    assert heading == f"{words.would_start('ns/want', 1)}: {words.starts_on(1, 'n2')}"
    at = next(number for number, line in enumerate(table) if line.startswith("pod"))
    assert table[at].split() == ["pod", "job", "priority", "from", "to", "cost"]
    cost = f"{words.lost_work('1h')}, {words.asked_first('5m')}"
    assert " ".join(table[at + 1 :]).split() == ["ns/b.0", "ns/b", "0", "n2", "n1", *cost.split()]


def test_the_pod_of_a_job_that_cannot_spare_it_costs_more(asker: Asker) -> None:
    document = asker.answer("--consolidate", "ns/want", "--drain", "n2")
    assert document["state"] == "none", "n2 takes nobody, and n1 has no room for those of n2"


@pytest.mark.parametrize(
    ("job", "state", "message"),
    [
        pytest.param("ns/a", "starts", sentences.WAITS_FOR_NOTHING, id="a job that runs"),
        pytest.param("ns/small", "starts", None, id="a job that fits"),
        pytest.param("ns/large", "none", None, id="a job that no moves help"),
    ],
)
def test_where_there_are_no_moves(asker: Asker, job: str, state: str, message: str | None) -> None:
    document = asker.answer("--consolidate", job)
    assert (document["state"], document["moves"]) == (state, [])
    assert document["message"] == message or message is None


def test_an_unknown_job_is_one_line(asker: Asker) -> None:
    found = asker.ask("--consolidate", "ns/wan")
    assert str(found.exception) == words.no_job("ns/wan", did_you_mean("ns/want"))


def test_not_together_with_menus(asker: Asker) -> None:
    found = asker.ask("--consolidate", "ns/want", "--buy")
    assert found.exit_code == 2
    assert words.NOT_WITH_BUY in found.stderr


def test_of_manifests() -> None:
    sample = "config/samples/consolidate.yaml"
    found = CliRunner().invoke(cli, ["plan", "-f", sample, "--consolidate", "team/train", "-o", "json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert [(one["pod"], one["node"]) for one in document["moves"]] == [("team/web-b", "node-2")]
    assert document["session"] is None


def test_a_plan_says_where_pods_are_moved() -> None:
    sample, policy = "config/samples/consolidate.yaml", "config/policies/consolidate.yaml"
    found = CliRunner().invoke(cli, ["plan", "-f", sample, "--config", policy, "-o", "json"])
    [eviction] = json.loads(found.stdout)["cycles"][0]["evictions"]
    assert (eviction["pod"], eviction["action"], eviction["to"]) == ("team/web-b", "consolidate", "node-1")
