#!/usr/bin/env bash
# Builds the image of deploy/container with buildah, and runs a server and an agent from it as a container engine would: as the image's
# user, on its files read-only, with volumes for data and /tmp. Needs root, buildah, and a base of Debian, which mmdebstrap makes when
# MUSTER_TRY_BASE (a tar of one) does not name it. It stands for an engine, which this machine need not have; `npm run release` makes
# the executable. Nothing of it touches the machine outside of a directory, a network and processes of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo 'it needs root' >&2; exit 2; }
command -v buildah > /dev/null || { echo 'it needs buildah' >&2; exit 2; }

work="$(mktemp -d)"
trap 'rm -rf --one-file-system "$work"' EXIT
base="${MUSTER_TRY_BASE:-$work/base.tar}"
[ -e "$base" ] || mmdebstrap --quiet --variant=minbase "${MUSTER_TRY_SUITE:-bookworm}" "$base"
image() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }
from="$(image from scratch)"
image add --quiet "$from" "$base" / > /dev/null
image commit --quiet --rm "$from" localhost/base > /dev/null
image build --quiet --isolation chroot --format docker --build-arg BASE=localhost/base --file deploy/container/Containerfile --tag muster release > /dev/null
echo "ok built, $(image images --format '{{.Size}}' --filter reference=localhost/muster) with a base of $(image images --format '{{.Size}}' --filter reference=localhost/base)"

container="$(image from --pull-never localhost/muster)"
image inspect "$container" > "$work/image.json"
root="$(image mount "$container")"
cp scripts/packages/try-in-image.sh "$work/try"
unshare --mount --pid --net --uts --fork --kill-child bash -euo pipefail -c '
  root="$1" work="$2"
  ip link set lo up
  hostname try-image
  mount --bind -o ro "$root" "$root"
  for data in muster muster-agent; do install -d -o 10001 -g 10001 -m 700 "$work/$data"; mount --bind "$work/$data" "$root/var/lib/$data"; done
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/tmp"
  mount -t tmpfs tmpfs "$root/dev"
  for node in null zero random urandom; do touch "$root/dev/$node"; mount --bind "/dev/$node" "$root/dev/$node"; done
  ln -s /proc/self/fd "$root/dev/fd"
  exec bash "$work/try" "$root" "$work/image.json"
' - "$root" "$work"
