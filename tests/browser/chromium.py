"""Headless Chromium driven through its DevTools protocol, over a pipe: pages, their console and their requests.

Owns starting and ending the browser and what a page did while it was open. Needs no package: the protocol
is JSON, and the pipe ends every message with a zero byte. Does not own what is checked (the tests).
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 60.0
_LOWEST = 10
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
# Descriptors 3 and 4 are where the browser looks for its pipe.
_EXEC = 'in=$1 out=$2; shift 2; exec "$@" 3<&"$in" 4>&"$out"'


class BrowserError(Exception):
    """The browser is not there, has gone, or did not do what it was told."""


def find_chromium() -> str | None:
    """Find a browser: what CHROMIUM names, or the first on the PATH."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


class Chromium:
    """A running browser; use `open_browser`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._unread = b""
        self._asked = 0
        self._pages: dict[str, Page] = {}

    def call(self, method: str, session: str = "", **parameters: object) -> Any:  # noqa: ANN401 - as the protocol has it
        """Return a command and wait for its answer, however much else the pages tell meanwhile."""
        self._asked += 1
        asked = self._asked
        message = {"id": asked, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        until = time.monotonic() + _PATIENCE
        while (answer := self.next_message(until)).get("id") != asked:
            pass
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def next_message(self, until: float) -> dict[str, Any]:
        """Wait for the next message until then; one that tells what a page did is noted on the page."""
        while b"\0" not in self._unread:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise BrowserError(f"the browser did not do in {_PATIENCE:.0f} s what it was asked for")
            read = os.read(self._from, 1 << 20)
            if not read:
                raise BrowserError("the browser has gone")
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if page := self._pages.get(message.get("sessionId", "")):
            page.note(message)
        return message

    def page(self) -> "Page":
        """Open an empty page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        return page


@dataclass
class Page:
    """One tab: what it logged and what it asked the network for since it was opened."""

    browser: Chromium
    session: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: object) -> Any:  # noqa: ANN401 - as the protocol has it
        """Return the page a command."""
        return self.browser.call(method, self.session, **parameters)

    def note(self, message: dict[str, Any]) -> None:
        """Take note of what the page did."""
        method, told = message.get("method", ""), message.get("params", {})
        self.events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(f"{told['entry']['level']}: {told['entry']['text']}")
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{told['type']}: {json.dumps(told['args'])}")
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {told['message']}")

    def open(self, address: str) -> None:
        """Go to an address and wait until it is loaded."""
        self.events.clear()
        gone = self.call("Page.navigate", url=address)
        if gone.get("errorText"):
            raise BrowserError(f"{address}: {gone['errorText']}")
        self.wait_for("Page.loadEventFired")

    def wait_for(self, event: str) -> None:
        """Wait until the page has said so since it was last opened."""
        until = time.monotonic() + _PATIENCE
        while event not in self.events:
            self.browser.next_message(until)

    def evaluate(self, script: str) -> Any:  # noqa: ANN401 - whatever the script gives
        """Run a script in the page, whatever the page allows itself, and give what it comes to."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise BrowserError(json.dumps(told["exceptionDetails"])[:2000])
        return told["result"].get("value")

    def look(self, *, theme: str = "light", width: int = 1200, height: int = 900, media: str = "") -> None:
        """Show the page as a reader with this theme and window would see it."""
        scheme = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)


@contextmanager
def open_browser(profile: Path) -> Iterator[Chromium]:
    """Start a browser with a profile of its own, and end it."""
    program, shell = find_chromium(), shutil.which("bash")
    if program is None or shell is None:
        raise BrowserError(
            "expected chromium and bash on the PATH; install Debian's `chromium`, or name one: CHROMIUM=…"
        )
    theirs_in, ours_out = _high_pipe()
    ours_in, theirs_out = _high_pipe()
    # Its own sandbox needs an ordinary user; a container's root has none.
    flags = (*_FLAGS, f"--user-data-dir={profile}", *(("--no-sandbox",) if os.geteuid() == 0 else ()))
    command = [shell, "-c", _EXEC, "bash", str(theirs_in), str(theirs_out), program, *flags]
    with subprocess.Popen(
        command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs_in)
        os.close(theirs_out)
        browser = Chromium(ours_out, ours_in)
        try:
            yield browser
            browser.call("Browser.close")
            process.wait(_PATIENCE)
        finally:
            process.kill()
            os.close(ours_out)
            os.close(ours_in)


def _high_pipe() -> tuple[int, int]:
    """Make a pipe whose ends are out of the way of 3 and 4."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _LOWEST) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]
