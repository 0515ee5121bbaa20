"""Cooperative eviction: a pod that opts in is asked to end by itself, by a deadline, before it is evicted.

A condition in the status of the pod is the request: when it was asked, why, and until when. So any daemon goes on with
what an earlier one has begun, and nobody but vsched can make, renew or withdraw a request. Annotations of the pod tell
its owner, and have the owner's answers.
Responders of a pod (``spec.evictionResponders``) are asked by an EvictionRequest as well, Kubernetes' own kind of
object for that, and answer in the status of the Eviction that Kubernetes makes for it.
"""

from __future__ import annotations

import msgspec

from vsched.model.marks import Sentence, Word

COOPERATIVE_EVICTION = "vsched.io/cooperative-eviction"
"""Annotation of pods and PodGroups: they end by themselves when asked; how long to wait for that at most."""
ASKED = "vsched.io/EvictionRequested"
"""Condition of a pod that was asked: since when, and in its message the reason and the deadline."""
UNTIL = ", until "
"""Between the reason and the deadline in the message of the condition."""
REQUESTED = "vsched.io/eviction-requested"
"""Annotation that asks a pod to end: when it was asked."""
DEADLINE = "vsched.io/eviction-deadline"
"""Annotation of a pod that was asked: when it is evicted at the latest."""
REASON = "vsched.io/eviction-reason"
"""Annotation of a pod that was asked: the action, and the job that gets the room (``reclaim for team/train``)."""
EXPECTED = "vsched.io/eviction-expected"
"""The answer: an annotation by the pod's owner that says when it expects to be done."""
READY = "vsched.io/eviction-ready"
"""The answer ``true``: nothing is lost any more, the pod may be evicted now."""
FOR = " for "
"""Between the action and the job in a reason."""

REQUEST_ANNOTATIONS = (REQUESTED, DEADLINE, REASON, EXPECTED, READY)
"""What is removed when a request is withdrawn."""


class ResponderAnswer(msgspec.Struct, frozen=True):
    """What the responders of a pod say in the status of its Eviction."""

    expected: float = 0.0
    """When the active responder expects to be done, seconds since the epoch; 0 where it does not say."""
    done: bool = False
    """Whether all responders are done, so that nobody saves anything any more."""
    message: Sentence = ""
    """What the active responder says of its progress."""


NO_ANSWER = ResponderAnswer()


class EvictionRequest(msgspec.Struct, frozen=True):
    """A request that a pod ends by itself; times are seconds since the epoch."""

    at: float
    """When the pod was asked."""
    deadline: float
    """When it is evicted, if it still runs."""
    action: Word = ""
    beneficiary: str = ""
    """Key of the job that gets the room; empty where there is none."""
    expected: float = 0.0
    """When its owner expects it to be done; 0 without an answer."""
    ready: bool = False
    """Whether its owner says that it may be evicted now."""
    told: bool = True
    """Whether its annotations say that it was asked."""
    answer: ResponderAnswer = NO_ANSWER
    """What the responders of the pod say; it counts before what the annotations say."""

    @property
    def expects(self) -> float:
        """When its responder, else its owner, expects it to be done; 0 without an answer."""
        return self.answer.expected or self.expected

    @property
    def may_go(self) -> bool:
        """Whether it may be evicted now."""
        return self.ready or self.answer.done

    @property
    def end(self) -> float:
        """When the pod has ended, as far as is known: what is expected, and the deadline at the latest."""
        return min(self.expects or self.deadline, self.deadline)
