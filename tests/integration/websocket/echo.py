"""A server that sends every WebSocket message back, of any size or of at most as many bytes as its argument says.
Prints its port. Run by the Python that Debian's websockets are installed for."""

import asyncio
import sys

import websockets


async def echo(connection, _path=None):
    async for message in connection:
        await connection.send(message)


async def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else None
    async with websockets.serve(echo, "127.0.0.1", 0, ping_interval=None, max_size=most, max_queue=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()


asyncio.run(main())
