"""What clients of WebSocket may do and must not do, in the families of Autobahn's test suite: framing, pings,
reserved bits, opcodes, fragments, UTF-8, closing, limits, compression."""

import dataclasses
import zlib

from . import frames
from .frames import BINARY, CONTINUATION, PING, PONG, TEXT, close, frame

KIB = 1024


@dataclasses.dataclass
class Case:
    name: str
    pieces: list            # what is sent, each piece by a call of its own
    last: list              # what is sent when all messages have come back
    echoed: list            # (opcode, payload) of the messages that come back
    code: object = 1000     # of the server's close frame; None: it has none
    pongs: object = None    # payloads that come back in pongs; None: not looked at
    offer: str = ""         # Sec-WebSocket-Extensions
    orderly: bool = True    # the connection ends as an agreed close does


def chopped(data, size):
    return [data[at:at + size] for at in range(0, len(data), size)]


def good(name, pieces, echoed, **more):
    """The client closes at the end."""
    return Case(name, pieces, [close()], echoed, **more)


def bad(name, last, code=1002, before=()):
    """The server closes, because of what it gets last, behind these good messages."""
    return Case(name, [frame(*each) for each in before], last, [*before], code, orderly=False)


def framing():
    for family, opcode in ((1, TEXT), (2, BINARY)):
        for number, size in enumerate((0, 125, 126, 127, 128, 65535, 65536), 1):
            payload = b"*" * size
            yield good(f"1.{family}.{number} {size} bytes", [frame(opcode, payload)], [(opcode, payload)])
        payload = b"*" * 65536
        yield good(f"1.{family}.8 65536 bytes in pieces of 997", chopped(frame(opcode, payload), 997),
                   [(opcode, payload)])


