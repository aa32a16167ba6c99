#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of packaging/debian-packages.txt that are missing.
#   usage: scripts/setup.sh [--list RELEASE] [GROUP…]   default groups: build run test
# Does nothing, and needs neither network nor root, when all are there. --list prints those of a
# release and installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

list=packaging/debian-packages.txt
release=
[ "${1:-}" != --list ] || { release=${2:?usage: $0 --list RELEASE [GROUP…]}; shift 2; }
only_list=$release
# What is not Debian, or one under development, may have no such name.
[ "$release" ] || release=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || true
groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build run test)
read -r _ releases < <(grep '^releases ' "$list")
known=
[[ " $releases " != *" $release "* ]] || known=yes

if [ "$only_list" ] && [ ! "$known" ]; then
  echo "setup: no release '$release' in $list, which has: $releases" >&2
  exit 2
fi

# packages GROUP: those of a release that is not known are taken to be those of all.
packages() {
  awk -v group="$1" -v release="${known:+$release}" '
    { sub(/#.*/, "") }
    $1 == group {
      found = 1
      where = match($0, /\[[^]]*\]/) ? " " substr($0, RSTART + 1, RLENGTH - 2) " " : ""
      if (where == "" || release == "" || index(where, " " release " ")) print $2
    }
    END { exit !found }' "$list"
}

wanted=()
for group in "${groups[@]}"; do
  found=$(packages "$group") || { echo "setup: no group '$group' in $list" >&2; exit 2; }
  [ -z "$found" ] || mapfile -t -O ${#wanted[@]} wanted <<<"$found"
done

if [ "$only_list" ]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi
if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is no Debian; install these yourself, then call make with SETUP=no:" >&2
  echo "  ${wanted[*]}" >&2
  exit 1
fi
[ ${#wanted[@]} -gt 0 ] || exit 0

# dpkg-query fails when any package is unknown, and prints what it knows.
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
            awk '$1 == "installed" { print $2 }') || true
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ ! "$known" ]; then
  echo "setup: '${release:-nameless}' is no release that Tutti is tested on ($releases)." >&2
  echo "setup: install these, as far as it has them, then call make with SETUP=no:" >&2
  echo "  ${missing[*]}" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run as root (there is no sudo): apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3)
# A broken third-party source must not stop us: what matters is whether the install succeeds.
"${apt[@]}" update || echo "setup: apt-get update failed in part; trying to install anyway" >&2
"${apt[@]}" install --no-install-recommends "${missing[@]}"
