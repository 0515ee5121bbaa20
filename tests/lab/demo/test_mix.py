"""What the demo submits."""

from __future__ import annotations

from collections import Counter

import pytest

from vsched.lab.demo.memory import EARLY, LATE
from vsched.lab.demo.mix import BACKLOG, CROWDS, NODE_CPUS, Mix


class TestTheMix:
    def test_the_same_seed_draws_the_same_gangs(self) -> None:
        first, again, other = (list(Mix(50, 10.0, seed).wanted({})) for seed in (7, 7, 8))
        assert first == again
        assert first != other

    @pytest.mark.parametrize("nodes", [1, 3, 20, 100, 1000])
    def test_a_gang_fits_the_share_of_the_smallest_queue_and_its_pods_a_node(self, nodes: int) -> None:
        mix = Mix(nodes, 10.0, 1)
        for gang, objects in mix.wanted({}):
            assert len(objects) == 1 + len(gang.pods)
            assert gang.cpus <= NODE_CPUS
            assert gang.cpus * len(gang.pods) <= max(1, mix.cpus // 7)

    def test_each_namespace_asks_for_a_little_more_than_its_backlog_in_each_queue(self) -> None:
        mix = Mix(100, 10.0, 1)
        asked: Counter[tuple[str, str]] = Counter()
        for gang, _ in mix.wanted({}):
            asked[gang.queue, gang.namespace] += gang.cpus * len(gang.pods)
        assert asked.keys() == {(crowd.queue, name) for crowd in CROWDS if crowd.gangs for name in crowd.namespaces}
        assert min(asked.values()) > BACKLOG * mix.cpus
        assert list(mix.wanted(asked)) == []

    def test_a_single_pod_names_its_queue_and_has_no_podgroup(self) -> None:
        gang, objects = Mix(100, 10.0, 1).single()
        assert gang.key == gang.pods[0]
        assert objects[0]["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] == gang.queue == "interactive"

    def test_a_queue_that_begins_later_asks_for_nothing_until_then(self) -> None:
        mix = Mix(20, 30.0, 1, (EARLY, LATE))
        assert {gang.queue for gang, _ in mix.wanted({}, 7.4)} == {"early"}
        assert {gang.queue for gang, _ in mix.wanted({}, 7.6)} == {"early", "late"}
        assert mix.singles_per_second == 0.0
        assert {one["kind"] for one in mix.setting()} == {"Queue", "Namespace", "ResourceQuota"}
