#!/usr/bin/env bash
# Installs, upgrades and removes the RPM packages of release/ with rpm itself, in a clean root, so that their scriptlets run: users, owners
# of settings, what systemd is told. Needs root, rpm, and a root of some distribution: MUSTER_TRY_ROOT, or debootstrap makes one.
# `npm run release` makes the packages. What they need of RHEL is not checked (--nodeps).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo 'it needs root' >&2; exit 2; }
command -v rpmbuild > /dev/null || { echo 'it needs rpm' >&2; exit 2; }
work="$(mktemp -d)"
trap 'rm -rf --one-file-system "$work"' EXIT
root="$work/root"
if [ -n "${MUSTER_TRY_ROOT:-}" ]; then cp -a "$MUSTER_TRY_ROOT" "$root"
else debootstrap --variant=minbase "${MUSTER_TRY_SUITE:-bookworm}" "$root" > "$work/debootstrap.log" || { cat "$work/debootstrap.log" >&2; exit 1; }; fi
ok() { echo "ok $*"; }
fail() { echo "failed: $*" >&2; exit 1; }
owner() { chroot "$root" stat -c '%U:%G %a' "$1"; }
told() { cat "$root/run/systemctl.log" 2> /dev/null; : > "$root/run/systemctl.log"; }

# What systemd is told; nothing is started.
printf '#!/bin/sh\necho "$@" >> /run/systemctl.log\n' > "$root/usr/bin/systemctl"
chmod 755 "$root/usr/bin/systemctl"
mkdir -p "$root/run/systemd/system" "$work/next"
[ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
names='muster-agent muster-server muster-relay'
# The executable has no scriptlets, and is left out of the next version: it takes long to compress.
node --input-type=module -e '
  import { PACKAGES } from "./scripts/packages/contents.mjs";
  import { makeRpm } from "./scripts/packages/rpm.mjs";
  process.env.SOURCE_DATE_EPOCH ??= "0";
  const [out, work] = process.argv.slice(1);
  for (const one of PACKAGES.filter(({ binary }) => !binary)) makeRpm(one, { version: "99", arch: "noarch", tree: `release/work/${one.name}`, out, work });
' "$work/next" "$work/rpm"
rpm() { command rpm --root "$root" "$@"; }

rpm --initdb
rpm --install --nodeps release/muster-*.noarch.rpm
[ "$(told | sort -u)" = daemon-reload ] || fail 'something else than daemon-reload at the first installation'
[ "$(owner /etc/muster/server.yaml)" = 'root:muster 640' ] || fail "$(owner /etc/muster/server.yaml)"
[ "$(owner /etc/muster/relay.env)" = 'root:muster-relay 640' ] || fail "$(owner /etc/muster/relay.env)"
[ "$(owner /etc/muster/agent.yaml)" = 'root:root 644' ] || fail "$(owner /etc/muster/agent.yaml)"
ok "installed: users and owners are there, nothing was started"
echo 'server: https://muster.example.com' > "$root/etc/muster/agent.yaml"
rpm --upgrade --nodeps "$work"/next/*.rpm
told > "$work/upgrade.log"
for unit in muster-agent.service muster-server.service 'muster-worker@*.service' muster-relay.service; do
  grep 'try-restart' "$work/upgrade.log" | grep -qF "$unit" || fail "not restarted: $unit"
done
! grep -E '(^| )(stop|disable|start|enable)( |$)' "$work/upgrade.log" || fail 'the upgrade stopped or started something'
grep -q example.com "$root/etc/muster/agent.yaml" || fail 'the upgrade has changed settings'
ok 'upgraded: what runs is restarted once, nothing is stopped, settings are kept'
rpm --erase $names
told > "$work/erase.log"
grep -q 'stop muster-agent.service' "$work/erase.log" || fail 'the agent was not stopped'
grep -q 'disable muster-server.service muster-worker@.service' "$work/erase.log" || fail 'the server was not disabled'
[ -z "$(rpm --query --all)" ] && ! [ -e "$root/lib/systemd/system/muster-agent.service" ] || fail 'it is still there'
ok 'removed: services stopped and disabled, settings that were changed kept: '"$(ls "$root/etc/muster")"
