"""What the API server said to bindings that failed, and the nodes that pods are kept from for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import builders as make
from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, manifests, mirror, policy_of
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.words.nodes import REFUSED as REFUSED_NODES
from vsched.mirror.state.refused_bindings import FIRST_SECONDS, LONGEST, NODES_MAX, RefusedBindings
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY


def test_the_last_word_stays_until_the_pod_is_bound() -> None:
    refused = RefusedBindings()
    refused.note("a", "no")
    before = refused.publish()
    assert refused.publish() is before, "nothing is new"
    refused.note("a", "no again")
    refused.note("b", "not you")
    assert (before, refused.publish()) == ({"a": "no"}, {"a": "no again", "b": "not you"})
    refused.drop("a")
    refused.drop("nobody")
    assert refused.publish() == {"b": "not you"}
    refused.drop("b")
    assert refused.publish() == {}


def test_those_that_were_refused_longest_ago_are_forgotten_and_long_answers_cut() -> None:
    refused = RefusedBindings(remembered=2)
    for uid in ("a", "b", "a", "c"):
        refused.note(uid, "x" * 2 * LONGEST)
    found = refused.publish()
    assert list(found) == ["a", "c"]
    assert {len(message) for message in found.values()} == {LONGEST}


def test_a_pod_is_kept_from_a_bounded_number_of_nodes_and_from_those_that_refused_it_last() -> None:
    refused = RefusedBindings()
    for number in range(NODES_MAX + 2):
        refused.note("a", "no", f"n{number:03}")
    nodes = refused.nodes("a")
    assert (len(nodes), nodes[0], nodes[-1]) == (NODES_MAX, "n002", f"n{NODES_MAX + 1}")
    assert (refused.forget_node("n000"), refused.forget_node("n002")) == ([], ["a"])
    assert len(refused.nodes("a")) == NODES_MAX - 1


def test_a_pod_is_kept_from_nodes_for_longer_with_each_refusal() -> None:
    refused, at, waits = RefusedBindings(), 0.0, list[float]()
    for _ in range(9):
        refused.note("a", "no", "n1", at)
        waits.append(next(seconds for seconds in range(1000) if refused.expire(at + seconds)))
        at += waits[-1]
        assert refused.nodes("a") == ()
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert refused.publish() == {"a": "no"}, "until it is bound"


def test_all_nodes_of_a_pod_may_be_tried_again_together_some_time_after_its_last_refusal() -> None:
    refused = RefusedBindings()
    refused.note("a", "no", "n1", 0.0)
    refused.note("b", "no", "n1", 1.0)
    refused.note("a", "no", "n2", 2.0)
    assert refused.expire(1.0 + FIRST_SECONDS) == ["b"]
    assert refused.nodes("a") == ("n1", "n2")
    assert refused.expire(2.0 + 2 * FIRST_SECONDS) == ["a"]
    assert refused.nodes("a") == ()


def test_nodes_that_refuse_a_pod_one_after_the_other_count_as_one_refusal() -> None:
    """A webhook that fails for a second does not keep pods waiting for minutes."""
    refused = RefusedBindings()
    for number in range(20):
        refused.note("a", "no", f"n{number}", number / 20)
    assert refused.expire(1.0 + FIRST_SECONDS) == ["a"]
    refused.note("a", "no", "n0", 10.0)
    refused.note("a", "no", "n0", 11.0)
    assert (refused.expire(11.0 + 2 * FIRST_SECONDS), refused.expire(11.0 + 4 * FIRST_SECONDS)) == ([], ["a"])


class World:
    """A mirror whose sessions decide bindings, of which the test says what became."""

    def __init__(self, text: str, policy: str = "") -> None:
        self.objects = manifests(text)
        self.cache = mirror(self.objects)
        self.policy = policy_of(policy) if policy else DEFAULT_POLICY
        self.now = NOW

    def session(self, seconds: float = 0.1) -> CycleReport:
        self.now += seconds
        report = run_cycle(self.cache.snapshot(self.now), self.policy, REGISTRY)
        self.cache.assumptions.assume(report)
        return report

    def nodes(self, report: CycleReport) -> dict[str, str]:
        return {bind.name: bind.node for bind in report.binds}

    def refuse(self, report: CycleReport, name: str = "", *, for_good: bool = False) -> None:
        """Admission refuses these bindings; ``for_good``: the pods keep their nodes, as they do while they wait."""
        for bind in report.binds:
            if bind.name.startswith(name):
                self.cache.assumptions.binding_refused(bind.uid, f"on {bind.node}: not for such pods", bind.node)
                if not for_good:
                    self.cache.assumptions.forget(bind.uid)

    def find(self, kind: str, name: str) -> Manifest:
        return next(one for one in self.objects if (one["kind"], one["metadata"]["name"]) == (kind, name))

    def tell(self, found: Manifest, change: Manifest) -> None:
        version = {"metadata": {"resourceVersion": "9"}}
        self.cache.intake.apply(found["kind"], "MODIFIED", make.read(make.merged(make.merged(found, change), version)))


TWO_NODES = """
    node n1 cpu=4
    node n2 cpu=4
    job ns/g min=2 pods=2 cpu=3
