#!/usr/bin/env bash
# Makes, in directory $1, the packages of release/ under the number of a next version, to try an upgrade with. Nothing else in them differs.
set -euo pipefail
cd "$(dirname "$0")/../.."
to="$1"
raw="$(mktemp -d)"
trap 'rm -rf "$raw"' EXIT
mkdir -p "$to"
for deb in release/*.deb; do
  dpkg-deb --raw-extract "$deb" "$raw/next"
  sed -i -e 's/^\(Version: .*\)$/\1+next/' -e 's/(= \([^)]*\))/(= \1+next)/' "$raw/next/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 --build "$raw/next" "$to/$(basename "$deb")" > /dev/null
  rm -rf "$raw/next"
done
