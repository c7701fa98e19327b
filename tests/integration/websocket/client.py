"""Plays a case against a server and writes down what it answers, byte for byte."""

import base64
import dataclasses
import hashlib
import socket
import threading
import zlib

from . import frames

KEY = base64.b64encode(b"sixteen bytes...").decode()
ACCEPT = base64.b64encode(hashlib.sha1(f"{KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
# What a proxy may add, and what changes by itself.
NOT_COMPARED = {"via", "date"}
PATIENCE_S = 60


@dataclasses.dataclass
class Transcript:
    status: str
    fields: list
    stream: bytes  # everything behind the head
    end: str


def connect(address):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def request(offer="", path="/echo"):
    extensions = f"Sec-WebSocket-Extensions: {offer}\r\n" if offer else ""
    return (f"GET {path} HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n{extensions}\r\n").encode()


def read_head(connection):
    """The status line, the fields that are compared, and the bytes that came behind."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        assert more, f"the connection ended within the head: {data}"
        data += more
    head, rest = data.split(b"\r\n\r\n", 1)
    status, *lines = head.decode().split("\r\n")
    fields = [(name.strip().lower(), value.strip()) for name, value in (line.split(":", 1) for line in lines)]
    return status, sorted((name, value.lower() if name in ("connection", "upgrade") else value)
                          for name, value in fields if name not in NOT_COMPARED), rest


def open_tunnel(address, offer="", path="/echo"):
    connection = connect(address)
    connection.sendall(request(offer, path))
    status, fields, rest = read_head(connection)
    return connection, status, fields, rest


def play(case, address):
    connection, status, fields, rest = open_tunnel(address, case.offer)
    assert status.split()[1] == "101", status

    all_came = threading.Event()

    def send():
        try:
            for piece in case.pieces:
                connection.sendall(piece)
            all_came.wait(PATIENCE_S)
            for piece in case.last:
                connection.sendall(piece)
        except OSError:
            pass  # the server has closed, which the reader sees

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    counter = frames.Counter()
    parts, end = [rest], "end"
    try:
        while True:
            counter.take(parts[-1])
            if counter.messages >= len(case.echoed):
                all_came.set()
            more = connection.recv(1 << 20)
            if not more:
                break
            parts.append(more)
    except ConnectionResetError:
        end = "reset"
    except TimeoutError:
        end = "none"
    all_came.set()
    connection.close()
    sender.join()
    return Transcript(status, fields, b"".join(parts), end)


def messages(stream):
    """What a server sent: messages, payloads of pongs, codes of closes."""
    inflater = zlib.decompressobj(wbits=-15)
    whole, pongs, codes, opcode, deflated, data = [], [], [], None, False, b""
    for kind, last, reserved, payload in frames.parsed(stream):
        if kind == frames.PONG:
            pongs.append(payload)
        elif kind == frames.CLOSE:
            codes.append(frames.close_code(payload))
        else:
            if kind != frames.CONTINUATION:
                opcode, deflated, data = kind, reserved == 4, b""
            data += payload
            if last:
                whole.append((opcode, inflater.decompress(data + b"\0\0\xff\xff") if deflated else data))
    return whole, pongs, codes


def problems(case, transcript):
    """How the answers differ from what the case expects of a good server."""
    found = []
    if ("sec-websocket-accept", ACCEPT) not in transcript.fields:
        found.append("Sec-WebSocket-Accept is missing")
    whole, pongs, codes = messages(transcript.stream)
    if whole != case.echoed:
        found.append(f"{len(whole)} messages came back of {len(case.echoed)}, or others")
    if case.pongs is not None and pongs != case.pongs:
        found.append(f"pongs {pongs}")
    if len(codes) != 1 or (case.code is not None and codes[0] != case.code):
        found.append(f"closed with {codes}, not {case.code}")
    if transcript.end == "none" or (case.orderly and transcript.end != "end"):
        found.append(f"the end of the connection: {transcript.end}")
    return found


def differences(case, direct, proxied):
    """How what came through a proxy differs from what came directly."""
    found = [f"{name}: {getattr(direct, name)} became {getattr(proxied, name)}" for name in ("status", "fields")
             if getattr(direct, name) != getattr(proxied, name)]
    if direct.stream != proxied.stream:
        found.append(f"{len(direct.stream)} bytes became {len(proxied.stream)}, or others")
    # A server that closes with bytes unread may reset the connection or not.
    if case.orderly and direct.end != proxied.end:
        found.append(f"the end: {direct.end} became {proxied.end}")
    return found