"""


@pytest.mark.parametrize("plugins", ["", "gang"], ids=["by default", "with a policy that filters no nodes"])
def test_a_pod_goes_to_another_node_than_the_one_that_admission_refuses(plugins: str) -> None:
    world = World("node n1 cpu=4\nnode n2 cpu=4\njob ns/g min=1 pods=1 cpu=1", plugins)
    first = world.session()
    refused = world.nodes(first)["g.0"]
    world.refuse(first)
    found = world.session()
    assert world.nodes(found) == {"g.0": {"n1": "n2", "n2": "n1"}[refused]}


def test_only_the_pod_that_was_refused_is_kept_from_the_node() -> None:
    world = World(TWO_NODES)
    first = world.session()
    one, other = world.nodes(first).values()
    assert one != other
    world.refuse(first)
    assert world.nodes(world.session()) == {"g.0": other, "g.1": one}


def test_what_admission_said_is_told_where_no_other_node_has_room() -> None:
    world = World("node n1 cpu=4\nnode n2 cpu=1\njob ns/g min=1 pods=1 cpu=3")
    world.refuse(world.session())
    found = world.session()
    told = found.jobs["ns/g"].message
    assert "1 is refused by admission" in told
    assert told.endswith("on n1: not for such pods")
    assert found.unschedulable["ns/g.0"].message.endswith("; on n1: not for such pods")
    assert found.unschedulable["ns/g.0"].reasons == {REFUSED_NODES: 1, "Insufficient cpu": 1}


def test_a_gang_with_a_pod_that_is_refused_its_node_is_not_scheduled() -> None:
    world = World(TWO_NODES)
    world.refuse(world.session(), "g.1", for_good=True)
    found = world.session()
    condition = next(one for one in found.jobs["ns/g"].conditions if one.status == "True")
    assert (condition.kind, condition.reason) == ("Unschedulable", "BindingRefused")
    assert "g.1: on n" in condition.message
    verdict = found.unschedulable["ns/g.1"]
    assert (verdict.reason, verdict.message[:4], *found.unschedulable) == (Code.BINDING, "on n", "ns/g.1")


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize("refused", [False, True])
def test_nobody_is_evicted_on_a_node_that_admission_refuses(action: str, refused: bool) -> None:
    world = World("""
        class high 1000
        class low 1
        node n1 cpu=4
        job ns/low min=1 phase=Running class=low
        pods ns/low 2 cpu=2 on=n1
        job ns/high min=1 pods=1 cpu=2 class=high
    """)
    world.policy = policy_of(
        "priority gang", "predicates proportion nodeorder", actions=f"enqueue, allocate, {action}, backfill"
    )
    (high,) = world.cache.snapshot(world.now).jobs["ns/high"].tasks
    if refused:
        world.cache.assumptions.binding_refused(high, "on n1: not for such pods", "n1")
    assert len(world.session().evictions) == (0 if refused else 1)


def _relabelled(world: World) -> None:
    world.tell(world.find("Pod", "g.0"), {"metadata": {"labels": {"allowed": "yes"}}})


def _node_relabelled(world: World) -> None:
    world.tell(world.find("Node", "n1"), {"metadata": {"labels": {"allows": "all"}}})


def _node_made_anew(world: World) -> None:
    node = world.find("Node", "n1")
    world.cache.intake.apply("Node", "DELETED", make.read(node))
    world.tell(node, {})


def _time_passes(world: World) -> None:
    world.now += FIRST_SECONDS


def _nothing(world: World) -> None:
    pass


def _told_again(world: World) -> None:
    world.tell(world.find("Pod", "g.0"), {"metadata": {"annotations": {"example.com/seen": "yes"}}})
    world.tell(world.find("Node", "n1"), {"status": {"images": [{"names": ["busybox:1"], "sizeBytes": 1}]}})


@pytest.mark.parametrize(
    ("change", "bound"),
    [
        pytest.param(_nothing, False, id="nothing has changed"),
        pytest.param(_told_again, False, id="the objects come again, with an image more"),
        pytest.param(_relabelled, True, id="the pod has other labels"),
        pytest.param(_node_relabelled, True, id="the node has other labels"),
        pytest.param(_node_made_anew, True, id="another node has the name"),
        pytest.param(_time_passes, True, id="long after"),
    ],
)
def test_a_node_is_tried_again_if(change: Callable[[World], None], bound: bool) -> None:
    world = World("node n1 cpu=4\njob ns/g min=1 pods=1 cpu=1")
    world.refuse(world.session())
    assert not world.session().binds
    change(world)
    assert bool(world.session().binds) == bound


def test_nothing_is_left_of_a_refusal_once_the_pod_is_bound_elsewhere() -> None:
    world = World("node n1 cpu=4\nnode n2 cpu=4\njob ns/g min=1 pods=1 cpu=1")
    before = world.cache.snapshot(NOW).jobs["ns/g"].tasks
    world.refuse(world.session())
    (bind,) = world.session().binds
    world.cache.assumptions.binding_settled(bind.uid)
    (task,) = world.cache.snapshot(world.now).jobs["ns/g"].tasks.values()
    assert task.shape is before[task.uid].shape
    assert not world.cache.snapshot(world.now).setbacks
