#!/usr/bin/env bash
# Runs one command of skillopt for action.yml, which gives the inputs as variables, and makes outputs, job summary and
# annotations of its result. Written for the bash of macOS, too, which is 3.2.
set -eo pipefail

night="$RUNNER_TEMP/skillopt-night" reports="$RUNNER_TEMP/skillopt-reports"
kind="${INPUT_COMMAND%%-*}"
result="$reports/$kind.json" summary="$reports/$kind.md"
annotations="$RUNNER_TEMP/skillopt-annotations" said="$RUNNER_TEMP/skillopt-said"

# The files that steer the job are named to no process that runs models and agents.
skillopt() {
  env -u GITHUB_ENV -u GITHUB_OUTPUT -u GITHUB_PATH -u GITHUB_STATE -u GITHUB_STEP_SUMMARY \
    "$RUNNER_TEMP/skillopt-venv/bin/python" -P -m skillopt "$@"
}

not_run() { # REASON CODE
  local reason=${1//[$'\r\n']/ }
  echo "::error title=skillopt::${reason//%/%25}"
  printf '## Skill %s: not run\n\n    %s\n' "${kind/nightly/training}" "$reason" >> "$GITHUB_STEP_SUMMARY"
  printf 'verdict=error\nexit-code=%s\n' "$2" >> "$GITHUB_OUTPUT"
  exit "$2"
}

case "$INPUT_COMMAND" in
  gate) arguments=(gate "--github=$annotations" "--pages=$reports/before-after") ;;
  nightly-check) arguments=(nightly check "--output=$night/state.json" ${INPUT_PULL_REQUEST:+"--pull-request=$INPUT_PULL_REQUEST"}) ;;
  nightly-train) arguments=(nightly train "--state=$night/state.json" "--output=$night/offers") ;;
  nightly-offer) arguments=(nightly offer "$night/offers") ;;
  *) kind=gate; not_run 'command: expected gate, nightly-check, nightly-train or nightly-offer, found something else' 2 ;;
esac
arguments+=("--summary=$summary" --json)
arguments+=(${INPUT_MAX_ROLLOUTS:+"--max-rollouts=$INPUT_MAX_ROLLOUTS"} ${INPUT_MAX_USD:+"--max-usd=$INPUT_MAX_USD"})
while read -r argument; do # a line each, without the blanks around it
  [[ -z "$argument" ]] || arguments+=("$argument")
done <<< "$INPUT_ARGS"
[[ "$INPUT_COMMAND" != gate ]] || arguments+=(-- "$INPUT_BASE" HEAD) # a revision is not taken for an option

workspace="$(cd "$GITHUB_WORKSPACE" && pwd -P)"
if ! cd "$workspace/$INPUT_WORKING_DIRECTORY" 2>/dev/null || [[ "$(pwd -P)/" != "$workspace"/* ]]; then
  not_run 'working-directory: expected a folder in the workspace, found none; check out the repository first' 2
fi
rm -rf "$reports" "$annotations"
mkdir -p "$night" "$reports"

# Until the second line is printed, nothing in the log is a command to the runner.
token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" code=0
echo "::stop-commands::$token"
skillopt "${arguments[@]}" 2>&1 >"$result" | tee "$said" || code="${PIPESTATUS[0]}"
if [[ "$INPUT_COMMAND" == nightly-train ]]; then
  [[ ! -d "$night/offers/report" ]] || cp -R "$night/offers/report/." "$reports"
  for run in $(jq -r '.skills[].run' "$result" || true); do
    for suffix in html md; do skillopt report "$run" --output "$reports/$run.$suffix" || true; done
  done
fi
printf '\n::%s::\n' "$token"

[[ ! -f "$night/offers/offers.json" ]] || echo offers=true >> "$GITHUB_OUTPUT"
[[ -s "$result" ]] && outputs="$(jq -r --arg code "$code" '
  def counted(which): map(select(which)) | length;
  def dollars: if any(. == null) then "" else (add // 0) * 10000 | round / 10000 end;
  if has("changes") then ([.spent[].usd] | dollars) as $usd | .changes | {
    verdict: (
      if $code != "0" then {"1": "refused", "3": "invalid"}[$code] // "error" elif length == 0 then "none"
      elif any(.standing == "cannot tell" or .standing == "untestable") then "neutral" else "passed" end
    ),
    refused: counted(.standing == "refused"),
    "needs-person": counted(any(.findings[]; .person)),
    rollouts: (map(.paid_rollouts) | add // 0),
    usd: $usd
  } elif has("rollouts") then {
    verdict: (
      if $code != "0" then {"3": "failed"}[$code] // "error" elif any(.skills[]; .versions > 0) then "improved"
      else "unchanged" end
    ),
    improved: (.skills | counted(.versions > 0)),
    "pull-requests": (.skills | map(.offer | select(.action != "").url) | tojson),
    rollouts,
    usd: ([.spent.usd] | dollars)
  } else {} end
  | {"exit-code": $code} + . | to_entries[] | "\(.key)=\(.value)"' "$result")" || {
  reason="$(sed -nE 's/^(skillopt|Error): //p' "$said" | tail -n 1)"
  not_run "${reason:-$INPUT_COMMAND ended with $code and without a result; see the log}" "$((code ? code : 2))"
}
missing="$(jq -r '[.changes[]?.findings[]? | select(.rule == "no access") | .message][0] // empty' "$result")"
[[ -z "$missing" || "${FORK:-false}" == true ]] || not_run "$missing; set the secret that the workflow names" 2
printf '%s\nreports=%s\n' "$outputs" "$reports" >> "$GITHUB_OUTPUT"
if [[ -f "$summary" ]]; then
  cat "$summary" >> "$GITHUB_STEP_SUMMARY"
  echo "summary=$summary" >> "$GITHUB_OUTPUT"
fi
[[ ! -f "$annotations" ]] || cat "$annotations"
case $'\n'"$outputs"$'\n' in
  *$'\nverdict=neutral\n'*)
    echo '::notice title=skillopt::the verdict is neutral, not passed; a job has no such end, so this one is green: read the summary' ;;
  *$'\nverdict=none\n'*)
    echo '::notice title=skillopt::no skill differs from the base that the summary names; set the input base to compare with another' ;;
esac
exit "$code"
