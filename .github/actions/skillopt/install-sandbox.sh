#!/usr/bin/env bash
# Installs bubblewrap on a Linux runner, and lets it make user namespaces where Ubuntu 24.04 forbids them by AppArmor.
set -euo pipefail

if ! command -v bwrap >/dev/null; then
  sudo apt-get -qq update
  sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends bubblewrap
fi
limit=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
if [[ -r "$limit" && "$(cat "$limit")" != 0 ]] && ! bwrap --unshare-user --ro-bind / / true 2>/dev/null; then
  # The machine of a hosted job is thrown away after it; on one of your own this is for you to decide.
  if [[ "$RUNNER_ENVIRONMENT" == github-hosted ]]; then
    sudo sysctl -q -w kernel.apparmor_restrict_unprivileged_userns=0
  else
    echo '::warning title=skillopt::AppArmor keeps bubblewrap from making user namespaces; allow it on this runner (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap)'
  fi
fi
bwrap --unshare-user --unshare-net --ro-bind / / true || echo '::warning title=skillopt::bubblewrap does not work here'
