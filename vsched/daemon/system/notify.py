"""Messages to a service manager, as in sd_notify(3): datagrams to the socket that it names in the environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from vsched.daemon.words import options as words
from vsched.errors import BadInput

LONGEST_STATUS = 500
"""The longest status line, in characters."""


class Notifier:
    """Sends facts to the service manager, if there is one."""

    def __init__(self, address: str, watchdog_seconds: float = 0.0) -> None:
        """The address is a path, or ``@`` and the name of an abstract socket; empty without a service manager."""
        if address and address[0] not in "/@":
            raise BadInput(words.bad_socket(address))
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_seconds = watchdog_seconds
        """The watchdog's limit between two signs of life; 0 for none."""

    @property
    def listens(self) -> bool:
        """Whether there is a service manager."""
        return bool(self._address)

    def tell(self, **facts: object) -> str:
        """Send facts by their names in the protocol; returns the error, empty if there was none.

        It never waits, so that a service manager that does not read cannot stop scheduling.
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
    """The notifier for this environment; raises BadInput for a variable that cannot be used."""
    return Notifier(environment.get("NOTIFY_SOCKET", ""), _watchdog_seconds(environment))


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """The watchdog's limit for this process; 0 for none."""
    text, meant = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    # The parent may be the process of a one-file executable that unpacks and then waits.
    if not text or (meant and meant not in (str(os.getpid()), str(os.getppid()))):
        return 0.0
    if not text.isdecimal():
        raise BadInput(words.bad_watchdog(text))
    return int(text) / 1e6
