"""A simulated provider: answers the Messages API after a fixed time. It holds no model.

    python -m benchmarks.simulated_provider SECONDS

Prints its port. It runs in a process of its own, so that what it takes is not counted as ours.
"""

import asyncio
import json
import sys

__all__ = ["main"]

_ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "simulated",
    "content": [{"type": "text", "text": "42"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 2},
}


async def _serve(latency: float) -> None:
    body = json.dumps(_ANSWER).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(asked.partition(b"content-length:")[2].partition(b"\r\n")[0]))
                await asyncio.sleep(latency)
                writer.write(head + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve until killed."""
    asyncio.run(_serve(float(sys.argv[1])))


if __name__ == "__main__":
    main()
