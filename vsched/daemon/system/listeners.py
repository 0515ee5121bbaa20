"""The addresses that a daemon listens at: their routes, certificates, and who has access."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from vsched.clock import Clock
from vsched.daemon.access_options import AccessOptions, PortName
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.observe.tracing import Tracing
from vsched.daemon.options import Options
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import options as words
from vsched.daemon.words import tasks as tasks_words
from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.web.serve.access import Access, AllowList, Permissions, Tokens
from vsched.web.serve.limits import Limits, Port
from vsched.web.serve.listener import Listen
from vsched.web.serve.renewal import Renewal
from vsched.web.serve.reviews import AccessReviews, TokenReviews
from vsched.web.serve.routing import Route
from vsched.web.serve.server import serving
from vsched.web.serve.tls import Callers, ReloadingContext
from vsched.web.serve.tokens import TokenTable


class ServedRoutes(NamedTuple):
    """The routes of one address."""

    name: PortName
    address: str
    """Empty for none."""
    routes: Sequence[Route]

    @property
    def flag(self) -> str:
        """The flag that names the address."""
        return f"--{self.name}-address"


class Listeners:
    """The ports of a daemon with authentication, TLS and limits; raises BadInput for options that cannot be used.

    Probes need no authentication, because kubelets have none.
    """

    def __init__(
        self,
        options: Options,
        client: ApiClient,
        clock: Clock,
        telemetry: Telemetry,
        listen: Listen,
        tracing: Tracing | None = None,
    ) -> None:
        self._telemetry = telemetry
        self._around = [] if tracing is None else [tracing.middleware()]
        self._listen = listen
        self._contexts = _contexts(options)
        self._table: TokenTable | None = None
        self.access = self._access(options.access, client, clock)
        self._ports: dict[str, Port] = {}

    def _access(self, access: AccessOptions, client: ApiClient, clock: Clock) -> Access | None:
        log = self._telemetry.worry
        tokens: Tokens | None = None
        permissions: Permissions = AllowList(access.allow_users, access.allow_groups)
        match access.authentication:
            case "none":
                return None
            case "token-file":
                assert access.token_file is not None
                tokens = self._table = TokenTable(access.token_file)
            case "tokenreview":
                tokens = TokenReviews(client, clock, log, access.token_audiences)
                if not access.named:
                    permissions = AccessReviews(client, clock, log)
        return Access(tokens, permissions, clock, log, certificates=access.client_ca_file is not None)

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        says = tasks_words.CERTIFICATES
        tasks = [
            LongLived(tasks_words.certificate_of(name), partial(context.run, self._renewed), says)
            for name, context in self._contexts.items()
        ]
        if self._table is not None:
            run = partial(self._table.renewed.run, self._renewed)
            tasks.append(LongLived("tokens", run, tasks_words.TOKENS))
        return tuple(tasks)

    async def listen(self, stack: AsyncExitStack, served: Sequence[ServedRoutes]) -> dict[str, int]:
        """Listen everywhere until the stack is closed; returns the port by flag."""
        found = {}
        for each in served:
            if each.address:
                found[each.flag] = await stack.enter_async_context(self._serving(each))
        return found

    def _serving(self, each: ServedRoutes) -> AbstractAsyncContextManager[int]:
        context = self._contexts.get(each.name)
        port = self._ports[each.name] = Port(Limits())
        return serving(
            each.routes,
            each.address,
            each.flag,
            context.context if context is not None else None,
            access=self.access if each.name == "listen" else None,
            port=port,
            listen=self._listen,
            around=self._around if each.name != "healthz" else (),
        )

    def numbers(self) -> Mapping[str, Mapping[str, float]]:
        """Requests that were refused, by status."""
        counts: Counter[str] = Counter()
        for port in self._ports.values():
            counts.update(port.refused)
        if self.access is not None:
            counts.update(self.access.refused)
        return {"vsched_http_refusals_total": {status: float(count) for status, count in counts.items()}}

    def _renewed(self, renewal: Renewal) -> None:
        tell = self._telemetry.note if renewal.ok else self._telemetry.worry
        tell("credentials", outcome=renewal.text)


def _contexts(options: Options) -> dict[PortName, ReloadingContext]:
    """The TLS contexts of the ports that are served over TLS."""
    match options.tls_cert_file, options.tls_key_file:
        case Path() as certificate, Path() as key:
            pair = (certificate, key)
        case None, None:
            return {}
        case _:
            missing = "--tls-cert-file" if options.tls_cert_file is None else "--tls-private-key-file"
            raise BadInput(words.half_a_certificate(missing))
    access = options.access
    contexts: dict[PortName, ReloadingContext] = {}
    if options.listen_address and "listen" in access.tls_on:
        known = access.client_ca_file
        callers = Callers(known, "--client-ca-file") if known is not None else None
        contexts["listen"] = ReloadingContext(*pair, callers=callers)
    if options.webhook_address:
        known = access.webhook_client_ca_file
        callers = Callers(known, "--webhook-client-ca-file", demanded=True) if known is not None else None
        contexts["webhook"] = ReloadingContext(*pair, callers=callers)
    if options.healthz_address and "healthz" in access.tls_on:
        contexts["healthz"] = ReloadingContext(*pair)
    return contexts
