"""What a plan says to people: why pods leave and where nodes are kept, long lists folded, and queues line by line."""

from __future__ import annotations

import re
from io import StringIO

import msgspec
import pytest
from rich.console import Console

from tests.support.plans import DEFAULT_POLICY, GROUP, NOW, Manifest, manifests, policy_from
from vsched.api.manifests import Origin, decode_manifests
from vsched.cli.plan.live import OUR_NAMES
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.text import as_text
from vsched.cli.plan.view import Planned, as_document
from vsched.cli.plan.words import pages as pages_words
from vsched.framework.policy import Policy
from vsched.framework.words import jobs as jobs_words
from vsched.model.plan import CycleReport, JobOutcome, SubGroupOutcome
from vsched.model.topology.tiers import WHOLE_CLUSTER
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

TAKING = load_text(
    """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: capacity
  - name: predicates
""",
    "policy",
    REGISTRY,
).policy
TREE = load_text(
    "actions: allocate\ntiers:\n- plugins:\n  - {name: capacity, enableHierarchy: true}\n", "policy", REGISTRY
).policy


def told(text: str, policy: Policy = DEFAULT_POLICY, *, width: int = 100) -> list[str]:
    """The lines of a plan, blanks squeezed."""
    return told_of(manifests(text), policy, width)


