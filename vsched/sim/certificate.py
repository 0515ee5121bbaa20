"""A certificate for a server on this machine: self-signed, made anew each time, of no use to anybody else.

Clients of Kubernetes keep their tokens to themselves where there is no TLS, and Python's own library makes no
certificates: so here are the few lines of P-256 (FIPS 186-4) and DER (X.690) that one takes. They are not hardened
against somebody who measures how long signing takes: what is signed is a certificate that nobody has to trust.
"""

from __future__ import annotations

import ipaddress
import secrets
import ssl
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha1, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
"""The curve y² = x³ - 3x + b over the integers modulo P, and the point of order N that everybody starts from."""
DAYS = 3650

Point = tuple[int, int] | None
"""None is the point at infinity."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, in PEM form."""

    certificate: str
    key: str

    def context(self) -> ssl.SSLContext:
        """What a server presents it with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory(prefix="vsched-") as folder:
            path = Path(folder) / "both.pem"
            path.write_text(self.key + self.certificate, encoding="ascii")
            context.load_cert_chain(path)
        return context


def add(one: Point, other: Point) -> Point:
    """The sum of two points of the curve."""
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if one == other else (y2 - y1) * pow(x2 - x1, -1, P)
    x3 = (slope * slope - x1 - x2) % P
    return x3, (slope * (x1 - x3) - y1) % P


def times(count: int, point: Point) -> Point:
    """A point added to itself so often."""
    total: Point = None
    while count:
        if count & 1:
            total = add(total, point)
        point, count = add(point, point), count >> 1
    return total


def sign(message: bytes, key: int) -> tuple[int, int]:
    """The ECDSA signature (r, s) of a message."""
    digest = int.from_bytes(sha256(message).digest(), "big")
    while True:
        nonce = secrets.randbelow(N - 1) + 1
        point = times(nonce, G)
        assert point is not None
        r = point[0] % N
        s = pow(nonce, -1, N) * (digest + r * key) % N
        if r and s:
            return r, s


def make_certificate(names: tuple[str, ...] = ("localhost", "127.0.0.1", "::1")) -> Certificate:
    """A certificate for these names and addresses."""
    key = secrets.randbelow(N - 1) + 1
    public = times(key, G)
    assert public is not None
    point = b"\x04" + public[0].to_bytes(32, "big") + public[1].to_bytes(32, "big")
    now = datetime.now(UTC)
    name = _sequence(_tagged(0x31, _sequence(_oid(2, 5, 4, 3), _tagged(0x0C, b"vsched-cluster"))))
    algorithm = _sequence(_oid(1, 2, 840, 10045, 4, 3, 2))
    told = _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(secrets.randbits(127) | 1),
        algorithm,
        name,
        _sequence(_time(now - timedelta(hours=1)), _time(now + timedelta(days=DAYS))),
        name,
        _sequence(_sequence(_oid(1, 2, 840, 10045, 2, 1), _CURVE), _bits(point)),
        _tagged(0xA3, _sequence(*_extensions(names, sha1(point).digest()))),
    )
    signature = _sequence(*map(_integer, sign(told, key)))
    made = _sequence(told, algorithm, _bits(signature))
    private = _sequence(_integer(1), _tagged(0x04, key.to_bytes(32, "big")), _tagged(0xA0, _CURVE))
    return Certificate(_pem("CERTIFICATE", made), _pem("EC PRIVATE KEY", private))


def _extensions(names: tuple[str, ...], key_id: bytes) -> list[bytes]:
    """It signs itself, serves, and is for these names."""
    return [
        _extension(19, _sequence(_TRUE), critical=True),
        _extension(15, _tagged(0x03, b"\x02\x84"), critical=True),  # digitalSignature and keyCertSign
        _extension(37, _sequence(_oid(1, 3, 6, 1, 5, 5, 7, 3, 1))),
        _extension(14, _tagged(0x04, key_id)),
        _extension(35, _sequence(_tagged(0x80, key_id))),
        _extension(17, _sequence(*map(_alternative, names))),
    ]


def _extension(number: int, content: bytes, *, critical: bool = False) -> bytes:
    return _sequence(_oid(2, 5, 29, number), *((_TRUE,) if critical else ()), _tagged(0x04, content))


def _alternative(name: str) -> bytes:
    try:
        return _tagged(0x87, ipaddress.ip_address(name).packed)
    except ValueError:
        return _tagged(0x82, name.encode())


# -- DER


def _tagged(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = (length.bit_length() + 7) // 8
    return bytes((tag, 0x80 | size)) + length.to_bytes(size, "big") + content


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(content: bytes) -> bytes:
    return _tagged(0x03, b"\0" + content)


def _time(moment: datetime) -> bytes:
    # Until 2049 a certificate writes years with two digits (RFC 5280, 4.1.2.5).
    tag, form = (0x17, "%y%m%d%H%M%SZ") if moment.year < 2050 else (0x18, "%Y%m%d%H%M%SZ")
    return _tagged(tag, moment.strftime(form).encode())


def _oid(first: int, second: int, *rest: int) -> bytes:
    content = bytearray((first * 40 + second,))
    for number in rest:
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(0x80 | number & 0x7F)
        content += bytes(reversed(groups))
    return _tagged(0x06, bytes(content))


def _pem(label: str, content: bytes) -> str:
    lines = "\n".join(wrap(b64encode(content).decode(), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


_CURVE = _oid(1, 2, 840, 10045, 3, 1, 7)
_TRUE = _tagged(0x01, b"\xff")
