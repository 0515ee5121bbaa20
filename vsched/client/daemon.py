"""The client of a running daemon: a method for each question, with a typed answer.

A kind of answer is imported where it is asked for: whoever lists jobs does not load what explanations need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from vsched import __version__
from vsched.client import words
from vsched.client.errors import Idle, explained_error
from vsched.client.target import PATIENCE_SECONDS, DaemonTarget, api_client
from vsched.errors import BadInput, Unavailable, why_unreadable

if TYPE_CHECKING:
    from vsched.controllers.provisioning.shown import AutoscalingShown
    from vsched.explain.records import Explanation
    from vsched.model.history.showback import Showback
    from vsched.shadow.summary import Comparing
    from vsched.web.overview.devices import DevicesShown
    from vsched.web.overview.document import Overview
    from vsched.web.overview.share_series import ShareSeries
    from vsched.web.pages.allocations import AllocationsShown
    from vsched.web.pages.dumps import RecordingLine
    from vsched.web.pages.profile import ProfileShown
    from vsched.web.pages.views import JobShown, NodeShown, QueueShown

T = TypeVar("T")
Parameters = dict[str, str]
Kind = Literal["Pod", "PodGroup"]


class DaemonClient:
    """Asks one daemon; use it as an async context manager. No question is asked again by itself.

    Each method raises one clear line: Unknown where the daemon does not know a name, Idle where it decides nothing,
    Unavailable where it does not answer or cannot now, and BadInput where it refuses us or is not vsched. Rows by name
    (of jobs, queues and nodes) come as the daemon sends them: one of another version may leave out fields.
    """

    def __init__(self, target: DaemonTarget | None = None, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Without a target, the daemon on this machine is meant; raises BadInput where the target is wrong."""
        self._target = target or DaemonTarget()
        self._client = api_client(self._target, patience_seconds)
        self.server = self._client.connection.server
        """The address that is asked, as a URL."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    # -- what the daemon shows

    async def overview(self) -> Overview:
        """Everything that the page shows."""
        from vsched.client.overview import overview_of

        with self._explaining():
            found = await overview_of(self._client)
        self._expect_role(found.role)
        return found

    async def queues(self) -> Mapping[str, QueueShown]:
        """Queues by name: shares and amounts."""
        found: Mapping[str, QueueShown] = await self._rows("/queues")
        return found

    async def jobs(self) -> Mapping[str, JobShown]:
        """Jobs by ``NAMESPACE/NAME`` of the PodGroup: phase, counts, why they wait."""
        found: Mapping[str, JobShown] = await self._rows("/jobs")
        return found

    async def nodes(self) -> Mapping[str, NodeShown]:
        """Nodes by name: amounts."""
        found: Mapping[str, NodeShown] = await self._rows("/nodes")
        return found

    async def allocations(self) -> AllocationsShown:
        """What namespaces deserve and hold; empty where the leader does not arbitrate."""
        found: AllocationsShown = await self._of_leader("/allocations")
        return found

    async def devices(self, nodes: Sequence[str] = ()) -> DevicesShown:
        """Devices of these nodes, or of the first that have some, and who holds each resource."""
        from vsched.web.overview.devices import DevicesShown

        return await self._read("/devices", DevicesShown, {"node": ",".join(nodes)} if nodes else {})

    async def autoscaling(self) -> AutoscalingShown:
        """ProvisioningRequests of gangs, and CapacityBuffers."""
        from vsched.controllers.provisioning.shown import AutoscalingShown

        return await self._read("/autoscaling", AutoscalingShown)

    async def queue_history(self, span: str = "hour", points: int = 60, queue: str | None = None) -> ShareSeries:
        """Shares of queues over the last ``hour`` or ``week``, or of one queue; the cluster has the empty name."""
        from vsched.web.overview.share_series import ShareSeries

        parameters = {"span": span, "points": str(points), **({} if queue is None else {"queue": queue})}
        found = await self._read("/queue-history", ShareSeries, parameters)
        if not found.queues:
            await self._expect_leader()
        return found

    async def usage_history(self, seconds: float, by: Sequence[str] = ("queue",)) -> Showback:
        """Resource-hours of the last seconds by ``queue``, ``namespace`` and ``user``, or some of them."""
        from vsched.model.history.showback import Showback

        parameters = {"since": f"{seconds:g}", "by": ",".join(by)}
        return await self._read("/usage-history", Showback, parameters)

    async def shadow(self, seconds: float | None = None) -> Comparing:
        """What a shadow has found, of the last seconds or since it began; raises BadInput where it is none."""
        from vsched.kube.errors import NotFound
        from vsched.shadow.summary import Comparing

        try:
            return await self._read("/shadow", Comparing, {} if seconds is None else {"since": str(seconds)})
        except BadInput as error:
            if isinstance(error.__cause__, NotFound):
                raise BadInput(words.no_shadow(self.server)) from None
            raise

    # -- why something waits

    async def explain(
        self, key: str, kind: Kind | None = None, seconds: float | None = None, *, changes: bool = True
    ) -> Explanation:
        """Why the pod or the job ``NAMESPACE/NAME`` waits; changes that help are searched for so long at most."""
        return await self._explained(f"/explain/{key}", {} if kind is None else {"kind": kind}, seconds, changes)

    async def explain_queue(self, name: str, seconds: float | None = None, *, changes: bool = True) -> Explanation:
        """Why the jobs of a queue wait."""
        return await self._explained(f"/explain-queue/{name}", {}, seconds, changes)

    async def _explained(self, path: str, parameters: Parameters, seconds: float | None, changes: bool) -> Explanation:
        from vsched.explain.records import Explanation

        parameters |= {} if seconds is None else {"seconds": f"{seconds:g}"}
        parameters |= {} if changes else {"changes": "false"}
        return await self._read(path, Explanation, parameters)

    # -- recordings

    async def dump(self, *, anonymous: bool = False) -> bytes:
        """A recording of the next session, as ``vsched replay`` reads it: gzipped JSON."""
        return await self._bytes("/dump", {"anonymous": "true"} if anonymous else {})

    async def recordings(self) -> Sequence[RecordingLine]:
        """The sessions that were recorded because something looked wrong."""
        page: Any = await self._read("/recordings", dict[str, list[dict[str, Any]]])
        found: Sequence[RecordingLine] = page.get("recordings", ())
        if not found:
            await self._expect_leader()
        return found

    async def recording(self, number: int, *, anonymous: bool = False) -> bytes:
        """One of them, in the format of ``dump``."""
        return await self._bytes(f"/recordings/{number}", {"anonymous": "true"} if anonymous else {})

    # -- the daemon itself

    async def profile(self, seconds: float = 5.0) -> ProfileShown:
        """Where the daemon spends its time; it is sampled for so long, 20 seconds at most."""
        from vsched.web.pages.profile import ProfileShown

        return await self._read("/debug/profile", ProfileShown, {"seconds": f"{seconds:g}"})

    # -- asking

    async def get(self, path: str, parameters: Parameters | None = None) -> dict[str, Any]:
        """The JSON object at any path."""
        with self._explaining():
            return await self._client.get(path, parameters)

    async def _bytes(self, path: str, parameters: Parameters) -> bytes:
        with self._explaining():
            return (await self._client.request("GET", path, params=parameters)).body

    async def _rows(self, path: str) -> Any:
        return decoded(self.server, await self._of_leader(path), dict[str, dict[str, Any]])

    async def _of_leader(self, path: str) -> Any:
        """The answer; raises Idle where it is empty because the daemon decides nothing."""
        found = await self.get(path)
        if not found:
            await self._expect_leader()
        return found

    async def _read(self, path: str, kind: type[T], parameters: Parameters | None = None) -> T:
        return decoded(self.server, await self.get(path, parameters), kind)

    async def _expect_leader(self) -> None:
        """Raise Idle where the daemon decides nothing; after an empty answer."""
        from vsched.kube.errors import Forbidden, NotFound

        with self._explaining(), suppress(Forbidden, NotFound):  # who may not read it still gets the empty answer
            self._expect_role((await self._client.get("/overview")).get("role", ""))

    def _expect_role(self, role: str) -> None:
        """Raise Idle unless a daemon of this role decides; an empty role passes."""
        from vsched.web.snapshots import idle_of

        if role and (idle := idle_of(role)):
            raise Idle(f"{self.server}: {idle}")

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Errors of the connection become one clear line."""
        from vsched.kube.errors import ApiError

        try:
            yield
        except Idle:
            raise
        except (ApiError, Unavailable) as error:
            raise explained_error(self._target, error) from error


def decoded(where: str, answer: object, kind: type[T]) -> T:
    """An answer as records of ``kind``; raises BadInput where it is malformed, such as that of another version."""
    import msgspec

    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        asked = words.which_version(__version__)
        raise BadInput(words.answer_cannot_be_read(where, why_unreadable(error), asked)) from None
