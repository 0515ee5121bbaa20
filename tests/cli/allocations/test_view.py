"""Namespaces and buckets as tables and documents: what is told to programs, what a bar says, what fits a terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, RenderableType

from vsched.cli import words as shared
from vsched.cli.allocations import words
from vsched.cli.allocations.shares import AllocationShare, AllocationShares, readable, shares_of
from vsched.cli.allocations.view import as_document, as_page, as_table, in_tree, share_document
from vsched.cli.show.drawing import Look, look_for
from vsched.errors import BadInput
from vsched.model.arbitration.records import ArbitrationCondition, Claim

NOW = 1_800_000_000.0
TOTAL = readable({"cpu": "10", "memory": "100Gi", "pods": "110"})
PLAIN = Look(10, ranks=False, counts=False)
SHORT = ArbitrationCondition("Overused", "True", "HoldsMoreThanDeserved", "holds 3 cpu more than it deserves", NOW - 90)
CUT = ArbitrationCondition("Reserved", "False", "ReservationsExceedCluster", "only 6 of 8 cpu can be kept", NOW)


def share(
    name: str, *conditions: ArbitrationCondition, parent: str = "", weight: int | None = None, **amounts: dict[str, str]
) -> AllocationShare:
    """A namespace by what is written of it."""
    found = {kind: readable(stated) for kind, stated in amounts.items()}
    stated = {f"stated_{kind}": amounts[kind] for kind in ("hard", "reserved") if kind in amounts}
    return AllocationShare(name, parent=parent, weight=weight, conditions=conditions, **found, **stated)  # type: ignore[arg-type]


def area(name: str, **amounts: dict[str, str]) -> AllocationShare:
    return AllocationShare(
        name, is_bucket=True, weight=2, **{kind: readable(stated) for kind, stated in amounts.items()}
    )


def shares(*namespaces: AllocationShare, buckets: tuple[AllocationShare, ...] = ()) -> AllocationShares:
    return AllocationShares({one.name: one for one in namespaces}, {one.name: one for one in buckets}, TOTAL)


SPARK = share("spark", SHORT, parent="bigdata", weight=2, deserved={"cpu": "4"}, allocated={"cpu": "7"})
SOME = shares(
    share("db", CUT, deserved={"cpu": "6", "pods": "1"}, reserved={"requests.cpu": "8"}, hard={"requests.cpu": "8"}),
    SPARK,
    share("shop", parent="app", deserved={"cpu": "1", "memory": "2Gi"}, allocated={"cpu": "1"}),
    share("default"),
    buckets=(area("app", reserved={"cpu": "4"}), area("bigdata", deserved={"cpu": "6"}, allocated={"cpu": "7"})),
)


def lines(what: RenderableType, width: int = 400) -> list[str]:
    console = Console(file=StringIO(), width=width, highlight=False, no_color=True)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def line_of(shown: list[str], name: str) -> str:
    return next(line for line in shown if name in line)


def test_names_are_of_namespaces_and_buckets() -> None:
    both = shares(share("app"), buckets=(area("app"), area("bigdata")))

    assert [(one.name, one.is_bucket) for one in both.named(["app", "bigdata"])] == [
        ("app", False),
        ("app", True),
        ("bigdata", True),
    ]
    with pytest.raises(BadInput) as unknown:
        both.named(["bigdat"])
    assert str(unknown.value) == words.no_share("bigdat", shared.did_you_mean("bigdata"))


# -- for programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        pytest.param(
            share("a", deserved={"cpu": "2", "memory": "0", "pods": "3"}, allocated={"cpu": "0", "memory": "1Gi"}),
            {"deserved": {"cpu": "2", "memory": "0"}, "hard": {}, "reserved": {}, "allocated": {"memory": "1Gi"}},
            id="pods and zeros are left out, but for what is deserved of cpu and memory",
        ),
        pytest.param(
            share("a", deserved={"pods": "3"}, allocated={"pods": "1"}, hard={"pods": "3"}),
            {"deserved": {"pods": "3"}, "hard": {"pods": "3"}, "reserved": {}, "allocated": {"pods": "1"}},
            id="pods that are limited are told",
        ),
        pytest.param(
            share("a", deserved={"cpu": "2"}, ceiling={"cpu": "3"}, parent="b", weight=2),
            {
                "deserved": {"cpu": "2"},
                "hard": {},
                "reserved": {},
                "allocated": {},
                "ceiling": {"cpu": "3"},
                "parent": "b",
                "weight": 2,
            },
            id="what is lent, the bucket and the weight",
        ),
    ],
)
def test_the_document_of_a_namespace(found: AllocationShare, printed: dict[str, Any]) -> None:
    assert share_document(found) == printed


def test_the_document_says_who_is_overused_and_what_is_wrong() -> None:
    document = as_document(SOME)

    assert document["namespaces"]["spark"]["overused"] == {
        "since": "2027-01-15T07:58:30Z",
        "message": "holds 3 cpu more than it deserves",
    }
    [problem] = document["namespaces"]["db"]["problems"]
    assert (problem["type"], problem["reason"]) == ("Reserved", "ReservationsExceedCluster")
    assert document["buckets"]["app"]["weight"] == 2
    assert document["total"] == {"cpu": "10", "memory": "100Gi", "pods": "110"}


def test_limits_in_force_are_told_where_they_are_not_the_stated_ones() -> None:
    found = AllocationShare(
        "a", hard={"cpu": 1000}, stated_hard={"requests.cpu": "2"}, reserved={}, stated_reserved={"cpu": "1"}
    )

    printed = share_document(found)

    assert (printed["hard"], printed["hardInForce"]) == ({"requests.cpu": "2"}, {"cpu": "1"})
    assert (printed["reserved"], printed["reservedInForce"]) == ({"cpu": "1"}, {})


# -- for people -----------------------------------------------------------------------------------------------------


def test_namespaces_are_below_their_buckets() -> None:
    assert [(depth, one.name) for depth, one in in_tree(SOME)] == [
        (0, "app"),
        (1, "shop"),
        (0, "bigdata"),
        (1, "spark"),
        (0, "db"),
        (0, "default"),
    ]


def test_buckets_are_below_theirs() -> None:
    inner = replace(area("inner"), parent="top")
    found = shares(share("a", parent="inner"), share("b", parent="top"), share("c"), buckets=(inner, area("top")))

    shown = lines(as_table(found, PLAIN, NOW))

    assert [(depth, one.name) for depth, one in in_tree(found)] == [
        (0, "top"),
        (1, "inner"),
        (2, "a"),
        (1, "b"),
        (0, "c"),
    ]
    assert line_of(shown, "  └ a")
    assert lines(as_page(found, inner, PLAIN, NOW))[:3] == ["bucket      inner", "namespaces  a", "in bucket   top"]
    assert "buckets     inner" in lines(as_page(found, found.buckets["top"], PLAIN, NOW))


def test_a_table_shows_buckets_namespaces_and_what_is_wrong() -> None:
    shown = lines(as_table(SOME, PLAIN, NOW))

    assert line_of(shown, "bigdata").split()[:4] == ["bigdata", "(bucket)", "██████┃···", "7/6"]
    assert line_of(shown, "└ spark").endswith("for 90s")
    assert line_of(shown, "db !").split()[2:4] == ["▒▒▒▒▒▒▒▒┃▒", "0/6"]
    assert "db: Reserved: ReservationsExceedCluster: only 6 of 8 cpu can be kept" in shown
    assert words.idle(1, "holds and asks") in shown
    assert not any(line.startswith("default") for line in shown)


@pytest.mark.parametrize(
    ("found", "bar"),
    [
        pytest.param({"deserved": {"cpu": "5"}, "allocated": {"cpu": "3"}}, "███··┃···· 3/5", id="held and deserved"),
        pytest.param({"deserved": {"cpu": "5"}, "allocated": {"cpu": "10m"}}, "█····┃···· 0.01/5", id="a trifle shows"),
        pytest.param({"deserved": {"cpu": "2"}, "allocated": {"cpu": "6"}}, "██┃███···· 6/2", id="more than deserved"),
        pytest.param({"reserved": {"cpu": "4"}, "allocated": {"cpu": "2"}}, "┃█▒▒······ 2/0", id="kept and not held"),
        pytest.param(
            {"hard": {"cpu": "2"}, "deserved": {"cpu": "1"}, "allocated": {"cpu": "1"}},
            "█████┃···· 1/1",
            id="of a limit",
        ),
        pytest.param({"deserved": {"cpu": "10"}, "allocated": {"cpu": "10"}}, "█████████┃ 10/10", id="all there is"),
    ],
)
def test_a_bar_says(found: dict[str, dict[str, str]], bar: str) -> None:
    shown = lines(as_table(shares(share("a", **found)), PLAIN, NOW))

    assert bar in line_of(shown, "a ")


def test_what_nobody_has_divided_is_said() -> None:
    shown = lines(as_table(shares_of([Claim("a", "defaults")], [], [], TOTAL), PLAIN, NOW))

    assert "0/-" in line_of(shown, "a ")
    assert words.no_allocation_yet("namespace a has") in shown


def test_without_objects_that_is_said() -> None:
    assert lines(as_table(AllocationShares(), PLAIN, NOW)) == [words.NOTHING_IS_DIVIDED]


@pytest.mark.parametrize("width", [70, 99, 100, 139, 140, 180])
@pytest.mark.parametrize("unicode", [True, False])
def test_a_table_fits_its_terminal(width: int, unicode: bool) -> None:
    table = as_table(SOME, look_for(width, wide=False, unicode=unicode), NOW)

    shown = lines(table, width)

    assert max(map(cell_len, shown)) <= width
    assert line_of(shown, "spark").split()[-2:] == ["for", "90s"]
    assert unicode or "".join(shown).isascii()


def test_a_wide_table_spells_everything_out() -> None:
    shown = lines(as_table(SOME, look_for(400, wide=True, unicode=True), NOW))

    assert line_of(shown, "db !").split()[-4:] == ["cpu", "8", "cpu", "8"]
    assert any(line.startswith("default") for line in shown)


def test_a_page_tells_of_every_resource() -> None:
    gpu, storage = "nvidia.com/gpu", "requests.storage"
    found = share(
        "a", SHORT, CUT, parent="b", deserved={"cpu": "2", gpu: "1"}, hard={gpu: "4", storage: "10Gi", "pods": "5"}
    )

    shown = lines(as_page(shares(found), found, PLAIN, NOW))

    assert shown[:4] == ["namespace  a", "bucket     b", "weight     -", "overused   for 90s"]
    assert [line.split()[0] for line in shown[6:11]] == ["cpu", "memory", gpu, "pods", storage]
    assert line_of(shown, gpu).split()[-5:] == ["-", "1", "-", "4", "-"]
    assert shown[-2:] == [
        "Reserved: ReservationsExceedCluster: only 6 of 8 cpu can be kept",
        "Overused: HoldsMoreThanDeserved: holds 3 cpu more than it deserves",
    ]


def test_the_page_of_a_bucket_names_its_namespaces() -> None:
    bucket = SOME.buckets["bigdata"]

    shown = lines(as_page(SOME, bucket, PLAIN, NOW))

    assert shown[:2] == ["bucket      bigdata", "namespaces  spark"]
