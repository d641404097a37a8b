"""A run as JUnit XML, for the test views of CI systems: one case per gated task, one for the verdict on the skill.

A task that fails under the candidate is a failure, one that was not run is skipped, a measurement that broke is an
error. It is valid against both schemas in common use: that of Ant (windyroad/JUnit-Schema, the stricter one) and that
of Jenkins (junit-10.xsd).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from xml.etree import ElementTree as ET

from skillopt.gate.comparison import Outcome
from skillopt.reports.run_report import change_outcome, change_passed, is_change
from skillopt.reports.view import GateView, PairView, RunView
from skillopt.safety.escaping import escape_hidden, truncate

__all__ = ["render_junit"]

_LONGEST = 2000
_EPOCH = "1970-01-01T00:00:00"


def render_junit(view: RunView) -> str:
    """Return the run as JUnit XML."""
    gate = _judged_gate(view)
    suites = [("verdict", [_verdict(view)])]
    if gate is not None:
        suites.append((f"val, gate {gate.number}", list(_cases(gate.tasks, view, "val"))))
    if view.test is not None:
        suites.append(("test", list(_cases(view.test.tasks, view, "test"))))
    root = ET.Element("testsuites")
    root.extend(_suite(view, number, name, cases) for number, (name, cases) in enumerate(suites))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _judged_gate(view: RunView) -> GateView | None:
    """Choose the gate to show: the last that accepted, else the last."""
    taken = [gate for gate in view.gates if gate.version is not None]
    return next(reversed(taken or view.gates), None)


def _suite(view: RunView, number: int, name: str, cases: Sequence[ET.Element]) -> ET.Element:
    begun = datetime.fromisoformat(view.started or _EPOCH).replace(tzinfo=None)
    suite = ET.Element("testsuite", name=_text(f"{view.skill}: {name}"), package="skillopt", id=str(number))
    suite.set("timestamp", begun.isoformat(timespec="seconds"))
    suite.set("hostname", "localhost")
    suite.set("tests", str(len(cases)))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("time", "0")
    properties = ET.SubElement(suite, "properties")
    for key, value in (
        ("run", view.run),
        ("target", view.target),
        ("suite", view.suite_digest),
        ("caution", view.caution),
    ):
        if key == "caution" and not value:
            continue
        ET.SubElement(properties, "property", name=key, value=_text(value))
    suite.extend(cases)
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
    return suite


def _verdict(view: RunView) -> ET.Element:
    case = ET.Element("testcase", name="verdict", classname=_text(view.skill), time="0")
    compared = view.test.verdict if view.test else view.gates[-1].verdict if view.gates else None
    if compared is None:
        _add(case, "skipped", "no candidate reached the gate")
    elif compared.outcome is Outcome.INVALID or view.state == "failed":
        _add(case, "error", view.reason or compared.reason)
    elif is_change(view):
        if change_passed(view) is None:
            _add(case, "error", f"not decided: {view.test_withheld or view.reason or f'the run is {view.state}'}")
        elif not change_passed(view):
            _add(case, "failure", f"{change_outcome(view)}: {view.reason or compared.reason}")
    elif compared.outcome is not Outcome.ACCEPT:
        _add(case, "failure", f"{compared.outcome.value}: {compared.reason}")
    return case


def _cases(tasks: Sequence[PairView], view: RunView, split: str) -> Iterator[ET.Element]:
    for pair in tasks:
        case = ET.Element("testcase", name=_text(pair.task), classname=_text(f"{view.skill}.{split}"), time="0")
        if pair.passed_after is None:
            _add(case, "skipped", "not evaluated")
        elif pair.passed_after < 1.0:
            before = "not evaluated" if pair.passed_before is None else f"{pair.passed_before:.0%}"
            score = 0.0 if pair.after is None else pair.after
            _add(case, "failure", f"passed {pair.passed_after:.0%} of its repeats, {before} before; score {score:.3f}")
        yield case


def _add(case: ET.Element, kind: str, message: str) -> None:
    ET.SubElement(case, kind, type=kind, message=_text(message))


def _text(text: str) -> str:
    """Make a text fit for XML, which knows no control characters."""
    return truncate(escape_hidden(text), _LONGEST)
