"""The official conformance suite against the server over HTTP, for each version of the protocol that it speaks.

Much of the suite asks for tools, prompts and resources that only its own example server has. What does not
apply for that is listed here with what shows it in the suite's own words; all else has to pass, without warnings.
"""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillopt.tasks import File
from tests.fakes.mcp_clients import accept, serving
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.agents

SPOKEN = ("2025-06-18", "2025-11-25", "2026-07-28")
UNKNOWN = "expected one of ["  # how the server refuses the name of a tool or prompt
GOOD = {"SUCCESS", "INFO"}
NOT_APPLICABLE: dict[str, dict[str, str]] = {
    "calls a tool that only the suite's own server has": {
        "tools-call-simple-text": "test_simple_text",
        "tools-call-image": "test_image_content",
        "tools-call-audio": "test_audio_content",
        "tools-call-embedded-resource": "test_embedded_resource",
        "tools-call-mixed-content": "test_multiple_content_types",
        "tools-call-error": "test_error_handling",
        "tools-call-with-progress": "test_tool_with_progress",
        "tools-call-sampling": "test_sampling",
        "tools-call-elicitation": "test_elicitation",
        "json-schema-2020-12": "json_schema_2020_12_tool",
        "elicitation-sep1034-defaults": "test_elicitation_sep1034_defaults",
        "elicitation-sep1330-enums": "test_elicitation_sep1330_enums",
        "server-sse-polling": "test_reconnection",
        "http-custom-header-server-validation": "server exposes no tool with x-mcp-header annotations",
    },
    "gets a prompt that only the suite's own server has": {
        "prompts-get-simple": "test_simple_prompt",
        "prompts-get-with-args": "test_prompt_with_arguments",
        "prompts-get-embedded-resource": "test_prompt_with_embedded_resource",
        "prompts-get-with-image": "test_prompt_with_image",
    },
    "reads a resource that only the suite's own server has": {
        "resources-read-text": "test://static-text",
        "resources-read-binary": "test://static-binary",
        "resources-templates-read": "test://template/123/data",
    },
    "asks for a capability that is not declared": {
        "completion-complete": "Method not found",
        "logging-set-level": "Method not found",
        "tools-call-with-logging": "Method not found",
        "resources-subscribe": "Method not found",
        "resources-unsubscribe": "Method not found",
        "sep-2640-skills-directory": "not directoryRead: true",
    },
    "asks for input in the middle of a request, which no tool or prompt here does": {
        "input-required-result-basic-elicitation": "test_input_required_result_elicitation",
        "input-required-result-basic-sampling": "test_input_required_result_sampling",
        "input-required-result-basic-list-roots": "test_input_required_result_list_roots",
        "input-required-result-request-state": "test_input_required_result_request_state",
        "input-required-result-multiple-input-requests": "test_input_required_result_multiple_inputs",
        "input-required-result-multi-round": "Expected InputRequiredResult with inputRequests",
        "input-required-result-missing-input-response": "JSON-RPC error instead of re-requesting",
        "input-required-result-non-tool-request": "test_input_required_result_prompt",
        "input-required-result-result-type": "test_input_required_result_elicitation",
        "input-required-result-tampered-state": "could not get initial InputRequiredResult",
        "input-required-result-capability-check": "test_input_required_result_capabilities",
        "input-required-result-ignore-extra-params": "test_input_required_result_elicitation",
        "input-required-result-validate-input": "test_input_required_result_elicitation",
    },
    "starts a task with a tool that only the suite's own server has": {
        "tasks-lifecycle": "slow_compute",
        "tasks-wire-fields": "slow_compute",
        "tasks-request-state-removal": "slow_compute",
        "tasks-mrtr-input": "confirm_delete",
        "tasks-request-headers": "slow_compute",
        "tasks-dispatch-and-envelope": "slow_compute",
        "tasks-status-notifications": "The harness needs a rewrite",
        "tasks-required-task-error": "failing_job",
        "tasks-mrtr-composition": "test_tool_with_task",
    },
    "is about the extension for tasks, which this server does not declare": {
        "tasks-capability-negotiation": "tasks-extension-advertised"
    },
}
"""Why whole scenarios do not apply, and what each one's results say that shows it."""

