"""The arguments of the extender plugin."""

from __future__ import annotations

from typing import Annotated, Self
from urllib.parse import urlsplit

import msgspec

from vsched.framework.callout import CalloutEndpoint
from vsched.plugins.words import arguments

Verb = Annotated[str, msgspec.Meta(pattern="^[!-~]*$")]
"""What is appended to the prefix; empty where it is not asked."""


Wait = Annotated[float, msgspec.Meta(gt=0, extra={"duration": True})]
"""A length of time that is more than nothing."""


class ExtenderArgs(msgspec.Struct, frozen=True):
    """Where the extender is, what it is asked, and what holds while it does not answer."""

    url_prefix: str = msgspec.field(default="", name="extender.urlPrefix")
    """``http(s)://host[:port][/path]``."""
    timeout_seconds: Wait = msgspec.field(default=1.0, name="extender.httpTimeout")
    """For one call, from its start to the last byte of its answer."""
    cycle_seconds: Wait = msgspec.field(default=5.0, name="extender.cycleTimeout")
    """For all calls of one cycle together; what is asked after that counts as not answered. Not known to Volcano."""
    ignorable: bool = msgspec.field(default=False, name="extender.ignorable")
    """Whether scheduling goes on as if there were no extender while it does not answer."""
    managed_resources: tuple[str, ...] = msgspec.field(default=(), name="extender.managedResources")
    """Pods that ask for none of these are no business of the extender's; empty where all are."""
    session_open_verb: Verb = msgspec.field(default="", name="extender.onSessionOpenVerb")
    """Is sent the cluster in full, in every cycle."""
    session_close_verb: Verb = msgspec.field(default="", name="extender.onSessionCloseVerb")
    predicate_verb: Verb = msgspec.field(default="", name="extender.predicateVerb")
    prioritize_verb: Verb = msgspec.field(default="", name="extender.prioritizeVerb")
    preemptable_verb: Verb = msgspec.field(default="", name="extender.preemptableVerb")
    reclaimable_verb: Verb = msgspec.field(default="", name="extender.reclaimableVerb")
    queue_overused_verb: Verb = msgspec.field(default="", name="extender.queueOverusedVerb")
    job_enqueueable_verb: Verb = msgspec.field(default="", name="extender.jobEnqueueableVerb")
    job_enqueued_verb: Verb = msgspec.field(default="", name="extender.jobEnqueuedVerb")
    job_ready_verb: Verb = msgspec.field(default="", name="extender.jobReadyVerb")
    allocate_verb: Verb = msgspec.field(default="", name="extender.allocateFuncVerb")
    deallocate_verb: Verb = msgspec.field(default="", name="extender.deallocateFuncVerb")

    def normalised(self) -> Self:
        """The prefix without a slash at its end; ValueError where it is no address, or verbs have none."""
        if not self.url_prefix:
            if any(getattr(self, name) for name in self.__struct_fields__ if name.endswith("_verb")):
                raise ValueError(arguments.NO_URL_PREFIX)
            return self
        if not _is_address(self.url_prefix):
            raise ValueError(arguments.bad_url_prefix(self.url_prefix))
        return msgspec.structs.replace(self, url_prefix=self.url_prefix.rstrip("/"))

    @property
    def endpoint(self) -> CalloutEndpoint:
        """Where and how long."""
        return CalloutEndpoint(self.url_prefix, self.timeout_seconds, self.cycle_seconds)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        usable = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = all("!" <= letter <= "~" for letter in text) and not any(mark in text for mark in "@?#")
    return parts.scheme in ("http", "https") and bool(parts.hostname) and usable and plain
