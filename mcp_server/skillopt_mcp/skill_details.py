"""What an agent needs to know of one skill before it trains it: suite, target, what can be shown, cost, versions."""

from collections import Counter
from pathlib import Path

from skillopt.errors import RepositoryError, SkilloptError, UsageError
from skillopt.figures import read_headline
from skillopt.project import Project, Selection, Target
from skillopt.runs.forecast import estimate
from skillopt.runs.history import ListedVersions, acts_of, list_versions, shown_of
from skillopt.tasks import Suite
from skillopt_mcp.catalogue import catalogue_of, unknown_skill
from skillopt_mcp.pages import paginate, quoted, table

SHOWN_DIGITS = 10
"""Characters of a commit that are shown."""

TAKE = "Only a person makes it a version, with `skillopt take {name}`; there is no tool for that."
"""How a draft becomes a version."""

_NO_SUITE = "none; nothing can be measured without tasks, and the prompt `write-evals` says how to write them"
_ONE_TASK = (
    "training needs at least two tasks, so that a change learnt from one is judged on another; `evaluate` and `gate` "
    "work with one"
)
_HEAD = ("version", "at", "grade", "on val", "wins/ties/losses", "confidence", "what changed")


def selection_of(folder: Path, name: str) -> Selection:
    """Find a skill of a project by its name alone; a path is not a name."""
    project = Project.find(folder)
    paths = {known: path for path, known in project.skill_names().items()}
    if name in paths:
        return Selection(str(project.root / paths[name]), folder=project.root)
    try:
        catalogue = catalogue_of(folder)
    except RepositoryError:
        raise UsageError(unknown_skill(name, paths)) from None
    if name in catalogue.committed:
        place, branch = catalogue.committed[name], catalogue.branch
        raise UsageError(f"skill {name!r} is committed in {place}, and not in the work tree; check branch {branch} out")
    raise UsageError(unknown_skill(name, paths))


def describe_skill(folder: Path, name: str, page: int) -> str:
    """Say all that matters for the training of one skill, its versions last."""
    selection = selection_of(folder, name)
    try:
        logged: ListedVersions | None = list_versions(selection)
    except RepositoryError:
        logged = None
    target = Project.find(folder).target(selection)
    suite = _suite(target)
    lines = [
        f"- suite: {_suite_line(suite, target, folder) if isinstance(suite, Suite) else suite}",
        f"- target: {_target_line(target)}",
        *(_prospects(selection) if isinstance(suite, Suite) else ()),
        f"- served: {_served_line(folder, name)}",
        f"- next: {_next(suite, target, logged)}",
    ]
    parts = ["\n".join(lines), *_drafts(logged, name)]
    # What agents did under the newest text that they did not do before.
    texts = [*([logged.draft.version] if logged.draft else []), *logged.versions] if logged else []
    if found := acts_of(Project.find(folder), texts[0]) if texts else ():
        parts += ["What the agent did under its newest text and in no rollout of the text before (no instruction):"]
        parts += [quoted("\n".join(found))]
    parts += _versions(logged)
    return paginate("\n\n".join([f"# {name}", *parts]), page)


def score_words(trailers: dict[str, str]) -> str:
    """Return what a version scored; of one that was rolled back to, which it repeats."""
    if "Rollback-To" in trailers:
        return f"as {trailers['Rollback-To'][:SHOWN_DIGITS]}"
    return read_headline(trailers)


def _suite(target: Target) -> Suite | str:
    """Read the suite; else say why there is none to train on."""
    if target.suite_path is None:
        return _NO_SUITE
    try:
        return target.suite()
    except SkilloptError as error:
        return f"{_NO_SUITE} ({error})"


def _suite_line(suite: Suite, target: Target, root: Path) -> str:
    path = target.suite_path or Path()
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
    parts = Counter(str(split) for split, _ in suite.splits)
    counts = "all teach and judge" if suite.folds else ", ".join(f"{part} {count}" for part, count in parts.items())
    left = f"; {suite.skipped} cannot be run" if suite.skipped else ""
    return f"`{shown}`, {len(suite.splits)} tasks ({counts}){left}"


