"""Start skillopt-mcp where it is installed; where it is not, serve one tool that says how to install it.

Needs nothing but the standard library of Python 3.6 or newer, as nobody knows which one a machine has: hence no newer
syntax. What runs skillopt-mcp is the Python that it was installed with.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

NAME = "skillopt-mcp"
TOOL = "install_skillopt"
NEEDED = (3, 11)
VARIABLE = "PLUGIN_VERSION_OF_SKILLOPT"  # SKILLOPT_… are settings, and an unknown one is refused
SECONDS = 20
MODERN = ("2026-07-28",)
OLDER = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NOT_FOUND, BAD_JSON, BAD_REQUEST = -32601, -32700, -32600
ABOUT = (
    "Say how the program of SkillOpt is installed, which is not here yet. Until then skills can be neither listed nor "
    "measured nor trained."
)
FIRST = "SkillOpt's program is not installed on this machine. Call `%s` and tell the user what to type." % TOOL


def main():
    """Start the program in place of this one, or serve the tool."""
    manifest = read_manifest()
    command, version = find_program(manifest)
    if command is None:
        serve(manifest)
        return 0
    wanted = str(manifest.get("version", ""))
    if version and version != wanted:
        sys.stderr.write("skillopt: the plugin is %s, the program %s; update the older one\n" % (wanted, version))
    os.environ[VARIABLE] = wanted
    sys.stderr.flush()
    os.execvp(command[0], command + sys.argv[1:])
    return 1


def read_manifest():
    """Read the plugin's plugin.json; empty where it cannot be read."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        with open(os.path.join(folder, ".claude-plugin", "plugin.json"), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def find_program(manifest):
    """Give the command that starts the program, and its version; (None, "") where there is none.

    The project's own folders are not looked into: whoever wrote the project would decide what is run.
    """
    for path in places():
        version = version_of(path)
        if version:
            return [path], version
    source, uvx = pinned_source(manifest), shutil.which("uvx")
    return ([uvx, "--from", source, NAME], "") if source and uvx else (None, "")


def places():
    """List where the program may lie: on the PATH, in the active environment, where pipx and uv put it."""
    home = os.path.expanduser("~")
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    tools = os.environ.get("UV_TOOL_DIR") or os.path.join(data, "uv", "tools")
    pipx = [os.environ.get("PIPX_HOME", ""), os.path.join(data, "pipx"), os.path.join(home, ".local", "pipx")]
    folders = [
        os.path.join(os.environ.get("VIRTUAL_ENV") or os.sep, "bin"),
        os.path.dirname(sys.executable or ""),
        os.environ.get("PIPX_BIN_DIR", ""),
        os.environ.get("UV_TOOL_BIN_DIR", ""),
        os.environ.get("XDG_BIN_HOME", ""),
        os.path.join(home, ".local", "bin"),
        os.path.join(tools, NAME, "bin"),
        os.path.join(home, ".local", "share", NAME, "bin"),
    ]
    folders += [os.path.join(each, "venvs", NAME, "bin") for each in pipx if each]
    listed = [shutil.which(NAME)] + [os.path.join(folder, NAME) for folder in folders if os.path.isabs(folder)]
    found = [path for path in listed if path and os.path.isfile(path) and os.access(path, os.X_OK)]
    return sorted(set(found), key=found.index)


def version_of(path):
    """Ask a program for its version; empty where it is another program, or does not run."""
    try:
        told = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    words = told.stdout.decode("utf-8", "replace").split()
    return words[1] if told.returncode == 0 and len(words) == 2 and words[0] == NAME else ""


def pinned_source(manifest):
    """Give the git address of the plugin's own version, empty where the plugin names none.

    The bare name is never used: it is not registered at the package index, so that anybody could register it.
    """
    address, version = str(manifest.get("repository", "")), str(manifest.get("version", ""))
    if not re.match(r"https?://[\w.:/~-]+$", address) or not re.match(r"\d+\.\d+\.\d+$", version):
        return ""
    return "git+%s@v%s" % (address, version)


