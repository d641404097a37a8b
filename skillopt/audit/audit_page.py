"""An audit of a project's skills as one HTML page that needs nothing else."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from skillopt.audit.findings import AuditedSkill, AuditReport, SiblingFinding
from skillopt.reports.blocks import Bullets, Heading, Paragraph, ReportBlock, Table, cited, list_names, paragraphs
from skillopt.reports.html import print_page
from skillopt.safety.plurals import count_noun

__all__ = ["audit_table", "render_audit_page"]

_ORDER: Final = ("hurts", "idle", "helps", "cannot tell")
"""What needs a decision comes first."""

_COLUMNS: Final = (
    "skill",
    "effect",
    "rollouts passed",
    "score gained, 90% limits",
    "pairs / tasks",
    "tokens, turns a rollout",
    "listing, tokens",
)


def render_audit_page(report: AuditReport) -> str:
    """Render what an audit found; what hurts and what lies idle comes first."""
    rows = sorted(report.skills, key=lambda row: (_ORDER.index(row.effect.value), row.skill))
    counts = Counter(row.effect.value for row in rows)
    removable = [row.skill for row in rows if row.removable]
    blocks: list[ReportBlock] = [
        Paragraph(", ".join(f"{counts[name]} {name}" for name in _ORDER if counts[name]) + "."),
        *paragraphs(
            f"Proposed for removal: {list_names(removable)}." if removable else "",
            f"Ended early: {cited(report.stopped)}" if report.stopped else "",
        ),
        Heading("Each skill on its own tasks, with it and without it"),
        audit_table(rows, whole=True),
        Paragraph(
            f"Of the skills said to help or hurt, at most {report.error:.0%} are wrong on average, a wrong direction "
            "included, over all skills of this audit together (e-BH), however often it was looked at. That a skill is "
            f"idle is tested for each by itself: of skills that gain more than {report.loss:.2f}, "
            f"{report.error / 2:.0%} are called idle at most. The limits hold for these very tasks, not for new ones. "
            "Nothing was removed."
        ),
    ]
    if report.siblings:
        note = "Where no skill falls, one is said to in 10% of audits at most, all skills together."
        beside = Bullets([_sibling(one) for one in report.siblings])
        blocks += [Heading("With the other skills beside them"), beside, Paragraph(note)]
    title, heading = f"Audit of {len(rows)} skills", f"{count_noun(len(rows), 'skill')} against no skill"
    return print_page(title, "audit", blocks, heading=heading, footer="Written by SkillOpt.")


def audit_table(skills: Sequence[AuditedSkill], *, whole: bool = False) -> Table:
    """Return a row for each skill; whole with its folder and why."""
    beside = ("disturbs",) if any(row.disturbs is not None for row in skills) else ()
    return Table(
        (*_COLUMNS, *beside, *(("why", "what it lets or tells an agent do") if whole else ())),
        [_row(row, whole=whole) for row in skills],
    )


def _row(row: AuditedSkill, *, whole: bool) -> list[str]:
    costs = row.costs
    shares = row.passed_without, row.passed_with
    passed = " → ".join(f"{share:.0%}" for share in shares if share is not None) if None not in shares else "-"
    gain = "-" if row.gain is None else f"{row.gain:+.2f} ({row.low:+.2f} to {row.high:+.2f})"
    return [
        f"{cited(row.skill)} {cited(row.path)}" if whole else cited(row.skill),
        f"{row.effect.value}{f', {row.grade}' if row.grade else ''}",
        passed,
        gain,
        f"{row.pairs} / {row.tasks}",
        "-" if costs.tokens is None else f"{costs.tokens:+,.0f}, {costs.turns:+.1f} turns",
        str(row.listing_tokens or "-"),
        *([] if row.disturbs is None else [list_names(row.disturbs)]),
        *([cited(row.reason), cited(row.capabilities)] if whole else []),
    ]


def _sibling(one: SiblingFinding) -> str:
    by = f"; disturbed by {list_names(one.by)}" if one.by else ""
    return f"{cited(one.skill)} {cited(one.words)}{by}"
