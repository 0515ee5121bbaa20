"""What a service manager is told, as sd_notify(3) has it: datagrams to the socket it named when it started us."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from vsched.errors import BadInput

LONGEST_STATUS = 500
"""Characters of a status line; more is of no use in ``systemctl status``."""


class Notifier:
    """Passes facts on to the service manager, where there is one."""

    def __init__(self, address: str = "", watchdog_seconds: float = 0.0) -> None:
        """An address is a path, or ``@`` and a name of the abstract kind; empty where nobody wants to know."""
        if address and address[0] not in "/@":
            raise BadInput(f"NOTIFY_SOCKET: {address!r} is not a socket (expected /PATH or @NAME)")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_seconds = watchdog_seconds
        """How long it may go without a sign of life before it ends us; 0 for ever."""

    @property
    def listens(self) -> bool:
        """Whether anybody wants to know."""
        return bool(self._address)

    def tell(self, **facts: object) -> str:
        """Send facts by their names in the protocol; what went wrong, empty where nothing did.

        Never waits: a service manager that does not read is a problem, but not one to stop scheduling for.
        """
        if not self._address:
            return ""
        text = "\n".join(f"{name}={' '.join(str(value).split())}" for name, value in facts.items())
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
                sender.sendto(text.encode(), self._address)
        except OSError as error:
            return error.strerror or str(error)
        return ""


def notifier(environment: Mapping[str, str] = os.environ) -> Notifier:
    """The one that the environment asks for; raises BadInput where it says something that cannot be."""
    return Notifier(environment.get("NOTIFY_SOCKET", ""), _watchdog_seconds(environment))


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """How often a sign of life is wanted of this process, 0 for never."""
    text, meant = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    # The parent is meant where that is the half of a one-file executable that unpacks, and then waits.
    if not text or (meant and meant not in (str(os.getpid()), str(os.getppid()))):
        return 0.0
    if not text.isdecimal():
        raise BadInput(f"WATCHDOG_USEC: {text!r} is not a number of microseconds")
    return int(text) / 1e6
