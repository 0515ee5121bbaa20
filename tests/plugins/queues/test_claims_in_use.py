"""Which claims the pods of a queue use: what follows from the record of changes is what a look at everything finds."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support.devices import DRIVER, pod_claims, request, resource_claim
from tests.support.examples import examples
from tests.support.mirrors import World
from vsched.model.claims.quota import DeviceAmount
from vsched.model.frozen import freeze
from vsched.model.plan import Bind, CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins.queues.claims_in_use import Paths, QueueUse, claims_in_use

Fields = make.Fields
TREE: Paths = {"q": ("q", "top"), "r": ("r", "top")}
DEVICES = DeviceAmount(DRIVER)


def user(name: str, *claims: str, job: str = "a", node: str = "n1") -> Fields:
    """A pod that names claims."""
    named = pod_claims(**{f"c{at}": claim for at, claim in enumerate(claims)})
    return make.pod(name, group=job, node=node, spec={"resourceClaims": named})


def claim(name: str, count: int = 1) -> Fields:
    return resource_claim(name, request(count=count))


def group(name: str, queue: str) -> Fields:
    return make.pod_group(name, spec={"queue": queue})


def in_use(snapshot: Snapshot, paths: Paths = TREE) -> dict[str, QueueUse]:
    return claims_in_use(snapshot.claims.devices, snapshot.jobs, paths)


def held(world: World, paths: Paths = TREE) -> dict[str, int]:
    """How many devices the claims in each queue ask for."""
    return {queue: use.held[DEVICES] // 1000 for queue, use in in_use(world.snapshot(), paths).items()}


def world(*objects: Fields) -> World:
    first = (make.node("n1"), make.queue("q"), make.queue("r"), group("a", "q"), group("b", "r"))
    return World(*first, claim("x"), claim("y", 2), *objects)


def test_a_claim_that_two_queues_share_counts_in_both_and_once_above() -> None:
    seen = world(user("p", "x", "y"), user("q", "x", job="b"), user("r", "x", job="b"))
    assert held(seen) == {"q": 3, "r": 1, "top": 3}
    assert in_use(seen.snapshot())["top"].users == {"ns/x": 3, "ns/y": 1}


def test_a_job_that_moves_to_another_queue_takes_its_claims_along() -> None:
    seen = world(user("p", "x", "y"))
    assert held(seen) == {"q": 3, "r": 0, "top": 3}
    seen.add(group("a", "r"))
    assert held(seen) == {"q": 0, "r": 3, "top": 3}
    seen.delete(group("a", "r"))
    assert held(seen) == {"q": 0, "r": 0, "top": 0}


def test_a_claim_that_comes_after_its_user_counts_from_then_on() -> None:
    seen = world(user("p", "late"))
    assert held(seen)["q"] == 0
    seen.add(claim("late", 4))
    assert held(seen)["q"] == 4
    seen.delete(claim("late"))
    assert held(seen)["q"] == 0


def test_other_quotas_count_by_other_paths() -> None:
    seen = world(user("p", "x"))
    assert held(seen, {"q": ("q",)}) == {"q": 1}
    assert held(seen, {"q": ("top",)}) == {"top": 1}
    assert held(seen, {"r": ("r",)}) == {"r": 0}
    assert held(seen, {"q": ("q",)}) == {"q": 1}


def test_what_one_session_changes_is_not_what_the_next_begins_with() -> None:
    seen = world(user("p", "x"))
    mine = in_use(seen.snapshot())["q"]
    mine.users.clear()
    mine.held.clear()
    assert in_use(seen.snapshot())["q"] == QueueUse({"ns/x": 1}, {DEVICES: 1000})


def test_an_older_snapshot_keeps_what_was_in_use() -> None:
    seen = world(user("p", "x"))
    older = freeze(seen.snapshot())
    seen.add(user("q", "y"))
    assert held(seen)["q"] == 3
    assert in_use(older)["q"].users == {"ns/x": 1}
    assert held(seen)["q"] == 3


def test_only_claims_that_changed_are_counted_again() -> None:
    seen = world(*(user(f"p{number}", f"c{number}") for number in range(50)))
    before = seen.snapshot().claims.devices.changes
    seen.delete(user("p0", "c0"))
    seen.add(claim("c1"), claim("unused"))
    after = seen.snapshot().claims.devices.changes
    assert before is not None
    assert after is not None
    assert after.since(before) == {"ns/c0", "ns/c1"}


names = st.sampled_from("ab")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), st.builds(user, names, names, st.sampled_from("xy"), job=names)),
        st.tuples(st.just("pod"), st.builds(user, names, names, job=names, node=st.just(""))),
        st.tuples(st.just("gone"), st.builds(user, names)),
        st.tuples(st.just("pod"), st.builds(group, names, st.sampled_from("qr"))),
        st.tuples(st.just("gone"), st.builds(group, names, st.just("q"))),
        st.tuples(st.just("pod"), st.builds(claim, names, st.integers(1, 2))),
        st.tuples(st.just("gone"), st.builds(claim, names)),
        st.tuples(st.just("bind"), names),
        st.tuples(st.just("forget"), names),
        st.tuples(st.sampled_from(["look", "look", "frozen"]), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=examples(100), deadline=None)
@given(STEPS)
def test_whatever_happens_sessions_begin_with_what_is_in_use(steps: list[tuple[str, Fields | str | None]]) -> None:
    seen, frozen = world(), None
    for kind, what in steps:
        match kind, what:
            case "pod", dict():
                seen.add(what)
            case "gone", dict():
                seen.delete(what)
            case "bind", str():
                seen.cache.assumptions.assume(CycleReport(binds=(Bind(f"uid-{what}", "ns", what, "n1", "ns/a"),)))
            case "forget", str():
                seen.cache.assumptions.forget(f"uid-{what}")
            case "frozen", _:
                frozen = frozen or freeze(seen.snapshot())
                assert_as_fresh(frozen)
            case _:
                assert_as_fresh(seen.snapshot())
    assert_as_fresh(seen.snapshot())


def assert_as_fresh(snapshot: Snapshot) -> None:
    alone = claims_in_use(replace(snapshot.claims.devices, changes=None), snapshot.jobs, TREE)
    assert in_use(snapshot) == alone
