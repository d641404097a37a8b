"""The result of `skillopt gate` as JUnit XML, which most CI services show as tests.

Characters that XML cannot hold are replaced.
"""

from xml.etree import ElementTree as ET  # written only; nothing is parsed

from skillopt.review.result import GatedChange, GateReport, ReviewAnswer, Standing, Weight
from skillopt.safety.escaping import escape_terminal

__all__ = ["render_gate_junit"]


def render_gate_junit(report: GateReport) -> str:
    """Render a report: a suite for each skill, with a case for what was read in it and one for what was measured."""
    root = ET.Element("testsuites", name="skillopt gate")
    for change in report.changes:
        _suite(root, change, strict=report.strict)
    total = [sum(int(suite.get(kind, "0")) for suite in root) for kind in ("tests", "failures", "errors", "skipped")]
    for kind, count in zip(("tests", "failures", "errors", "skipped"), total, strict=True):
        root.set(kind, str(count))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, change: GatedChange, *, strict: bool) -> None:
    suite = ET.SubElement(root, "testsuite", name=escape_terminal(change.skill))
    refusing = {Weight.REFUSE, Weight.WARN} if strict else {Weight.REFUSE}
    found = [finding for finding in change.findings if finding.weight in refusing]
    listed = "\n".join(
        f"{escape_terminal(one.path)}:{one.line}: {one.rule}: {escape_terminal(one.message)}" for one in found
    )
    texts = _case(suite, change, "text")
    if found:
        ET.SubElement(texts, "failure", message=f"{len(found)} findings").text = listed
    measured = _case(suite, change, "measurement")
    judged, reason = change.judged, escape_terminal(change.reason)
    if change.standing is Standing.INVALID:
        ET.SubElement(measured, "error", message=reason)
    elif judged is None or judged.answer is ReviewAnswer.CANNOT_TELL:
        ET.SubElement(measured, "skipped", message=reason)
    elif judged.answer is ReviewAnswer.REFUSED:
        broken = dict.fromkeys((*judged.verdict.broken, *judged.worse, *(judged.test.broken if judged.test else ())))
        tasks = "\n".join(escape_terminal(task) for task in broken)
        ET.SubElement(measured, "failure", message=reason).text = (
            f"tasks that it broke or made worse:\n{tasks}" if tasks else reason
        )
    ET.SubElement(measured, "system-out").text = reason
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


def _case(suite: ET.Element, change: GatedChange, name: str) -> ET.Element:
    return ET.SubElement(
        suite,
        "testcase",
        classname=f"skillopt.{escape_terminal(change.skill)}",
        name=name,
        file=escape_terminal(change.path),
    )
