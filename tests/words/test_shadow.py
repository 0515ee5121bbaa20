"""What is said of a comparison."""

from __future__ import annotations

from vsched.shadow import words


def test_sentences() -> None:
    assert words.LIMITS == (
        "Each decision here is made from the state that the scheduler in charge has made: effects that build up over "
        "several decisions are not seen.",
        "How long a gang would have run here, and what its end would have let start, is not known.",
        "Pods that a controller creates only once their PodGroup is admitted are not seen before the scheduler in "
        "charge admits it.",
        "A gang that starts before it was seen waiting with all of its pods is not compared: it counts as unseen.",
        "An eviction is recognized by the condition of the pod, whoever asked for it: a drained node counts, too.",
        "An eviction counts as in vain only if a pod of the victim's gang is back and no gang that was waiting has "
        "started on its node: others may have been in vain as well.",
    )
