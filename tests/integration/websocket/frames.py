"""Frames of WebSocket (RFC 6455, 5.2), byte by byte: also those that no library would send."""

import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MASK = b"\x12\x9a\xf0\x07"  # always the same, so that two runs send the same bytes


def masked(payload):
    size = len(payload)
    key = (MASK * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def frame(opcode, payload=b"", last=True, reserved=0):
    """A frame of a client. `reserved`: the three reserved bits; permessage-deflate uses 4."""
    first = (0x80 if last else 0) | reserved << 4 | opcode
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + MASK + masked(payload)


def fragments(opcode, payload, size):
    """The message in frames of so many bytes."""
    parts = [payload[at:at + size] for at in range(0, len(payload), size)] or [b""]
    return [frame(opcode if i == 0 else CONTINUATION, part, last=i == len(parts) - 1)
            for i, part in enumerate(parts)]


def close(code=1000, reason=b""):
    return frame(CLOSE, struct.pack("!H", code) + reason)


def parsed(stream):
    """The frames of a server: (opcode, last, reserved, payload); the last one may be cut."""
    at = 0
    while at + 2 <= len(stream):
        first, size = stream[at], stream[at + 1]
        at += 2
        assert size < 128, "a server masks nothing"
        if size == 126:
            size, = struct.unpack_from("!H", stream, at)
            at += 2
        elif size == 127:
            size, = struct.unpack_from("!Q", stream, at)
            at += 8
        yield first & 15, bool(first & 0x80), first >> 4 & 7, stream[at:at + size]
        at += size


class Counter:
    """Counts whole messages in a stream of a server that comes in pieces."""

    def __init__(self):
        self.messages = 0
        self.head = b""
        self.skip = 0  # bytes of the payload that are still to come

    def take(self, data):
        at = 0
        while at < len(data):
            step = min(self.skip, len(data) - at)
            self.skip -= step
            at += step
            if self.skip or at >= len(data):
                return
            size = 2
            if len(self.head) >= 2:
                size = {126: 4, 127: 10}.get(self.head[1], 2)
            missing = size - len(self.head)
            self.head += data[at:at + missing]
            at += missing
            self.end_of_head()

    def end_of_head(self):
        if len(self.head) < 2 or len(self.head) < {126: 4, 127: 10}.get(self.head[1], 2):
            return
        first, size = self.head[0], self.head[1]
        self.skip = int.from_bytes(self.head[2:], "big") if size >= 126 else size
        self.messages += bool(first & 0x80) and first & 15 in (CONTINUATION, TEXT, BINARY)
        self.head = b""


def close_code(payload):
    return struct.unpack_from("!H", payload)[0] if len(payload) >= 2 else None
