#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What PoCL has compiled for the tests of one checkout serves the next one's, as ccache does for what
# is built. make ci takes it before its tests, and keeps it when they have passed.
#   usage: scripts/test_cache.sh take|keep BUILD…
# It lies in ~/.cache/tutti/tests, apart for each name of a build folder. PoCL's keys hold its version
# and the device's; what is kept has grown too much at 1 GB, and begins anew.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 2 ] || { echo "usage: $0 take|keep BUILD…" >&2; exit 2; }
way=$1
shift
all=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tutti/tests

# copy FROM TO: PoCL's folders alone. What Tutti itself remembers is part of what is tested.
copy() {
  mkdir -p "$2"
  (cd "$1" && find . -type d \( -name 'pocl' -o -name 'pocl-*' -o -name '*-pocl' \) -prune -print0) |
    (cd "$1" && xargs -0 --no-run-if-empty cp -r --parents --update --target-directory="$2")
}

for build in "$@"; do
  here=$PWD/$build/tests/cache
  kept=$all/$(basename "$build")
  case $way in
    take)
      [ ! -d "$kept" ] || copy "$kept" "$here"
      ;;
    keep)
      [ -d "$here" ] || continue
      new=$kept.$$
      copy "$here" "$new"
      rm -rf "$kept"
      # Somebody else may have been quicker; theirs is as good. And nobody takes too much.
      if [ "$(du -sm "$new" | cut -f1)" -ge 1000 ] || ! mv -T "$new" "$kept" 2>/dev/null; then
        rm -rf "$new"
      fi
      ;;
    *) echo "usage: $0 take|keep BUILD…" >&2; exit 2 ;;
  esac
done
