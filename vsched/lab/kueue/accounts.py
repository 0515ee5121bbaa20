"""What is counted while a generator of Kueue runs: how long workloads wait, and what their queues use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vsched.lab.kueue.generator import Arrival, ClusterQueue


class KueueAccounts:
    """Counts by class, as Kueue's own test does.

    The time to admission is from the creation of a workload to its last admission: where it was evicted, the wait
    counts that follows as well. Used is the CPU of admitted workloads, from the first moment to the last end.
    """

    def __init__(self, queues: Sequence[ClusterQueue], arrivals: Sequence[Arrival]) -> None:
        self._nominal: Counter[str] = Counter()
        for queue in queues:
            self._nominal[queue.terms.class_name] += queue.terms.nominal_milli
        self._counts = Counter(arrival.template.class_name for arrival in arrivals)
        self._used: Counter[str] = Counter()
        """Thousandths of a CPU times milliseconds, by class of queues."""
        self._waited: dict[int, int] = {}
        """Milliseconds to the last admission, by number of the workload."""
        self._waits: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._since: dict[int, int] = {}
        """When running workloads started, by number."""
        self.evictions: Counter[str] = Counter()
        """By class of workloads."""
        self.created = self.running = self.ended = 0
        self.wall_ms = 0
        """When the last workload ended."""

    def arrive(self) -> None:
        """A workload was created."""
        self.created += 1

    def start(self, arrival: Arrival, number: int, now_ms: int) -> None:
        """All pods of a workload have nodes."""
        wait = now_ms - arrival.at_ms
        self._waits[arrival.template.class_name] += wait - self._waited.get(number, 0)
        self._waited[number] = wait
        self._since[number] = now_ms
        self.running += 1

    def end(self, arrival: Arrival, number: int, now_ms: int) -> None:
        """A running workload has ended."""
        self._stop(arrival, number, now_ms)
        self.ended += 1
        self._ended[arrival.template.class_name] += 1
        self.wall_ms = max(self.wall_ms, now_ms)

    def evict(self, arrival: Arrival, number: int, now_ms: int) -> None:
        """A running workload waits again."""
        self._stop(arrival, number, now_ms)
        self.evictions[arrival.template.class_name] += 1

    def _stop(self, arrival: Arrival, number: int, now_ms: int) -> None:
        template = arrival.template
        self.running -= 1
        held = template.cpu_milli * template.pods * (now_ms - self._since.pop(number))
        self._used[arrival.queue.terms.class_name] += held

    def usage_percent(self) -> dict[str, float | None]:
        """What each class of queues used of its nominal quota, by class."""
        return {
            name: 100.0 * self._used[name] / (nominal * self.wall_ms) if nominal and self.wall_ms else None
            for name, nominal in self._nominal.items()
        }

    def mean_wait_ms(self) -> dict[str, float | None]:
        """The mean time to admission of each class of workloads; None where one of them did not end."""
        return {
            name: self._waits[name] / count if self._ended[name] == count else None
            for name, count in sorted(self._counts.items())
        }
