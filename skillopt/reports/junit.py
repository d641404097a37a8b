"""JUnit XML of `skillopt gate`, for the test views of CI systems: a suite for each skill.

It is valid against both schemas in common use: that of Ant (windyroad/JUnit-Schema, the stricter one) and that of
Jenkins (junit-10.xsd).
"""

from collections.abc import Iterator
from xml.etree import ElementTree as ET  # written only; nothing is parsed

from skillopt.review.result import GatedChange, GateReport, ReviewAnswer, Standing
from skillopt.safety.escaping import escape_hidden, truncate

__all__ = ["render_gate_junit"]

_LONGEST = 2000
_AT = "1970-01-01T00:00:00"


def render_gate_junit(report: GateReport) -> str:
    """Render a report as JUnit XML: of each skill what was read in it, and what was measured."""
    root = ET.Element("testsuites")
    root.extend(_suite(change, number, strict=report.strict) for number, change in enumerate(report.changes))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(change: GatedChange, number: int, *, strict: bool) -> ET.Element:
    cases = list(_cases(change, strict=strict))
    found = ET.Element("testsuite", name=_text(change.skill), package="skillopt", id=str(number), timestamp=_AT)
    found.set("hostname", "localhost")
    found.set("tests", str(len(cases)))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        found.set(attribute, str(sum(case[1] == kind for case in cases)))
    found.set("time", "0")
    ET.SubElement(ET.SubElement(found, "properties"), "property", name="path", value=_text(change.path))
    for name, kind, message, text in cases:
        place = _text(f"skillopt.{change.skill}")
        written = ET.SubElement(found, "testcase", name=name, classname=place, time="0")
        if kind:
            ET.SubElement(written, kind, type=kind, message=_text(message)).text = _text(text) or None
    ET.SubElement(found, "system-out").text = _text(change.reason)
    ET.SubElement(found, "system-err")
    return found


def _cases(change: GatedChange, *, strict: bool) -> Iterator[tuple[str, str, str, str]]:
    """List name, kind (`failure`, `error`, `skipped`, or empty for what passed), message and text of each case."""
    found = [finding for finding in change.findings if finding.refuses(strict=strict)]
    listed = "\n".join(f"{one.path}:{one.line}: {one.rule}: {one.message}" for one in found)
    yield "text", "failure" if found else "", f"{len(found)} findings", listed
    judged = change.judged
    kind, text = "", ""
    if change.standing is Standing.INVALID:
        kind = "error"
    elif judged is None or judged.answer is ReviewAnswer.CANNOT_TELL:
        kind = "skipped"
    elif judged.answer is ReviewAnswer.REFUSED:
        broken = dict.fromkeys((*judged.verdict.broken, *judged.worse, *(judged.test.broken if judged.test else ())))
        kind, text = "failure", "tasks that it broke or made worse:\n" + "\n".join(broken) if broken else change.reason
    yield "measurement", kind, change.reason, text


def _text(text: str) -> str:
    """Make a text fit for XML, which knows no control characters."""
    return truncate("\n".join(map(escape_hidden, text.splitlines())), _LONGEST)
