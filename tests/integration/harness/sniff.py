"""Captures what is sent to UDP ports of loopback: a program of its own, since it needs root.

    sniff.py SECONDS PORT… prints a line for each datagram: its source port, its target, its bytes.
"""

import socket
import sys
import time

ETHERNET, UDP, IP = 14, 17, 0x0800
AT_MOST_LATER_S = 0.5


def main(seconds, ports):
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(IP))
    tap.bind(("lo", 0))
    tap.settimeout(0.1)
    print("ready", flush=True)
    end = time.monotonic() + seconds
    # What waits in the socket then is read as well: this process may have had no core for a while.
    while time.monotonic() < end + AT_MOST_LATER_S:
        if time.monotonic() >= end:
            tap.setblocking(False)
        try:
            frame, about = tap.recvfrom(65536)
        except TimeoutError:
            continue
        except BlockingIOError:
            break
        packet = frame[ETHERNET:]
        if about[2] == socket.PACKET_OUTGOING or len(packet) < 28 or packet[9] != UDP:
            continue  # loopback shows each packet twice
        datagram = packet[(packet[0] & 15) * 4:]
        source, target, length = (int.from_bytes(datagram[i:i + 2], "big") for i in (0, 2, 4))
        if target in ports:
            print(source, target, datagram[8:length].hex())


if __name__ == "__main__":
    main(float(sys.argv[1]), {int(port) for port in sys.argv[2:]})
