"""The sandbox: what a program in it can do, what not, and what is recorded of it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError, ProviderError
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Acts, Status
from skillopt.sandbox import bubblewrap as sandbox
from skillopt.sandbox.bubblewrap import Sandbox, sandbox_warning
from skillopt.sandbox.processes import descendants
from skillopt.sandbox.workspace import Workspace
from skillopt.targets.claude_code.client import ClaudeCodeHarness
from skillopt.targets.codex.client import CodexHarness
from skillopt.targets.process import AgentCommand, AgentHome
from skillopt.targets.stream import ClientRun
from tests.agents.rows import RULE, TASK, ask
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.fake_openai import fake_openai
from tools.fake_providers.loopback import LoopbackServer, as_json, serve

pytestmark = pytest.mark.process

needs_bwrap = pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")


@pytest.fixture
def provider() -> Iterator[LoopbackServer]:
    with serve(lambda _: as_json(200, {"said": "hello"})) as server:
        yield server


@pytest.fixture
def workspace() -> Iterator[Path]:
    with Workspace.create() as made:
        yield Path(made.path)


def boxed(script: str, workspace: Path, url: str, seconds: float = 30.0) -> ClientRun:
    with AgentHome.create() as home:
        command = AgentCommand(("/bin/sh", "-c", script), home.environment(), "", Sandbox("bwrap"), url)
        return command.run(home, str(workspace), seconds)


@needs_bwrap
def test_only_workspace_and_home_can_be_written(workspace: Path, provider: LoopbackServer, tmp_path: Path) -> None:
    places = ("/etc/x", "/usr/x", "/srv/x", str(Path.cwd() / "x"))
    tries = "; ".join(f"(: >{place}) 2>/dev/null" for place in places)
    ended = boxed(
        f"{tries}; echo one >in.txt; echo two >$HOME/two; cat in.txt $HOME/two; : >{tmp_path}/x",
        workspace,
        provider.url,
    )
    assert ended.stdout == "one\ntwo\n"
    assert (workspace / "in.txt").read_text(encoding="utf-8") == "one\n"
    assert not list(tmp_path.iterdir())
    assert not any(Path(place).exists() for place in places)


@needs_bwrap
def test_the_user_s_home_and_temporary_files_are_not_there_to_read(
    workspace: Path, provider: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "secret").write_text("treasure", encoding="utf-8")
    ended = boxed(f"cat {tmp_path}/secret /proc/{os.getpid()}/environ", workspace, provider.url)
    assert ended.exit_status != 0
    assert ended.stdout == ""


@needs_bwrap
def test_the_environment_of_an_agent_holds_inside_only(
    workspace: Path, provider: LoopbackServer, tmp_path: Path
) -> None:
    """Programs of its PATH would else run outside: the timer, and what starts the sandbox."""
    for name in ("sleep", "bwrap", "sh"):
        (tmp_path / name).write_text(f"#!/bin/sh\n/bin/touch {tmp_path}/escaped\n")
        (tmp_path / name).chmod(0o755)
    (workspace / "env.sh").write_text(f"/bin/touch {tmp_path}/escaped\n")
    with AgentHome.create() as home:
        given = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ENV": str(workspace / "env.sh"), "MY_KEY": "two\nlines"}
        env = {**home.environment(), **given}
        shown = 'echo "$MY_KEY $ENV"'
        command = AgentCommand(("/bin/sh", "-c", shown), env, "", Sandbox("bwrap"), provider.url)
        ended = command.run(home, str(workspace), 20.0)
    assert ended.stdout == f"two\nlines {workspace}/env.sh\n"
    assert not (tmp_path / "escaped").exists()


@needs_bwrap
def test_the_provider_is_all_that_can_be_reached(workspace: Path, provider: LoopbackServer) -> None:
    with serve(lambda _: as_json(200, {})) as other:
        script = (
            "import sys, urllib.request\n"
            "for url in sys.argv[1:]:\n"
            "    try:\n"
            "        print(urllib.request.urlopen(url, timeout=20).read().decode())\n"
            "    except OSError as error:\n"
            "        print('refused')\n"
        )
        (workspace / "ask.py").write_text(script, encoding="utf-8")
        python = os.path.realpath(sys.executable)
        ended = boxed(f"{python} -I -S ask.py {provider.url} {other.url} http://example.com", workspace, provider.url)
        assert ended.stdout.split("\n")[:3] == ['{"said": "hello"}', "refused", "refused"], ended.stderr
        assert other.requests == []
    assert len(provider.requests) == 1


@needs_bwrap
def test_its_exit_status_comes_through_and_nothing_outlives_it(workspace: Path, provider: LoopbackServer) -> None:
    script = (
        "(setsid sh -c 'while sleep 0.05; do date >>beats; done' &) ; until [ -s beats ]; do sleep 0.05; done; exit 7"
    )
    assert boxed(script, workspace, provider.url).exit_status == 7
    before = (workspace / "beats").read_text(encoding="utf-8")
    boxed("sleep 0.3", workspace, provider.url)
    assert (workspace / "beats").read_text(encoding="utf-8") == before != ""


@needs_bwrap
def test_an_interrupt_reaches_the_program_inside(workspace: Path, provider: LoopbackServer) -> None:
    ended = boxed("trap 'echo soft; exit 3' INT; while :; do sleep 0.05; done", workspace, provider.url, seconds=1)
    assert (ended.interrupted, ended.stdout, ended.exit_status) == (True, "soft\n", 3)


@needs_bwrap
def test_a_provider_that_it_cannot_stand_in_for_is_refused(workspace: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"found '10\.0\.0\.5'"):
        boxed("true", workspace, "http://10.0.0.5:8000")


@needs_bwrap
def test_a_proxy_that_is_set_can_be_reached_too(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:443")
    hosts = boxed("cat /etc/hosts", workspace, "https://api.example.com").stdout
    assert hosts == "127.0.0.1 localhost\n127.0.1.1 api.example.com\n127.0.1.2 proxy.example\n"


@needs_bwrap
def test_nobody_can_undo_it_from_inside_not_even_root(workspace: Path, provider: LoopbackServer) -> None:
    setting = "/proc/sys/kernel/core_uses_pid"
    tries = (
        *("umount /tmp", "mount -o remount,rw,bind /", "mount -o remount,rw /proc", "mount -t tmpfs none /mnt"),
        *("unshare -Urm umount /tmp", "unshare -Urm mount -o remount,rw,bind /"),
        f"value=$(cat {setting}); (echo $value >{setting})",
    )
    script = "; ".join(f"{{ {attempt}; }} 2>/dev/null && echo 'done: {attempt}'" for attempt in tries)
    ended = boxed(f"{script}; grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status", workspace, provider.url)
    assert ended.stdout.split()[1::2] == ["0" * 16] * 4


@needs_bwrap
def test_it_works_for_who_is_not_root() -> None:
    unshare = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("no unshare here that gives another user's number")
    program = "from skillopt.sandbox.bubblewrap import sandbox_warning; print(sandbox_warning('auto') or 'works')"
    ended = subprocess.run([*unshare, sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert ended.stdout == "works\n", ended.stderr


@needs_bwrap
@pytest.mark.parametrize("on_path", ["{base}", "{home}/..", "{base}/link/tools"])
@pytest.mark.parametrize("home", ["{base}/home", "{base}/link"])
def test_a_home_stays_hidden_whatever_it_is_called_and_the_path_says(
    home: str, on_path: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "home" / "tools"
    tools.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "home")
    (tmp_path / "home" / "secret").write_text("treasure", encoding="utf-8")
    (tools / "tool").write_text("#!/bin/sh\necho tool\n", encoding="utf-8")
    (tools / "tool").chmod(0o755)
    named = home.format(base=tmp_path)
    monkeypatch.setenv("HOME", named)
    monkeypatch.setenv("PATH", on_path.format(base=tmp_path, home=named), prepend=":")
    ended = boxed(f"tool; cat {named}/secret {tmp_path}/home/secret", workspace, "http://127.0.0.1:9")
    assert ended.stdout == ("tool\n" if on_path.endswith("/tools") else "")
    assert "secret: No such file" in ended.stderr


@needs_bwrap
def test_temporary_files_may_be_deep(tmp_path: Path, provider: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 108)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with Workspace.create() as made:
        ask = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"
        python = os.path.realpath(sys.executable)
        ended = boxed(f"{python} -I -S -c '{ask}' {provider.url}", Path(made.path), provider.url)
    assert ended.stdout == '{"said": "hello"}\n', ended.stderr


@needs_bwrap
def test_no_service_of_the_system_can_be_asked_through_its_socket(workspace: Path, provider: LoopbackServer) -> None:
    assert boxed("find /run/ /tmp/ -type s ! -path '*/net/*'", workspace, provider.url).stdout == ""


def test_where_it_is_insisted_on_and_missing_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox._trouble.cache_clear()  # noqa: SLF001 - it is tried once a process
    try:
        with pytest.raises(ProviderError, match="missing_program: expected a working"):
            Sandbox("bwrap")
        assert "no sandbox" in sandbox_warning("auto")
        assert sandbox_warning("none") == ""
        assert not Sandbox("auto").active
    finally:
        sandbox._trouble.cache_clear()  # noqa: SLF001 - as above


@pytest.mark.agents
@needs_bwrap
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_real_agent_does_its_task_inside(
    client: str, agent: Callable[[str], str], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-loopback-only")
    (workspace / "input.csv").write_bytes(TASK.files[0].content)
    with (fake_anthropic if client == "claude" else fake_openai)() as server:
        harness: Harness = (
            ClaudeCodeHarness(program=agent(client), base_url=server.url, sandbox="bwrap")
            if client == "claude"
            else CodexHarness("fake-model", program=agent(client), base_url=f"{server.url}/v1", sandbox="bwrap")
        )
        found = harness.run(RolloutRequest(ask(RULE).skill, TASK), str(workspace))
    assert found.status is Status.OK, found.reason
    assert "ann@example.com" in (workspace / "output.csv").read_text(encoding="utf-8")


def command_line(number: int) -> bytes:
    return Path(f"/proc/{number}/cmdline").read_bytes()


def recorded(script: str, url: str = "http://127.0.0.1:9") -> Acts:
    with AgentHome.create() as home, Workspace.create() as workspace:
        command = AgentCommand(("/bin/sh", "-c", script), home.environment(), "", Sandbox("bwrap"), url)
        found = command.run(home, workspace.path, 60.0).acts
    assert found is not None
    return found


@needs_bwrap
def test_a_program_whose_calls_make_no_sense_goes_on_and_the_record_does_too() -> None:
    nonsense = (
        'import ctypes; c = ctypes.CDLL(None); c.open(1, 0); c.syscall(59, 7, 0); c.connect(-1, 3, 9); open("/srv/x")'
    )
    assert "/srv/x" in (recorded(f"python3 -S -c '{nonsense}'", "http://127.0.0.1:9").read or ())


@needs_bwrap
def test_the_end_of_the_recording_process_ends_the_rollout() -> None:
    def kill(_: object) -> object:
        mine = [number for number in descendants(os.getpid()) if b"\0outside\0" in command_line(number)]
        for number in mine:
            os.kill(number, signal.SIGKILL)
        return as_json(200, {})

    with serve(kill) as provider, AgentHome.create() as home, Workspace.create() as workspace:  # type: ignore[arg-type]  # the server takes any
        script = f"curl -s {provider.url}; sleep 60"
        command = AgentCommand(("/bin/sh", "-c", script), home.environment(), "", Sandbox("bwrap"), provider.url)
        ended = command.run(home, workspace.path, 50)
    assert (ended.exit_status, ended.interrupted) == (-signal.SIGKILL, False)
