"""Claims that one pod may use at a time (ReadWriteOncePod)."""

from __future__ import annotations

from tests.support.storage_world import StorageWorld, ask, within
from vsched.framework.words.nodes import VOLUME_IN_USE

ONCE = ("ReadWriteOncePod",)


def world() -> StorageWorld:
    return StorageWorld(n1="a", n2="b").bound("c", modes=ONCE).storage_class("csi")


def test_a_claim_that_no_pod_uses_is_free() -> None:
    made = world()
    assert ask(made, made.task("p", "c")).nodes() == "n1 n2"


def test_a_claim_in_use_serves_no_other_pod_on_any_node() -> None:
    made = world()
    made.running("r", "n1", "c")
    asked = ask(made, made.task("p", "c"))
    assert asked.reasons() == {VOLUME_IN_USE: "n1 n2"}


def test_evicting_its_user_frees_the_claim_and_only_the_node_of_the_user_is_searched_for_victims() -> None:
    made = world()
    user = made.running("r", "n1", "c")
    handler = made.handler()
    asked = ask(made, made.task("p", "c"), handler)
    curable = [not check.resolvable and not check.passes[row] for row in (0, 1) for check in handler.checks(asked.task)]
    assert curable == [False, False, True, False]
    handler.evict(user, 0)
    assert (asked.nodes(), asked.nodes(later=True)) == ("", "n1 n2")
    handler.restore(user, 0)
    assert asked.nodes(later=True) == ""


def test_a_claim_whose_user_is_leaving_is_free_later() -> None:
    made = world()
    made.running("r", "n1", "c", leaving=True)
    handler = made.handler()
    asked = ask(made, made.task("p", "c"), handler)
    assert (asked.nodes(), asked.nodes(later=True)) == ("", "n1 n2")
    asked.take("n2", later=True)
    other = ask(made, made.task("q", "c"), handler)
    assert (other.nodes(), other.nodes(later=True)) == ("", "")
    handler.give_back(asked.task, 1)
    assert (other.nodes(), other.nodes(later=True)) == ("", "n1 n2")


def test_of_the_pods_of_a_session_one_gets_the_claim() -> None:
    made = world()
    handler = made.handler()
    first = ask(made, made.task("p", "c"), handler).take("n1")
    second = ask(made, made.task("q", "c"), handler)
    assert second.reasons() == {VOLUME_IN_USE: "n1 n2"}
    had = handler.withdraw(first.task, 0)
    assert second.nodes() == "n1 n2"
    handler.reinstate(first.task, 0, had)
    assert second.nodes() == ""
    handler.give_back(first.task, 0)
    assert second.nodes() == "n1 n2"


def test_a_pod_may_mount_its_claim_twice() -> None:
    made = world()
    asked = ask(made, made.task("p", "c", "c"))
    assert asked.nodes() == "n1 n2"
    asked.take("n1")


def test_several_users_must_all_leave() -> None:
    made = world()
    users = [made.running("r1", "n1", "c"), made.running("r2", "n2", "c")]
    handler = made.handler()
    asked = ask(made, made.task("p", "c"), handler)
    handler.evict(users[0], 0)
    assert asked.nodes(later=True) == ""
    handler.evict(users[1], 1)
    assert asked.nodes(later=True) == "n1 n2"


def test_a_user_on_a_node_that_is_not_known_uses_the_claim() -> None:
    made = world()
    made.running("r", "gone", "c")
    assert ask(made, made.task("p", "c")).reasons() == {VOLUME_IN_USE: "n1 n2"}


def test_other_reasons_stay_beside_it() -> None:
    made = world().bound("d", affinity=within("b"))
    made.running("r", "n1", "c")
    handler = made.handler()
    handler.evict(made.tasks[0], 0)
    assert ask(made, made.task("p", "c", "d"), handler).nodes(later=True) == "n2"


def test_claims_that_wait_for_their_first_pod_can_be_used_once_too() -> None:
    made = world().claim("new", "csi", modes=ONCE)
    handler = made.handler()
    assert ask(made, made.task("p", "new"), handler).take("n1").chosen() == {"new": "*"}
    assert ask(made, made.task("q", "new"), handler).nodes() == ""
