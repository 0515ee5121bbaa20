"""What ``vsched shadow report`` says."""

from __future__ import annotations

from vsched.cli.shadow import words

SENTENCES = [
    (words.LOG_OR_DAEMON, "--log: read a log or ask a daemon (expected --log FOLDER or --daemon URL, not both)"),
    (words.TITLE, "What would be different here"),
    (words.STARTS, "Starts"),
    (words.WAITING, "Gangs that wait there and would have started here"),
    (words.LATER, "Gangs that started later there"),
    (words.WAITS_HERE, "Gangs that started there and would wait here"),
    (words.WOULD_EVICT, "Gangs that run there and would lose pods here"),
    (words.IN_VAIN, "Evictions there in vain"),
    (words.PARTIAL, "Gangs that held nodes there without their minimum"),
    (words.IDLE, "Nodes idle there that had work here"),
    (words.QUEUES, "Queues: share of what they deserve by the candidate policy"),
    (words.OVER_DAYS, "How sure these sums are"),
    (words.FIGURES["later"], "starts later than here"),
    (words.FIGURES["later_seconds"], "how much later, together"),
    (words.FIGURES["waits_here"], "starts of gangs that would wait here"),
    (words.FIGURES["would_evict_pods"], "pods evicted here"),
    (words.FIGURES["in_vain"], "evictions in vain"),
    (words.FIGURES["partials"], "gangs held without their minimum"),
    (words.resampled(9), "95 in 100 resamples of 9 days are between low and high"),
    (words.LIMITS, "What this cannot know"),
    (words.START_LATER, "later than here"),
    (words.START_ALIKE, "as soon as here"),
    (words.START_WAITS_HERE, "there, and would wait here"),
    (words.START_UNSEEN, "not compared: not seen waiting as it started"),
    (words.NONE, "none"),
    (words.about("volcano", "1a2b"), "pods of volcano; candidate policy 1a2b"),
    (words.over("a", "b", "2d"), "from a to b (2d)"),
    (words.not_seen(1, "5m"), "not seen: 5m in 1 gap"),
    (words.not_seen(2, "5m"), "not seen: 5m in 2 gaps"),
    (words.later_together("3h"), "together 3h later"),
    (words.more(1200), "and 1,200 more"),
    (words.of_all(100, 1200), "100 of 1,200"),
    (words.evictions(1, 12), "1 of 12 evictions"),
    (words.pods_together(1), "1 pod in all"),
    (words.pods_together(1200), "1,200 pods in all"),
    (words.gangs_together(1, "3h"), "1 gang, together 3h"),
    (words.gangs_together(2, "3h"), "2 gangs, together 3h"),
    (words.written("report.html"), "wrote report.html"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