def pings():
    for number, payload in enumerate((b"", b"Hello, world!", b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff", b"\xfe" * 125), 1):
        yield good(f"2.{number} ping of {len(payload)} bytes", [frame(PING, payload)], [], pongs=[payload])
    yield bad("2.5 ping of 126 bytes", [frame(PING, b"\xfe" * 126)])
    yield good("2.6 ping, byte by byte", chopped(frame(PING, b"\xfe" * 125), 1), [], pongs=[b"\xfe" * 125])
    yield good("2.7 pong unasked", [frame(PONG)], [], pongs=[])
    yield good("2.8 pong unasked with payload", [frame(PONG, b"unsolicited")], [], pongs=[])
    yield good("2.9 pong unasked, then ping", [frame(PONG, b"unsolicited"), frame(PING, b"ping")], [], pongs=[b"ping"])
    ten = [b"payload-%d" % i for i in range(10)]
    yield good("2.10 ten pings", [frame(PING, each) for each in ten], [], pongs=ten)
    yield good("2.11 ten pings, byte by byte", [piece for each in ten for piece in chopped(frame(PING, each), 1)], [],
               pongs=ten)


def reserved_bits():
    hello, small = b"Hello, world!", (TEXT, b"before")
    for bits in range(1, 8):
        wrong = frame(TEXT, hello, reserved=bits)
        yield bad(f"3.{bits}.1 reserved bits {bits}", [wrong])
        yield bad(f"3.{bits}.2 reserved bits {bits} behind a message", [wrong + frame(PING)], before=[small])
        yield bad(f"3.{bits}.3 reserved bits {bits}, byte by byte", chopped(wrong, 1), before=[small])
        yield bad(f"3.{bits}.4 reserved bits {bits} of a ping", [frame(PING, hello, reserved=bits)])


def opcodes():
    for family, numbers in ((1, range(3, 8)), (2, range(11, 16))):
        for opcode in numbers:
            yield bad(f"4.{family}.{opcode}.1 opcode {opcode}", [frame(opcode)])
            yield bad(f"4.{family}.{opcode}.2 opcode {opcode} behind a message", [frame(opcode, b"x") + frame(PING)],
                      before=[(TEXT, b"before")])


def fragmentation():
    first, second = frame(TEXT, b"fragment1", last=False), frame(CONTINUATION, b"fragment2")
    both = (TEXT, b"fragment1fragment2")
    yield bad("5.1 ping in two fragments", [frame(PING, b"a", last=False), frame(CONTINUATION, b"b")])
    yield bad("5.2 pong in two fragments", [frame(PONG, b"a", last=False), frame(CONTINUATION, b"b")])
    yield good("5.3 two fragments", [first, second], [both])
    yield good("5.4 two fragments at once", [first + second], [both])
    yield good("5.5 two fragments, byte by byte", chopped(first + second, 1), [both])
    yield good("5.6 ping between", [first, frame(PING, b"ping"), second], [both], pongs=[b"ping"])
    yield good("5.7 ping between, at once", [first + frame(PING, b"ping") + second], [both], pongs=[b"ping"])
    yield good("5.8 ping between, byte by byte", chopped(first + frame(PING, b"ping") + second, 1), [both],
               pongs=[b"ping"])
    for last in (True, False):
        for number, way in ((9, lambda text: [text]), (11, lambda text: chopped(text, 1))):
            lonely = frame(CONTINUATION, b"nothing before", last=last)
            yield bad(f"5.{number} continuation of nothing, last {last}", way(lonely + frame(TEXT, b"Hello")))
    yield bad("5.15 continuation behind a message", [frame(CONTINUATION, b"x", last=False)], before=[both])
    for last in (True, False):
        yield bad(f"5.18 a message within a message, last {last}", [first, frame(TEXT, b"fragment2", last=last)])
    many = [frame(TEXT, b"f1", last=False), frame(CONTINUATION, b"f2", last=False), frame(PING, b"p1"),
            frame(CONTINUATION, b"f3", last=False), frame(CONTINUATION, b"f4", last=False), frame(PING, b"p2"),
            frame(CONTINUATION, b"f5")]
    for name, pieces in (("5.19", many), ("5.20 at once", [b"".join(many)]), ("5.21", chopped(b"".join(many), 1))):
        yield good(f"{name} five fragments and two pings", pieces, [(TEXT, b"f1f2f3f4f5")], pongs=[b"p1", b"p2"])
    for size in (1, 2, 7):
        for empty in (True, False):
            parts = frames.fragments(TEXT, b"Hello, world!", size)
            if empty:
                parts.insert(1, frame(CONTINUATION, b"", last=False))
            yield good(f"5.22 fragments of {size}, an empty one {empty}", parts, [(TEXT, b"Hello, world!")])


GOOD_TEXTS = ["κόσμε", "Hello-µ@ßöäüàá-UTF-8!!", "\u0000", "\u007f", "\u0080", "\u07ff", "\u0800", "\uffff",
              "\ufffd", "\ufffe", "\ud7ff", "\ue000", "\U00010000", "\U0010ffff", "\U0001fffe", "日本語", "👩‍💻" * 20]
BAD_TEXTS = [
    b"\x80", b"\xbf", b"\x80\xbf\x80", bytes(range(0x80, 0xc0)),          # continuations alone
    b"\xc0 ", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xe2(\xa1", b"\xe2\x82(", b"\xf0\x90\x8c", b"\xf0(\x8c\xbc",
    b"\xf0\x90(\xbc", b"\xf0\x90\x8c(",                                  # continuations missing
    b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf",
    b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80",                   # longer than needed
    b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf", b"\xed\xb0\x80", b"\xed\xbf\xbf",
    b"\xed\xa0\x80\xed\xb0\x80",                                         # surrogates
    b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf7\xbf\xbf\xbf", b"\xf8\x88\x80\x80\x80", b"\xfb\xbf\xbf\xbf\xbf",
    b"\xfc\x84\x80\x80\x80\x80", b"\xfd\xbf\xbf\xbf\xbf\xbf", b"\xfe", b"\xff", b"\xfe\xfe\xff\xff",  # beyond
]


def texts():
    for number, text in enumerate(GOOD_TEXTS, 1):
        payload = text.encode()
        for way, pieces in (("whole", [frame(TEXT, payload)]), ("bytewise", chopped(frame(TEXT, payload), 1)),
                            ("in fragments of a byte", frames.fragments(TEXT, payload, 1))):
            yield good(f"6.1.{number} text {ascii(text[:4])} {way}", pieces, [(TEXT, payload)])
    for number, text in enumerate(BAD_TEXTS, 1):
        for way, payload in (("alone", text), ("within", "κόσμε".encode() + text + b"edited")):
            yield bad(f"6.2.{number} no text {text[:6].hex()} {way}", [frame(TEXT, payload)], 1007)
            yield bad(f"6.3.{number} no text {text[:6].hex()} {way}, in fragments of a byte",
                      [b"".join(frames.fragments(TEXT, payload, 1))], 1007)
        yield good(f"6.4.{number} the same bytes {text[:6].hex()} as no text", [frame(BINARY, text)], [(BINARY, text)])


def closing():
    yield Case("7.1.1 nothing but a close", [], [close()], [])
    yield Case("7.1.2 two closes", [], [close() + close()], [])
    yield Case("7.1.3 ping behind a close", [], [close() + frame(PING)], [], pongs=[])
    yield Case("7.1.4 text behind a close", [], [close() + frame(TEXT, b"late")], [])
    yield Case("7.1.5 close within a message", [],
               [frame(TEXT, b"f1", last=False), close() + frame(CONTINUATION, b"f2")], [])
    yield Case("7.3.1 close without code", [], [frame(frames.CLOSE)], [], code=None)
    yield bad("7.3.2 close of one byte", [frame(frames.CLOSE, b"a")])
    for size in (0, 10, 123):
        yield Case(f"7.3.{3 + size} reason of {size} bytes", [], [close(1000, b"*" * size)], [])
    yield bad("7.3.6 reason of 124 bytes", [close(1000, b"*" * 124)])
    yield bad("7.5.1 reason that is no text", [close(1000, b"\xce\xba\xed\xa0\x80")], None)
    for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999):
        yield Case(f"7.7 code {code}", [], [close(code)], [], code=code)
    for code in (0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535):
        yield bad(f"7.9 code {code}", [close(code)])


def limits(scale):
    """Long messages and many of them. `scale`: the longest are so many times 64 KiB."""
    size = 64 * KIB
    while size <= scale * 64 * KIB:
        for opcode in (TEXT, BINARY):
            payload = b"*" * size
            yield good(f"9.1 {size} bytes, opcode {opcode}", [frame(opcode, payload)], [(opcode, payload)])
            for part in (64, 4 * KIB, 256 * KIB):
                if part < size <= part * 4 * KIB:
                    yield good(f"9.3 {size} bytes in fragments of {part}, opcode {opcode}",
                               [b"".join(frames.fragments(opcode, payload, part))], [(opcode, payload)])
            for part in (64, 2 * KIB):
                if size <= part * 16 * KIB:
                    yield good(f"9.5 {size} bytes in pieces of {part}, opcode {opcode}",
                               chopped(frame(opcode, payload), part), [(opcode, payload)])
        size *= 4
    for size in (0, 16, 64, 256, KIB, 4 * KIB):
        messages = [(BINARY, bytes([i % 256]) * size) for i in range(200 * min(scale, 5))]
        yield good(f"9.7 {len(messages)} messages of {size} bytes", [frame(*each) for each in messages], messages)
    payload = bytes(i % 251 for i in range(65536))
    yield good("10.1.1 65536 bytes in fragments of 1300", frames.fragments(BINARY, payload, 1300), [(BINARY, payload)])


OFFERS = ["permessage-deflate" + parameters for parameters in (
    "", "; client_max_window_bits", "; client_no_context_takeover", "; server_no_context_takeover",
    "; server_max_window_bits=9", "; server_max_window_bits=15; client_max_window_bits=9",
    "; server_no_context_takeover; client_no_context_takeover")]


def deflated(payloads, keep):
    compressor = None
    for payload in payloads:
        if compressor is None or not keep:
            compressor = zlib.compressobj(wbits=-9)
        data = compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH)
        yield data[:-4]  # RFC 7692, 7.2.1


def compression(count):
    """So many messages of each size. Some of their frames are divided."""
    for number, offer in enumerate(OFFERS, 1):
        for size in (16, 64, 256, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB):
            payloads = [(b'{"id": %d, "value": "%x"}' % (i, i * 2654435761)) * (size // 24 + 1) for i in range(count)]
            payloads = [payload[:size] for payload in payloads]
            pieces = []
            for i, data in enumerate(deflated(payloads, "client_no_context" not in offer)):
                if i % 3 == 2:
                    half = len(data) // 2
                    pieces.append(frame(BINARY, data[:half], last=False, reserved=4) + frame(CONTINUATION, data[half:]))
                else:
                    pieces.append(frame(BINARY, data, reserved=4))
            yield good(f"12.{number} {count} messages of {size} bytes, {offer}", pieces,
                       [(BINARY, payload) for payload in payloads], offer=offer)
    yield bad("13.1 reserved bit of compression, but no data that inflates", [frame(TEXT, b"\xff" * 8, reserved=4)])


def all_cases(whole):
    families = [framing(), pings(), reserved_bits(), opcodes(), fragmentation(), texts(), closing(),
                limits(256 if whole else 1), compression(100 if whole else 4)]
    cases = [case for family in families for case in family]
    assert len({case.name for case in cases}) == len(cases)
    return cases


def subset():
    """Of each family some, at least one of each kind."""
    kinds, chosen = {}, []
    for case in all_cases(whole=False):
        kind = tuple(case.name.split(" ")[0].split(".")[:2]) + (case.orderly,)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= 2:
            chosen.append(case)
    return chosen