def told_of(objects: list[Manifest], policy: Policy, width: int = 100) -> list[str]:
    decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(objects))
    planned = decide_on_paper(decoded, policy, OUR_NAMES, cycles=1, now=NOW).planned
    out = StringIO()
    Console(file=out, width=width).print(as_text(planned, width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return [" ".join(re.sub("([│┃])", r" \1 ", line).split()) for line in lines]


FULL = """
    node n1 cpu=2
    queue rich deserved=cpu:1
    queue poor deserved=cpu:1
    job ns/old min=1 queue=rich
    pods ns/old 2 cpu=1 on=n1
"""


def test_on_80_columns_names_wrap_and_figures_stay_whole() -> None:
    job = "a-job-of-a-name-that-is-longer-than-most-are-4711-c762fd3b-1830"
    text = f"node n1 cpu=2 memory=1Gi\nqueue q deserved=cpu:1000\njob ns/{job} min=1 pods=1 cpu=9 queue=q"
    lines = told(text, TAKING, width=80)
    first = next(line for line in lines if line.startswith("ns/a-job"))
    assert "│ Pending │ 0/1 │" in first or "│ Inqueue │ 0/1 │" in first
    assert "…" not in "\n".join(lines)


def test_an_eviction_says_by_which_action_and_for_whom() -> None:
    lines = told(f"{FULL}\njob ns/new min=1 pods=1 cpu=1 queue=poor", TAKING)

    assert "evict │ ns/old.1 │ n1 │ reclaim for ns/new" in lines
    assert f"nominate │ ns/new.0 │ n1 │ {pages_words.RESERVED}" in lines


def test_a_pod_without_a_group_is_called_by_its_own_name() -> None:
    objects = manifests(f"{FULL}\npods ns/new 1 cpu=1 scheduling.volcano.sh/queue-name=poor")
    del objects[-1]["metadata"]["annotations"][GROUP]

    assert "evict │ ns/old.1 │ n1 │ reclaim for Pod ns/new.0" in told_of(objects, TAKING)


def test_a_node_is_given_up_where_it_does_not_help_any_more() -> None:
    lines = told("node n1 cpu=1\njob ns/a min=1 pods=1 cpu=9 nominated=n1")

    assert f"nominate │ ns/a.0 │ - │ {pages_words.NOT_RESERVED}" in lines


def test_a_place_that_is_not_written_to_the_pod_is_no_decision() -> None:
    lines = told("node n1 cpu=1\njob ns/old\npods ns/old 1 cpu=1 on=n1 leaving\njob ns/a min=1 pods=1 cpu=1")

    assert not any(line.startswith("nominate") for line in lines)
    assert any(jobs_words.goes_once("n1") in line for line in lines)


@pytest.mark.parametrize(
    ("pods", "rows"),
    [
        pytest.param(20, [f"bind │ x/a.{number} │ n1 │" for number in range(20)], id="told pod by pod up to twenty"),
        pytest.param(21, ["bind │ x/a.0 and 20 more │ n1 │"], id="folded beyond"),
    ],
)
def test_what_is_decided_of_one_job_is(pods: int, rows: list[str]) -> None:
    text = f"node n1 cpu=64\nqueue q\njob x/a min={pods} queue=q\n" + "pods x/a 1 cpu=1\n" * pods
    lines = told(text)

    assert sorted(line for line in lines if line.startswith("bind")) == sorted(rows)


def test_long_lists_are_folded_by_job_and_by_what_is_decided() -> None:
    text = """
        node n1 cpu=16
        node n2 cpu=16
        queue rich deserved=cpu:4
        queue poor deserved=cpu:28
        job ns/old min=1 queue=rich
        pods ns/old 16 cpu=1 on=n1
        pods ns/old 12 cpu=1 on=n2
        job ns/one min=4 pods=4 cpu=1 queue=poor age=9
        job ns/two min=12 pods=12 cpu=1 queue=poor age=5
    """
    rows = [line for line in told(text, TAKING) if line.startswith(("evict", "bind", "nominate"))]

    assert [row for row in rows if row.startswith("bind")] == ["bind │ ns/one.0 and 3 more │ n2 │"]
    (evict,) = (row for row in rows if row.startswith("evict"))
    assert evict.startswith("evict │ ns/old.")
    assert evict.endswith("│ reclaim for ns/two")
    assert " and 11 more " in evict
    (nominate,) = (row for row in rows if row.startswith("nominate"))
    assert nominate.startswith("nominate │ ns/two.")


def test_queues_show_a_line_for_each_resource_and_only_what_is_said_of_some_queue() -> None:
    lines = told("node n1\nqueue q weight=3\njob x/a min=1 pods=2 cpu=1 memory=1Gi queue=q")
    heading, _, *rows = lines[lines.index("Queues") + 1 :][:4]

    assert heading == "queue ┃ weight ┃ share ┃ resource ┃ allocated ┃ deserved"
    assert rows == ["q │ 3 │ 100% │ cpu │ 2 │ 2", "│ │ │ memory │ 2Gi │ 2Gi"]


def test_the_root_has_no_share_of_what_it_deserves() -> None:
    tree = policy_from(
        'actions: "allocate"\ntiers: [{plugins: [{name: gang}, {name: capacity, enableHierarchy: true}]}]'
    )
    text = "node n1 cpu=8\nqueue root\nqueue team parent=root deserved=cpu:1\njob ns/a min=2 pods=2 cpu=1 queue=team"
    rows = [line.split(" │ ")[:3] for line in told(text, tree)]
    assert ["root", "1", "-"] in rows
    assert ["team", "1", "200%"] in rows


def test_each_table_says_of_what_its_share_is() -> None:
    lines = told("node n1\nqueue q weight=3\njob x/a min=1 pods=2 cpu=1 queue=q")
    shares = [line for line in lines if line.startswith("share: ")]
    assert shares == [
        pages_words.SHARE_OF_DESERVED,
        pages_words.SHARE_OF_CLUSTER,
    ]
    assert lines.index("Queues") < lines.index(shares[0]) < lines.index("Namespaces") < lines.index(shares[1])


@pytest.mark.parametrize("width", [80, 100, 200])
def test_queues_show_limits_priority_state_and_what_is_wrong(width: int) -> None:
    text = """
        node n1 cpu=32
        queue up priority=3 guarantee=cpu:9 capability=cpu:20
        queue down parent=up deserved=cpu:4 capability=cpu:40 state=Closed
    """
    lines = told(text, TREE, width=width)

    heading = "queue ┃ priority ┃ weight ┃ share ┃ resource ┃ deserved ┃ guarantee ┃ capability"
    assert heading in lines
    assert any(line.startswith("up │ 3 │ 1 │ 0% │ cpu │") and line.endswith("│ 9 │ 20") for line in lines)
    assert any(line.startswith("down (Closed) │ 0 │ 1 │ 0% │ cpu │ 4 │ - │ 20") for line in lines)
    assert "queue down: LimitsClipped: reduced to what its parent up passes on: capability of cpu 40 to 20" in " ".join(
        lines
    )


PLACED = JobOutcome("ns/a", "default", "Running", 2, 2, 0, 2, 0, 0, domain="r1", tier=1)


def test_sub_groups_are_told_with_their_domains() -> None:
    outcome = msgspec.structs.replace(PLACED, domain="b1", tier=2, sub_groups=(SubGroupOutcome("w/a", "r1", 1),))
    planned = Planned([CycleReport(jobs={"ns/a": outcome})], {}, {})
    out = StringIO()
    Console(file=out, width=100).print(as_text(planned, 100))
    found = [re.split(r"\s*│\s*", line.strip()) for line in out.getvalue().splitlines()]
    assert found[found.index(["ns/a", "b1", "2"]) + 1] == ["w/a", "r1", "1"]
    assert as_document(planned)["jobs"]["ns/a"]["subGroups"] == [{"name": "w/a", "domain": "r1", "tier": 1}]


@pytest.mark.parametrize(
    ("outcome", "row", "fields"),
    [
        pytest.param(PLACED, ["ns/a", "r1", "1"], {"domain": "r1", "tier": 1}, id="a rack"),
        pytest.param(
            msgspec.structs.replace(PLACED, domain=WHOLE_CLUSTER, tier=3),
            ["ns/a", "the whole cluster", "3"],
            {"domain": WHOLE_CLUSTER, "tier": 3},
            id="the whole cluster has a name for people",
        ),
        pytest.param(msgspec.structs.replace(PLACED, domain="", tier=None), None, {}, id="a job that asks for nothing"),
    ],
)
def test_jobs_that_ask_for_closeness_are_told_with_their_domain(
    outcome: JobOutcome, row: list[str] | None, fields: dict[str, object]
) -> None:
    planned = Planned([CycleReport(jobs={"ns/a": outcome})], {}, {})
    out = StringIO()
    Console(file=out, width=100).print(as_text(planned, 100))
    found = [re.split(r"\s*│\s*", line.strip()) for line in out.getvalue().splitlines()]
    assert (row in found) == (row is not None)
    assert ("Places" in out.getvalue()) == (row is not None)
    told = as_document(planned)["jobs"]["ns/a"]
    assert {key: told[key] for key in ("domain", "tier") if key in told} == fields


def test_a_podgroup_that_waits_to_be_admitted_is_told_before_it_has_pods() -> None:
    why = "queue q may hold 3 cpu at most: 4 asked"
    outcome = JobOutcome("ns/a", "q", "Pending", 4, 0, 0, 0, 0, 0, message=why)
    out = StringIO()
    Console(file=out, width=100).print(as_text(Planned([CycleReport(jobs={"ns/a": outcome})], {}, {}), 100))
    found = [re.split(r"\s*│\s*", line.strip()) for line in out.getvalue().splitlines()]
    assert ["ns/a", "Pending", "0/4", why] in found
