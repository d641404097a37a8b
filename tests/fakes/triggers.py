"""A project of three sibling skills with trigger sets, of which one has a description that says too little."""

import json
from pathlib import Path
from typing import Final

from tests.fakes.projects import git

EXPENSES: Final = (
    "Turn these receipts into an expense claim for March.",
    "I was in Lyon for three days; claim hotel, train and meals for me.",
    "Fill in the reimbursement form for my taxi receipts.",
    "What can I claim for mileage on my trip to the supplier?",
    "Put the hotel and taxi receipts of the trade fair on one reimbursement form.",
    "My trip to Oslo is over, please prepare the claim with hotel and meals.",
    "Add up the meals of my business trip and file the reimbursement.",
    "Sort this folder of receipts by trip and make a claim of each.",
    "How much reimbursement do I get for 340 km of mileage?",
    "Draft the claim for my conference trip: train, hotel, meals.",
    "These taxi and train receipts still need to be claimed.",
    "File a reimbursement for the meals with our guests, receipts attached.",
    "Convert the foreign receipts of my trip to euros and claim them.",
    "Claim my mileage and one hotel night in Bergen.",
)
"""Requests that should load `expense-claims`."""

NEAR_MISSES: Final = (
    "Summarise sales by region for March.",
    "Which region had the highest sales last month?",
    "Chart monthly sales of the three best products.",
    "Compare sales of this month with the month before, by product.",
    "Check this invoice against the purchase order.",
    "The invoice of the hotel chain does not match the purchase order, find the difference.",
    "Is the tax on this supplier invoice right?",
    "List invoices that have no purchase order.",
    "Write a haiku about trains.",
    "Book a taxi for tomorrow at nine.",
    "Find a hotel in Oslo near the station.",
    "Translate this letter into French.",
    "Plan meals for a week with two children.",
    "Refactor this function so that it reads its configuration once.",
)
"""Requests that should not: of the siblings, and of nobody."""

_SALES: Final = (*NEAR_MISSES[:4], "Make a table of sales by region and product.")
_INVOICES: Final = (*NEAR_MISSES[4:8], "Match the invoices in this folder to purchase orders.")
_SKILLS: Final = {
    "expense-claims": ("Prepares claims.", EXPENSES, NEAR_MISSES),
    "sales-summary": ("Summarises sales by region, product and month, with charts.", _SALES, NEAR_MISSES[4:10]),
    "invoice-check": ("Checks supplier invoices against the purchase order, and their tax.", _INVOICES, _SALES),
}


def write_skill(folder: Path, name: str, description: str, sets: dict[str, bool]) -> None:
    """Write a skill and its trigger set."""
    place = folder / "skills" / name
    (place / "evals").mkdir(parents=True)
    (place / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n# {name}\n\n- Work step by step.\n", "utf-8"
    )
    rows = [{"query": text, "should_trigger": should} for text, should in sets.items()]
    (place / "evals" / "trigger-evals.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")


def make_siblings(folder: Path) -> Path:
    """Make a committed project of the three skills, with the demo as target and optimizer model."""
    for name, (description, should, should_not) in _SKILLS.items():
        write_skill(folder, name, description, dict.fromkeys(should, True) | dict.fromkeys(should_not, False))
    (folder / "skillopt.toml").write_text('harness = "demo"\nmodel = "demo"\n', encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.com")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "three skills")
    return folder
