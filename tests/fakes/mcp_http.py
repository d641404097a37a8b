"""The MCP server of the working folder over HTTP, which the conformance suite asks for, as `python -m`."""

import socket
import sys
from pathlib import Path

import uvicorn

from skillopt_mcp.server import make_server

if __name__ == "__main__":
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sys.stderr.write(f"serving http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        sys.stderr.flush()
        app = make_server(Path.cwd()).streamable_http_app(host="127.0.0.1")
        uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)).run(sockets=[listener])