PARTS_NOT_APPLICABLE = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability": "test_missing_capability",
        "sep-2575-missing-capability-http-400": "test_missing_capability",
        "sep-2575-http-server-no-independent-requests-on-stream": "test_streaming_elicitation",
        "sep-2575-server-no-log-without-loglevel": "test_logging_tool",
        "sep-2575-server-sends-subscription-ack": "subscriptions/listen is not applicable",
        "sep-2575-server-tags-subscription-id": "subscriptions/listen is not applicable",
        "sep-2575-server-honors-notification-filter": "subscriptions/listen is not applicable",
        "sep-2575-server-sends-prompts-list-changed-on-subscription": "did not declare prompts.listChanged",
        "sep-2575-server-sends-tools-list-changed-on-subscription": "did not declare tools.listChanged",
    },
    "caching": {"sep-2549-resources-templates-list-caching-hints": "Method not found"},
}
"""Single checks that do not apply: they need a tool of the suite's own server, subscriptions, or templates."""

SIGNS = {scenario: sign for scenarios in NOT_APPLICABLE.values() for scenario, sign in scenarios.items()}
Suite = Callable[..., str]
Check = dict[str, Any]


@pytest.fixture
def suite(agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Run the suite with a home of its own."""
    command = [agent("node"), agent("conformance")]
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: str) -> str:
        ended = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return ended.stdout

    return run


def results(suite: Suite, folder: Path, *arguments: str) -> dict[str, list[Check]]:
    """Run all scenarios against the server; give the checks of each."""
    project = make_repository(folder / "project")
    accept(project, File("references/more.md", b"More.\n"), text="- Sort.\n")
    with serving(project) as url:
        suite("server", "--url", url, "--suite", "all", "--output-dir", str(folder / "out"), *arguments)
    found = {}
    for place in (folder / "out").iterdir():
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[-\d]+Z$", "", place.name)
        found[scenario] = json.loads((place / "checks.json").read_bytes())
    return found


def listed(suite: Suite, *arguments: str) -> set[str]:
    """Return the names of the suite's scenarios for servers."""
    return set(re.findall(r"^  - (\S+)", suite("list", "--server", *arguments), re.MULTILINE))


def unmet(scenario: str, checks: list[Check]) -> list[str]:
    """Return what is wrong with a scenario: what failed though it applies, or passes though it is said not to apply."""
    if scenario in SIGNS:
        said = json.dumps(checks)
        shown = SIGNS[scenario] in said and (UNKNOWN in said or not all(check["status"] in GOOD for check in checks))
        return [] if shown else [f"{scenario}: applies now, take it out of the table: {said}"]
    left_out = PARTS_NOT_APPLICABLE.get(scenario, {})
    problems = [f"{scenario}: the suite has no check {check}" for check in left_out.keys() - {c["id"] for c in checks}]
    for check in checks:
        name, said = check["id"], json.dumps(check)
        passed = check["status"] in GOOD and UNKNOWN not in said
        if name in left_out and (passed or left_out[name] not in said):
            problems.append(f"{scenario}: {name} applies now, take it out of the table: {said}")
        elif name not in left_out and not passed:
            problems.append(f"{scenario}: {said}")
    if not any(check["status"] == "SUCCESS" for check in checks):
        problems.append(f"{scenario}: nothing was checked")
    return problems


@pytest.mark.parametrize("version", [*SPOKEN, "extensions"])
def test_all_that_applies_passes_in_every_version(suite: Suite, tmp_path: Path, version: str) -> None:
    options = () if version == "extensions" else ("--spec-version", version)
    found, known = results(suite, tmp_path, *options), listed(suite, *options)
    assert options or SIGNS.keys() | PARTS_NOT_APPLICABLE.keys() <= known
    assert found.keys() == known
    assert [problem for scenario, checks in found.items() for problem in unmet(scenario, checks)] == []