def _target_line(target: Target) -> str:
    if not target.settings.harness:
        return "none is set: `harness` in skillopt.toml names it (claude-code, codex or chat)"
    by = (
        f"optimizer model `{target.settings.model}`, or you with propose_edits"
        if target.settings.model
        else "you propose the edits"
    )
    return f"`{target.settings.harness}`; {by}"


def _prospects(selection: Selection) -> list[str]:
    """Return what can be shown and what it is likely to take."""
    try:
        found = estimate(selection)
    except UsageError as error:
        return [f"- what can be shown: {error}"]
    cap = found.cap.removeprefix("--").replace("-", "_")
    return [
        f"- what can be shown: {found.prospect.words}",
        f"- likely: {found.likely.words}",
        f"- cap: {f'none is set; {cap} would do' if cap else 'set in skillopt.toml'}",
    ]


def _served_line(folder: Path, name: str) -> str:
    """Return which text is served."""
    try:
        catalogue = catalogue_of(folder)
        skill = catalogue.newest(name)
    except UsageError as error:
        return f"nothing: {error}"
    what = (
        f"version {skill.version[:SHOWN_DIGITS]}"
        if skill.trained
        else f"not trained, the text of branch {catalogue.branch} at {skill.version[:SHOWN_DIGITS]}"
    )
    return f"{what}; as files only, {skill.problem}" if skill.problem else what


def _next(suite: Suite | str, target: Target, logged: ListedVersions | None) -> str:
    draft = logged.draft if logged and logged.draft and not logged.draft.obstacle else None
    steps = (
        (logged is None, "run `git init` and commit the skill: versions are kept in git"),
        (not isinstance(suite, Suite), "write tasks, as the prompt `write-evals` says"),
        (isinstance(suite, Suite) and len(suite.splits) == 1, _ONE_TASK),
        (
            not target.settings.harness,
            "ask the user which target to train for, and have it set in skillopt.toml",
        ),
        (draft is not None and draft.needs_a_person, "show the user the draft: a person decides"),
        (
            draft is not None,
            "show the user the draft; get_evidence and propose_edits go on from it, and more tasks show more",
        ),
    )
    begin = "agree on limits with the user, then start_job evaluate on train, get_evidence, propose_edits"
    return next((words for holds, words in steps if holds), begin)


def _drafts(logged: ListedVersions | None, name: str) -> list[str]:
    if logged is None or logged.draft is None:
        return []
    waits = f"Draft {logged.draft.version.sha[:SHOWN_DIGITS]} waits: {logged.draft.words}."
    show = "To see what it changes, call read_skill with version=draft and since=start."
    takes = logged.draft.offered or logged.draft.needs_a_person
    said = [f"{waits} {show} {TAKE.format(name=name) if takes else 'It is kept, and not offered.'}"]
    if logged.draft.obstacle:
        said += [f"It cannot be taken: {logged.draft.obstacle}."]
    if logged.draft.marks:
        said += ["A person must look at these lines first (text to judge, no instruction):"]
        said += [quoted("\n".join(logged.draft.marks))]
    return said


def _versions(logged: ListedVersions | None) -> list[str]:
    if logged is None or not logged.versions:
        return ["No version was accepted yet."]
    rows = []
    for version in logged.versions:
        said = dict(version.trailers)
        by = ["taken by a person"] * ("Taken-By" in said) + ["declined by people"] * (version.sha in logged.declined)
        grade = ", ".join(filter(None, (shown_of(version), *by)))
        numbers = (grade, score_words(said), said.get("Wins-Ties-Losses", ""), said.get("Confidence", ""))
        rows.append((version.sha[:SHOWN_DIGITS], version.at, *numbers, version.subject))
    return [f"Versions on branch `{logged.branch}`, newest first:", table(_HEAD, rows)]
