"""A program that answers as an MCP server over stdio, with one tool that only reads.

It imports nothing of this project, so that clients can start it from anywhere.
"""

import json
import sys

_TOOL = {
    "name": "list_skills",
    "description": "List the skills of this project.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}
_VERSION = "2025-06-18"


def main() -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"], **_answer(asked["method"])}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _answer(method: str) -> dict[str, object]:
    known: dict[str, dict[str, object]] = {
        "initialize": {
            "protocolVersion": _VERSION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "skillopt", "version": "0"},
        },
        "tools/list": {"tools": [_TOOL]},
        "ping": {},
    }
    if method in known:
        return {"result": known[method]}
    return {"error": {"code": -32601, "message": f"no {method}"}}


if __name__ == "__main__":
    main()
