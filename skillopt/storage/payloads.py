"""Compression of recorded rollouts and replies, against what the same target or model answered before.

Rollouts of one target repeat its prompts, its tools and its files. A zlib stream names the dictionary that it was
compressed against by a checksum, so what was recorded without one is read as before.
"""

import sqlite3
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter

from skillopt.rollouts import Reply, Rollout

_LONGEST: Final = 32_768 - 262
"""Bytes of a dictionary that zlib can look back on."""

_HEADER: Final = 6  # bytes of a zlib stream before its data, where it names a dictionary
_HAS_DICTIONARY: Final = 0x20
"""Bit of the second byte of a zlib stream (RFC 1950)."""

_EXAMPLES: Final = 8  # of 4 KB each, which is what rollouts of one target have in common
_FIND: Final = "SELECT content FROM dictionaries WHERE identity = ? ORDER BY id LIMIT 1"
_ADD: Final = """
INSERT OR IGNORE INTO dictionaries SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM dictionaries WHERE identity = ?)
"""
_Answer = TypeVar("_Answer", Rollout, Reply)


@cache
def _adapters() -> dict[type, TypeAdapter[Any]]:
    return {shape: TypeAdapter(shape) for shape in (Rollout, Reply)}


class Payloads:
    """Compresses answers, and reads them back."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._known: dict[str, bytes] = {}

    def pack(self, values: Sequence[Rollout | Reply], identity: str = "") -> list[bytes]:
        """Compress answers, against the first ones that were recorded of the same target or model.

        A dictionary is on disk before anything is compressed against it.
        """
        payloads = [_adapters()[type(value)].dump_json(value) for value in values]
        if identity and payloads and identity not in self._known:
            self._known[identity] = self._dictionary(identity, payloads[:_EXAMPLES])
        if not (dictionary := self._known.get(identity, b"")):
            return [zlib.compress(payload) for payload in payloads]
        packings = [(zlib.compressobj(zdict=dictionary), payload) for payload in payloads]
        return [packing.compress(payload) + packing.flush() for packing, payload in packings]

    def unpack(self, packed: bytes, shape: type[_Answer]) -> _Answer:
        """Read what was compressed."""
        named = len(packed) > _HEADER and packed[1] & _HAS_DICTIONARY
        checksum = int.from_bytes(packed[2:_HEADER], "big")
        found = self._content("SELECT content FROM dictionaries WHERE id = ?", checksum) if named else b""
        unpacking = zlib.decompressobj(zdict=found) if found else zlib.decompressobj()
        payload = unpacking.decompress(packed) + unpacking.flush()
        if not unpacking.eof:
            raise zlib.error("incomplete or truncated stream")
        value: _Answer = _adapters()[shape].validate_json(payload)
        return value

    def _dictionary(self, identity: str, examples: Sequence[bytes]) -> bytes:
        """Return the dictionary of a target or model; made where there is none."""
        if found := self._content(_FIND, identity):
            return found
        share = max(_LONGEST // len(examples), 1)
        content = b"".join(payload[:share] for payload in examples)
        self._database.execute(_ADD, [zlib.adler32(content), identity, content, identity])
        # There is none where its checksum is that of another: then nothing is compressed against it.
        return self._content(_FIND, identity)

    def _content(self, query: str, value: str | int) -> bytes:
        row = self._database.execute(query, [value]).fetchone()
        return bytes(row[0]) if row else b""
