"""JUnit XML, for the test views of CI systems: a writer, and a run as cases of gated tasks and of the verdict.

A task that fails under the candidate is a failure, one that was not run is skipped, a measurement that broke is an
error. It is valid against both schemas in common use: that of Ant (windyroad/JUnit-Schema, the stricter one) and that
of Jenkins (junit-10.xsd).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree as ET  # written only; nothing is parsed

from skillopt.gate.comparison import Outcome
from skillopt.reports.run_report import change_outcome, change_passed, is_change
from skillopt.reports.view import GateView, PairView, RunView
from skillopt.safety.escaping import escape_hidden, truncate

__all__ = ["JUnitCase", "JUnitSuite", "print_junit", "render_junit"]

_LONGEST = 2000
_EPOCH = "1970-01-01T00:00:00"


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """A case, which passed unless it is of a kind: `failure`, `error` or `skipped`."""

    place: str
    name: str
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Cases under a name, with what is known of all of them."""

    name: str
    cases: Sequence[JUnitCase]
    properties: Sequence[tuple[str, str]] = ()
    out: str = ""


def print_junit(suites: Iterable[JUnitSuite], begun: str = "") -> str:
    """Write suites as XML; characters that XML cannot hold are replaced."""
    at = datetime.fromisoformat(begun or _EPOCH).replace(tzinfo=None).isoformat(timespec="seconds")
    root = ET.Element("testsuites")
    root.extend(_element(suite, number, at) for number, suite in enumerate(suites))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _element(suite: JUnitSuite, number: int, at: str) -> ET.Element:
    found = ET.Element("testsuite", name=_text(suite.name), package="skillopt", id=str(number), timestamp=at)
    found.set("hostname", "localhost")
    found.set("tests", str(len(suite.cases)))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        found.set(attribute, str(sum(case.kind == kind for case in suite.cases)))
    found.set("time", "0")
    properties = ET.SubElement(found, "properties")
    for key, value in suite.properties:
        ET.SubElement(properties, "property", name=key, value=_text(value))
    for case in suite.cases:
        written = ET.SubElement(found, "testcase", name=_text(case.name), classname=_text(case.place), time="0")
        if case.kind:
            told = ET.SubElement(written, case.kind, type=case.kind, message=_text(case.message))
            told.text = _text(case.text) or None
    ET.SubElement(found, "system-out").text = _text(suite.out)
    ET.SubElement(found, "system-err")
    return found


def render_junit(view: RunView) -> str:
    """Return the run as JUnit XML."""
    gate = _judged_gate(view)
    suites = [("verdict", [_verdict(view)])]
    if gate is not None:
        suites.append((f"val, gate {gate.number}", list(_cases(gate.tasks, view, "val"))))
    if view.test is not None:
        suites.append(("test", list(_cases(view.test.tasks, view, "test"))))
    known = [("run", view.run), ("target", view.target), ("suite", view.suite_digest)]
    known += [("caution", view.caution)] if view.caution else []
    return print_junit((JUnitSuite(f"{view.skill}: {name}", cases, known) for name, cases in suites), view.started)


def _judged_gate(view: RunView) -> GateView | None:
    """Choose the gate to show: the last that accepted, else the last."""
    taken = [gate for gate in view.gates if gate.version is not None]
    return next(reversed(taken or view.gates), None)


def _verdict(view: RunView) -> JUnitCase:
    compared = view.test.verdict if view.test else view.gates[-1].verdict if view.gates else None
    kind, message = "", ""
    if compared is None:
        kind, message = "skipped", "no candidate reached the gate"
    elif compared.outcome is Outcome.INVALID or view.state == "failed":
        kind, message = "error", view.reason or compared.reason
    elif is_change(view):
        if change_passed(view) is None:
            why = view.test_withheld or view.reason or f"the run is {view.state}"
            kind, message = "error", f"not decided: {why}"
        elif not change_passed(view):
            kind, message = "failure", f"{change_outcome(view)}: {view.reason or compared.reason}"
    elif compared.outcome is not Outcome.ACCEPT:
        kind, message = "failure", f"{compared.outcome.value}: {compared.reason}"
    return JUnitCase(view.skill, "verdict", kind, message)


def _cases(tasks: Sequence[PairView], view: RunView, split: str) -> Iterator[JUnitCase]:
    for pair in tasks:
        kind, message = "", ""
        if pair.passed_after is None:
            kind, message = "skipped", "not evaluated"
        elif pair.passed_after < 1.0:
            before = "not evaluated" if pair.passed_before is None else f"{pair.passed_before:.0%}"
            score = 0.0 if pair.after is None else pair.after
            kind = "failure"
            message = f"passed {pair.passed_after:.0%} of its repeats, {before} before; score {score:.3f}"
        yield JUnitCase(f"{view.skill}.{split}", pair.task, kind, message)


def _text(text: str) -> str:
    """Make a text fit for XML, which knows no control characters."""
    return truncate("\n".join(map(escape_hidden, text.splitlines())), _LONGEST)