def clone_around():
    """Give the folder of the clone that the plugin runs from, for a shell; empty where it runs from a copy."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    try:
        with open(os.path.join(folder, "pyproject.toml"), encoding="utf-8") as file:
            found = 'name = "%s"' % NAME in file.read()
    except (OSError, ValueError):
        return ""
    return shlex.quote(folder) if found else ""


def how_to_install(manifest):
    """Say what to type on this machine."""
    command, version = find_program(manifest)
    if command:
        return (
            "The program of SkillOpt %s is here now. Tell the user to start it: in Claude Code type /mcp, choose "
            "skillopt and reconnect; in Codex start a new session. Then go on." % version
        ).replace("  ", " ")
    source = clone_around() or pinned_source(manifest) or "PATH-OF-CLONE"
    lines = ["SkillOpt's program, %s, is not installed on this machine." % NAME]
    lines += ["Tell the user to type in a terminal:", ""]
    lines += ["    " + line for line in install_lines(source)]
    if source == "PATH-OF-CLONE":
        lines += ["", "PATH-OF-CLONE is the folder of a clone of skillopt; no package index has it yet."]
    lines += ["", "Afterwards: in Claude Code type /mcp, choose skillopt and reconnect; in Codex start a new session."]
    lines += ["Do not install %s by its bare name: it could be anybody's. Do not go on without the program." % NAME]
    return "\n".join(lines)


def install_lines(source):
    """List the commands for what is on this machine."""
    if shutil.which("uv"):  # it brings a Python that is new enough
        return ["uv tool install " + source]
    if sys.version_info < NEEDED:
        needed = "%d.%d" % NEEDED
        here = "%d.%d" % sys.version_info[:2]
        return [
            "# python3 is %s here, and skillopt needs %s or newer: install that first, then" % (here, needed),
            "pipx install --python python%s %s" % (needed, source),
        ]
    if shutil.which("pipx"):
        return ["pipx install " + source]
    return ["python3 -m venv ~/.local/share/%s" % NAME, "~/.local/share/%s/bin/pip install %s" % (NAME, source)]


def serve(manifest):
    """Answer line by line, until there are no more lines."""
    # Bytes, so that no setting of the machine's language changes what goes over the pipe.
    for line in sys.stdin.buffer:
        if line.strip():
            reply = answer(line, manifest)
            if reply is not None:
                sys.stdout.buffer.write(json.dumps(reply).encode("utf-8") + b"\n")
                sys.stdout.buffer.flush()


def answer(line, manifest):
    """Give the reply to a line, None where none is due."""
    try:
        asked = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return failed(None, BAD_JSON, "expected JSON in UTF-8")
    if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):
        return None if is_reply(asked) else failed(None, BAD_REQUEST, "expected a request of JSON-RPC 2.0")
    if "id" not in asked:
        return None
    params = asked.get("params")
    result = result_of(asked["method"], params if isinstance(params, dict) else {}, manifest)
    if result is None:
        return failed(asked["id"], NOT_FOUND, "not served until the program is installed; call %s" % TOOL)
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


def is_reply(asked):
    """Tell whether it is the reply to a request, of which there are none."""
    return isinstance(asked, dict) and ("result" in asked or "error" in asked)


def failed(number, code, message):
    """Give an error."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def result_of(method, params, manifest):
    """Give the result of a request of either protocol era; None for a method that is not there."""
    meta = params.get("_meta")
    modern = isinstance(meta, dict) and "io.modelcontextprotocol/protocolVersion" in meta
    about = {"name": "skillopt", "title": "SkillOpt", "version": str(manifest.get("version", "0"))}
    more = {"resultType": "complete"} if modern else {}
    kept = dict(more, ttlMs=0, cacheScope="private") if modern else {}
    can = {"tools": {"listChanged": False}}
    if method == "initialize":
        asked = params.get("protocolVersion")
        chosen = asked if asked in OLDER else OLDER[0]
        return {"protocolVersion": chosen, "capabilities": can, "serverInfo": about, "instructions": FIRST}
    if method == "server/discover":
        said = {"io.modelcontextprotocol/serverInfo": about}
        found = {"supportedVersions": list(MODERN), "capabilities": can, "instructions": FIRST, "_meta": said}
        return dict(found, resultType="complete", ttlMs=0, cacheScope="private")
    if method == "tools/list":
        return dict(kept, tools=[tool()])
    if method == "tools/call":
        known = params.get("name") == TOOL
        text = how_to_install(manifest) if known else "expected %s, the only tool until it is installed" % TOOL
        return dict(more, content=[{"type": "text", "text": text}], isError=not known)
    return dict(more) if method == "ping" else None


def tool():
    """Describe the tool."""
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return {
        "name": TOOL,
        "title": "How to install SkillOpt",
        "description": ABOUT,
        "inputSchema": schema,
        "annotations": hints,
        "_meta": {"anthropic/alwaysLoad": True},
    }


if __name__ == "__main__":
    sys.exit(main())
