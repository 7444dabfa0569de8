"""The lines of a text, decompressed and in UTF-8, whatever it was written by."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

CHUNK = 2**22  # bytes read at a time
COMPRESSED = {
    b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def uncompressed(stream: Any) -> Any:
    """The stream itself, or what decompresses it, by its first bytes."""
    head = stream.read(8)
    stream.seek(0)
    kind = next((kind for magic, kind in COMPRESSED.items() if head.startswith(magic)), None)
    if kind == "gzip":
        return gzip.GzipFile(fileobj=stream)
    if kind == "bz2":
        return bz2.BZ2File(stream)
    if kind == "xz":
        return lzma.LZMAFile(stream)
    return pa.CompressedInputStream(stream, "zstd") if kind == "zstd" else stream


def lines_of(stream: Any) -> Iterator[list[bytes]]:
    """The lines in UTF-8, many at a time."""
    block = stream.read(CHUNK)
    decoder = None
    if block.startswith(codecs.BOM_UTF8):
        block = block[3:]
    elif block.startswith(MARKS):
        decoder = codecs.getincrementaldecoder("utf-16")()
    held = b""
    while block:
        following = stream.read(CHUNK)
        text = block if decoder is None else decoder.decode(block, not following).encode("utf-8")
        text = held + text
        cut = b"\r" if following and text.endswith(b"\r") else b""  # half of \r\n, perhaps
        text = text[: len(text) - len(cut)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, held = text.split(b"\n")
        held += cut
        yield lines
        block = following
    if held:
        yield [held]
