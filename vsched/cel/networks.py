"""Addresses in CEL: IP addresses (``ip``), their ranges (``cidr``), and URLs (``url``).

Each is a map with one key that no object of an API has; equal ones are equal however they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from vsched.cel import words

Address = IPv4Address | IPv6Address
Range = IPv4Interface | IPv6Interface
_IP, _CIDR, _URL = "\0ip", "\0cidr", "\0url"
_EVERYONE = IPv4Address("255.255.255.255")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(words.NO_OVERLOAD)
    return value


def _parsed(text: str) -> Address:
    try:
        found = ip_address(text)
    except ValueError as error:
        raise ValueError(words.no_address(text, error)) from None
    if "%" in text:
        raise ValueError(words.address_with_zone(text))
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError(words.mapped_address(text))
    return found


def _parsed_range(text: str) -> Range:
    address, slash, bits = text.partition("/")
    try:
        _parsed(address)
        if not slash or not bits.isascii() or not bits.isdigit() or bits != str(int(bits)):
            raise ValueError(words.NETWORK_EXPECTED)
        return ip_interface(text)
    except ValueError as error:
        raise ValueError(words.no_network(error)) from None


def _parsed_url(text: str) -> SplitResult:
    try:
        found = urlsplit(text)
        _ = found.port
    except ValueError as error:
        raise ValueError(words.no_url(error)) from None
    if not (found.scheme or text.startswith("/")) or any(char <= " " or char == "\x7f" for char in text):
        raise ValueError(words.invalid_url(text))
    return found


def _made(key: str, value: object) -> Mapping[str, str]:
    return {key: str(value)}


def _of(key: str, value: Any) -> str:
    if not isinstance(value, Mapping) or key not in value:
        raise ValueError(words.NO_OVERLOAD)
    return str(value[key])


def _address(value: Any) -> Address:
    return _parsed(_of(_IP, value))


def _range(value: Any) -> Range:
    return _parsed_range(_of(_CIDR, value))


def _url(value: Any) -> SplitResult:
    return _parsed_url(_of(_URL, value))


def _ip(value: Any) -> Mapping[str, str]:
    """``ip("10.0.0.1")``, and the address of a range."""
    return _made(_IP, _range(value).ip if isinstance(value, Mapping) else _parsed(_text(value)))


def _can_be(parse: Callable[[str], object]) -> Callable[[Any], bool]:
    def asked(text: Any) -> bool:
        try:
            parse(_text(text))
        except ValueError as error:
            if str(error) == words.NO_OVERLOAD:
                raise
            return False
        return True

    return asked


def _is_global(address: Address) -> bool:
    """As Go has it: private addresses are global, too."""
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == _EVERYONE
    )


def _has_address(value: Any, wanted: Any) -> bool:
    address = _parsed(wanted) if isinstance(wanted, str) else _address(wanted)
    return address in _range(value).network


def _has_range(value: Any, wanted: Any) -> bool:
    outer, inner = _range(value), _parsed_range(wanted) if isinstance(wanted, str) else _range(wanted)
    return inner.ip in outer.network and inner.network.prefixlen >= outer.network.prefixlen


def text_of(value: Any) -> str | None:
    """``string`` of an address or a range; None for anything else."""
    if isinstance(value, Mapping):
        for key in (_IP, _CIDR):
            if key in value:
                return str(value[key])
    return None


def _host(value: Any) -> str:
    return _url(value).netloc.rpartition("@")[2]


def _hostname(value: Any) -> str:
    host = _host(value)
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


is_url = _can_be(_parsed_url)
"""``isURL``: whether a text is an absolute URL or an absolute path."""
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "ip": _ip,
    "isIP": _can_be(_parsed),
    "__ip_isCanonical": lambda text: str(_parsed(_text(text))) == text,
    "family": lambda value: _address(value).version,
    "isUnspecified": lambda value: _address(value).is_unspecified,
    "isLoopback": lambda value: _address(value).is_loopback,
    "isLinkLocalUnicast": lambda value: _address(value).is_link_local,
    "isLinkLocalMulticast": lambda value: (
        _address(value).packed.startswith((b"\xe0\0\0", b"\xff\x02")) and _address(value).is_multicast
    ),
    "isGlobalUnicast": lambda value: _is_global(_address(value)),
    "cidr": lambda text: _made(_CIDR, _parsed_range(_text(text))),
    "isCIDR": _can_be(_parsed_range),
    "containsIP": _has_address,
    "containsCIDR": _has_range,
    "prefixLength": lambda value: _range(value).network.prefixlen,
    "masked": lambda value: _made(_CIDR, _range(value).network),
    "url": lambda text: _made(_URL, _parsed_url(_text(text)).geturl()),
    "isURL": is_url,
    "getScheme": lambda value: _url(value).scheme,
    "getHost": _host,
    "getHostname": _hostname,
    "getPort": lambda value: str(_url(value).port or ""),
    "getEscapedPath": lambda value: _url(value).path,
    "getQuery": lambda value: parse_qs(_url(value).query, keep_blank_values=True),
}
"""By name."""
