#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command in a root of another release of Debian, in this checkout.
#   usage: scripts/in_release.sh RELEASE [COMMAND…]     RELEASE: bookworm, trixie; no command: make it
# The root has what packaging/debian-packages.txt lists. It is made by mmdebstrap once, in
# ${TUTTI_ROOTS:-~/.cache/tutti/roots} (some 6 GB, three minutes), and anew when that list changes.
# Needs root, and the network to make it. Inside, the root is read-only but for /tutti (the checkout);
# what programs write to outside of it ($scratch and the home folder), which is empty and gone
# afterwards; and ccache's folder, which is kept beside the roots.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "in_release: $*" >&2
  exit 1
}

[ $# -ge 1 ] || { echo "usage: $0 RELEASE [COMMAND…]" >&2; exit 2; }
release=$1
shift
packages=$(scripts/setup.sh --list "$release" build run test dev package root)
[ "$(id -u)" -eq 0 ] || fail "a root of $release needs root: sudo make …"
unshare --mount true 2>/dev/null || fail "no mount namespace can be made here (a container without CAP_SYS_ADMIN?)"

# ---- the root --------------------------------------------------------------------------------------

make_root() {
  command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed: make setup"
  mmdebstrap --quiet --mode=root --variant=apt --include="$(paste -sd, <<<"$packages")" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' \
    --customize-hook='mkdir -p "$1/tutti" && touch "$1/etc/resolv.conf"' "$release" "$1"
}

roots=${TUTTI_ROOTS:-${HOME:-/root}/.cache/tutti/roots}
mkdir -p "$roots"
roots=$(cd "$roots" && pwd -P)
version=$( (echo "$packages"; declare -f make_root) | sha256sum | cut -c1-12)
root=$roots/$release-$version
# Who runs in a root holds it shared, who makes or removes one holds it alone.
exec 8>"$root.lock"
flock --shared 8
if [ ! -d "$root" ]; then
  flock --unlock 8
  flock --exclusive 8
  if [ ! -d "$root" ]; then
    echo "in_release: making a root of $release in $roots" >&2
    rm -rf --one-file-system "$root.new"
    made=
    for _ in 1 2; do
      if make_root "$root.new"; then made=yes; break; fi
      rm -rf --one-file-system "$root.new"
    done
    [ "$made" ] || fail "no root of $release can be made: is the network there?"
    mv -T "$root.new" "$root"
    for other in "$roots/$release"-????????????; do
      [ "$other" != "$root" ] && [ -d "$other" ] || continue
      # One that is in use stays for the next time.
      (flock --exclusive --nonblock 7 && rm -rf --one-file-system "$other" "$other.lock") \
        7>"$other.lock" || true
    done
  fi
  flock --shared 8
fi
[ $# -gt 0 ] || exit 0

# ---- the command in it -----------------------------------------------------------------------------

own=$(mktemp -d "$roots/run.XXXXXX")
trap 'rm -rf --one-file-system "$own"' EXIT
# rpm has its locks and its database there, rpmbuild its scripts.
scratch="tmp var/tmp run var/lib/rpm"
mkdir -p "$own/run/lock" "$own/home/.cache/ccache" "$roots/ccache"
for folder in $scratch; do mkdir -p "$own/$folder"; done
chmod 1777 "$own/tmp" "$own/var/tmp" "$own/run/lock"
# pip's index outside is that of the tests that fetch something.
index=${PIP_INDEX_URL:-$(python3 -m pip config get global.index-url 2>/dev/null || true)}

# shellcheck disable=SC2016  # expanded inside
unshare --mount --pid --fork --kill-child --propagation private bash -euc '
  root=$1 own=$2 roots=$3 source=$4 scratch=$5
  shift 5
  mount --bind "$root" "$root"
  mount -o remount,bind,ro "$root"
  mount --bind "$source" "$root/tutti"
  for folder in $scratch; do mount --bind "$own/$folder" "$root/$folder"; done
  mount --bind "$own/home" "$root/root"
  mount --bind "$roots/ccache" "$root/root/.cache/ccache"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  # The network as it is outside, its certificates included.
  for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || [ ! -e "$root$file" ] || mount --bind "$(readlink -f "$file")" "$root$file"
  done
  # Not instead of this shell: make as process 1 of its namespace could not end by a signal.
  chroot "$root" "$@" || exit $?
' in_release "$root" "$own" "$roots" "$PWD" "$scratch" \
  env --unset=TMPDIR --unset=CCACHE_DIR --unset=CCACHE_BASEDIR --unset=PYTHONPATH \
    HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${index:+"PIP_INDEX_URL=$index"} bash -c 'cd /tutti && exec "$@"' in_release "$@"
