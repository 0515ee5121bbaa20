"""Problems of objects that state what no plugin of the policy acts on, as objects and policies come and go."""

from __future__ import annotations

from tests.support.plans import Manifest, manifests, mirror, policy_of
from vsched.api.manifests import Origin, decode_manifests
from vsched.mirror.problems import NO_PLUGIN, PROBLEMS_LIMIT
from vsched.mirror.unserved import UnservedTerms
from vsched.mirror.whatif.paper import PaperMirror
from vsched.settings.installed import registry

CLUSTER = "node n1 cpu=8\nqueue default\nqueue q capability=cpu:2\njob ns/g min=2 pods=2 cpu=1 queue=q\n"


class World:
    """A mirror, and a policy in force over it."""

    def __init__(self, objects: str | list[Manifest], *tiers: str) -> None:
        self.mirror: PaperMirror = mirror(manifests(objects) if isinstance(objects, str) else objects)
        self.policy = policy_of(*tiers)
        self._terms = UnservedTerms(self.mirror.unserved, registry(), lambda: self.policy)

    def told(self) -> dict[tuple[str, str], str]:
        for _ in self._terms.looking(self.mirror.snapshot(0.0)):
            pass
        assert all(found.reason == NO_PLUGIN and not found.left_out for found in self.mirror.unserved.values())
        return {key: found.message.partition(": the policy")[0] for key, found in self.mirror.unserved.items()}


BOTH = {("Queue", "q"): "Queue q: spec.capability", ("PodGroup", "ns/g"): "PodGroup ns/g: spec.minMember"}


def test_the_owners_are_told_until_the_policy_acts_on_it() -> None:
    world = World(CLUSTER, "priority")
    assert world.told() == BOTH
    assert world.told() == BOTH, "nothing changed"
    world.policy = policy_of("priority gang")
    assert world.told() == {("Queue", "q"): BOTH["Queue", "q"]}
    world.policy = policy_of("priority gang", "proportion")
    assert world.told() == {}


def test_objects_that_change_or_go_are_told_of_no_more() -> None:
    world = World(CLUSTER, "priority")
    assert world.told() == BOTH
    left = decode_manifests([(Origin("text", "0"), one) for one in manifests("queue default\nqueue q")]).objects
    for kind in ("PodGroup", "Pod", "Queue"):
        world.mirror.intake.replace(kind, left.get(kind, ()))
    assert world.told() == {}


def test_a_pod_without_a_group_is_told_itself() -> None:
    (pod,) = manifests("pods ns/web 1 port=80")
    del pod["metadata"]["annotations"]
    (said,) = World([pod], "priority").told().values()
    assert said == "Pod ns/web.0: spec.containers[].ports[].hostPort"


def test_the_table_is_bounded() -> None:
    many = "".join(f"queue q{number} priority=1\n" for number in range(PROBLEMS_LIMIT + 10))
    world = World(f"queue default\n{many}", "gang")
    assert len(world.told()) == PROBLEMS_LIMIT
