#!/usr/bin/env bash
# Installs, upgrades, removes and purges the packages of release/ in a clean Debian, and runs a server, an agent, a push job and a task
# from them. Needs root, debootstrap and the packages of Debian; nothing of it touches the machine outside of a directory, a network
# and processes of its own. `npm run release` makes the packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || { echo 'it needs root' >&2; exit 2; }
command -v debootstrap > /dev/null || { echo 'it needs debootstrap' >&2; exit 2; }
base="${MUSTER_TRY_ROOT:-}"
work="$(mktemp -d)"
trap 'rm -rf --one-file-system "$work"' EXIT
if [ -z "$base" ]; then
  base="$work/base"
  debootstrap --variant=minbase "${MUSTER_TRY_SUITE:-bookworm}" "$base" ${MUSTER_TRY_MIRROR:+"$MUSTER_TRY_MIRROR"} > "$work/debootstrap.log" ||
    { cat "$work/debootstrap.log" >&2; exit 1; }
fi
cp -a "$base" "$work/root"
mkdir -p "$work/root/packages"
cp release/*.deb "$work/root/packages/"
scripts/packages/next-version.sh "$work/root/next"
cp scripts/packages/try-in-root.sh scripts/packages/try-systemctl.sh "$work/root/packages/"
unshare --mount --pid --net --uts --fork --kill-child bash -euo pipefail -c '
  root="$1"
  ip link set lo up
  hostname muster-try
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/dev"
  for node in null zero random urandom; do touch "$root/dev/$node"; mount --bind "/dev/$node" "$root/dev/$node"; done
  mkdir "$root/dev/shm"; mount -t tmpfs tmpfs "$root/dev/shm"; ln -s /proc/self/fd "$root/dev/fd"
  exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb bash /packages/try-in-root.sh
' - "$work/root"
