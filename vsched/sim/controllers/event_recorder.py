"""Writes the Events of controllers and kubelets; repeated ones are counted, and many similar ones are combined.

Like client-go's recorder: the same message about the same object is one Event with a count, and from the eleventh
message of one kind on they are combined into one Event. The recorder remembers a limited number of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from itertools import count

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import format_time, utc_now
from vsched.sim.client import LocalClient
from vsched.sim.controllers.event_messages import EventMessage

REMEMBERED = 4096
MOST_ALIKE = 10
"""Messages of one kind about one object that have Events of their own; further ones are combined."""
ALIKE_SECONDS = 600.0
COMBINED = "(combined from similar events): "

_Group = tuple[str, str, str, str, str]
_GONE = 404


class ControllerEventRecorder:
    """Writes Events, each at once."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._written: OrderedDict[tuple[_Group, str], tuple[str, str]] = OrderedDict()
        """Namespace and name of the Event for a message."""
        self._alike: OrderedDict[_Group, tuple[set[str], datetime]] = OrderedDict()
        """The messages of a group, and since when they are counted."""
        self._numbers = count(1)

    def tell_all(self, notices: Iterable[EventMessage]) -> None:
        for notice in notices:
            self.tell(notice)

    def tell(self, notice: EventMessage) -> None:
        """Writes or counts an Event. One that the server rejects is dropped, for example in a terminating namespace."""
        now = utc_now()
        group = _group(notice)
        key, message = (group, notice.message), notice.message
        if self._is_one_of_many(group, message, now):
            key, message = (group, COMBINED), COMBINED + message
        known = self._written.get(key)
        try:
            if known is None or not self._counted(known, message, now):
                self._written[key] = self._made(notice, message, now)
        except Failure:
            self._written.pop(key, None)
            return
        self._written.move_to_end(key)
        if len(self._written) > REMEMBERED:
            self._written.popitem(last=False)

    def _is_one_of_many(self, group: _Group, message: str, now: datetime) -> bool:
        messages, since = self._alike.get(group, (set(), now))
        if (now - since).total_seconds() > ALIKE_SECONDS:
            messages, since = set(), now
        self._alike[group] = messages, since
        self._alike.move_to_end(group)
        if len(self._alike) > REMEMBERED:
            self._alike.popitem(last=False)
        if message in messages:
            return False
        if len(messages) >= MOST_ALIKE:
            return True
        messages.add(message)
        return False

    def _counted(self, known: tuple[str, str], message: str, now: datetime) -> bool:
        """Counts the Event once more; False if it is gone."""

        def again(event: Obj) -> Obj:
            return {**event, "count": event.get("count", 1) + 1, "lastTimestamp": format_time(now), "message": message}

        try:
            self._client.patch("events", *known, again)
        except Failure as failure:
            if failure.code != _GONE:
                raise
            return False
        return True

    def _made(self, notice: EventMessage, message: str, now: datetime) -> tuple[str, str]:
        about = {field: value for field, value in notice.about.items() if value}
        namespace, moment = about.get("namespace", "default"), format_time(now)
        name = f"{about['name']}.{int(now.timestamp() * 1e6):x}{next(self._numbers):x}"
        self._client.create(
            "events",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "involvedObject": about,
                "reason": notice.reason,
                "message": message,
                "type": "Warning" if notice.warning else "Normal",
                "source": {"component": notice.component, **({"host": notice.host} if notice.host else {})},
                "reportingComponent": notice.component,
                "reportingInstance": notice.host,
                "firstTimestamp": moment,
                "lastTimestamp": moment,
                "count": 1,
                "eventTime": None,
            },
        )
        return namespace, name


def _group(notice: EventMessage) -> _Group:
    about = notice.about
    return notice.component, about.get("uid", ""), about.get("fieldPath", ""), notice.reason, notice.host
