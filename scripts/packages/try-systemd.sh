#!/usr/bin/env bash
# The six lines of README's "Quick start over real hosts", with the packages of release/ on two machines that a systemd of their own
# runs: clean Debians in namespaces of their own, with a network between them. Needs root, debootstrap and the packages of Debian.
# `npm run release` makes the packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || { echo 'it needs root' >&2; exit 2; }
command -v debootstrap > /dev/null || { echo 'it needs debootstrap' >&2; exit 2; }
hierarchy="$(findmnt --noheadings --first-only --types cgroup2 --output TARGET)" || { echo 'it needs a cgroup2 hierarchy' >&2; exit 2; }
base="${MUSTER_TRY_SYSTEMD_ROOT:-}"
work="$(mktemp -d)"
declare -A machine
stop() {
  for name in "${!machine[@]}"; do
    kill -KILL "${machine[$name]}" 2> /dev/null || true
    wait "${machine[$name]}" 2> /dev/null || true
  done
  ip link delete muster-try 2> /dev/null || true
  # Emptied by the kernel a moment later; each group in them goes before its parent.
  for ((tries = 0; tries < 50; tries++)); do
    find "$hierarchy" -depth -type d -path "$hierarchy/muster-try-*" -exec rmdir {} + 2> /dev/null || true
    compgen -G "$hierarchy/muster-try-*" > /dev/null || break
    sleep 0.1
  done
  rm -rf --one-file-system "$work"
}
trap stop EXIT
if [ -z "$base" ]; then
  base="$work/base"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus "${MUSTER_TRY_SUITE:-bookworm}" "$base" \
    ${MUSTER_TRY_MIRROR:+"$MUSTER_TRY_MIRROR"} > "$work/debootstrap.log" || { cat "$work/debootstrap.log" >&2; exit 1; }
fi

# Boots the machine of this name.
boot() {
  local name="$1" root="$work/$1" group="$hierarchy/muster-try-$1"
  cp -a "$base" "$root"
  mkdir -p "$root/packages" "$group"
  cp release/*.deb "$root/packages/"
  echo "$name" > "$root/etc/hostname"
  printf '127.0.0.1 localhost\n10.98.76.1 server\n10.98.76.2 web1\n' > "$root/etc/hosts"
  rm -f "$root/etc/machine-id"; touch "$root/etc/machine-id"
  bash -c 'echo $$ > "$1/cgroup.procs"; exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child bash -euo pipefail -c "$3" - "$2"' - "$group" "$root" '
    root="$1"
    ip link set lo up
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs tmpfs "$root/run"
    mount -t tmpfs tmpfs "$root/dev"
    for node in null zero full random urandom tty; do touch "$root/dev/$node"; mount --bind "/dev/$node" "$root/dev/$node"; done
    mkdir "$root/dev/shm" "$root/dev/pts"; mount -t tmpfs tmpfs "$root/dev/shm"; ln -s /proc/self/fd "$root/dev/fd"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"; ln -s pts/ptmx "$root/dev/ptmx"
    cd "$root"
    mkdir -p .old
    pivot_root . .old
    umount -l .old
    exec env -i container=muster-try PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-level=warning
  ' > "$work/$name.log" 2>&1 &
  machine[$name]=$!
}
# The first process of a machine, which is a child of `unshare`.
first() { pgrep -P "${machine[$1]}" | head -n 1; }
# Runs a command on a machine, in its namespaces and control group.
on() {
  local name="$1" pid
  shift
  pid="$(first "$name")"
  nsenter --target "$pid" --mount --pid --net --uts --ipc --cgroup --root --wd \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb "$@"
}
until_true() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do "$@" > /dev/null 2>&1 && return; sleep 0.2; done
  echo "failed: waited for: $*" >&2
  for name in server web1; do tail -n 5 "$work/$name.log" >&2; on "$name" journalctl --no-pager --lines 15 >&2 || true; done
  exit 1
}

client() { on server env MUSTER_CONFIG=/var/lib/muster/muster.yaml muster "$@"; }
# Whether the words of a command, from the second on, print the first.
shows() { client "${@:2}" | grep -- "$1"; }

scripts/packages/next-version.sh "$work/next"
boot server
boot web1
for name in server web1; do until_true on "$name" systemctl is-active --quiet multi-user.target; done
echo "ok booted: $(on server systemctl --version | head -n 1)"
ip link add muster-try netns "$(first server)" type veth peer name muster-try netns "$(first web1)"
for pair in server/1 web1/2; do
  nsenter --target "$(first "${pair%/*}")" --net sh -c "ip address add 10.98.76.${pair#*/}/24 dev muster-try && ip link set muster-try up"
done

# The editor of a person who follows README: on the server all that agents are told, on the machine what may run there.
cat > "$work/server/server.yaml" <<'YAML'
name: server
http: { listen: 0.0.0.0:8443, tls_cert: /etc/muster/cert.pem, tls_key: /etc/muster/key.pem }
heartbeat: { listen: "tcp://0.0.0.0:10000" }
command: { listen: "tcp://0.0.0.0:10001" }
YAML
cat > "$work/web1/agent.yaml" <<'YAML'
server: https://server:8443
ca: /etc/muster/cert.pem
commands:
  "uname -a": uname -a
tasks:
  max: 2
  plugins:
    wait: { program: /bin/sh, args: ["-c", "until test -e /srv/go; do sleep 0.1; done; echo done"] }
YAML
for name in server web1; do printf '#!/bin/sh\ncp "/$(basename "$1")" "$1"\n' > "$work/$name/usr/bin/editor"; chmod 755 "$work/$name/usr/bin/editor"; done
mkdir -p "$work/server/etc/muster" "$work/web1/etc/muster"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=server -addext subjectAltName=DNS:server \
  -keyout "$work/server/etc/muster/key.pem" -out "$work/server/etc/muster/cert.pem" 2> /dev/null
cp "$work/server/etc/muster/cert.pem" "$work/web1/etc/muster/cert.pem"

on server sh -c 'cd /packages && apt-get install -y -qq ./muster_*.deb ./muster-server_*.deb > /var/log/install.log 2>&1 && editor /etc/muster/server.yaml' ||
  { cat "$work/server/var/log/install.log" >&2; exit 1; }
on server chgrp muster /etc/muster/key.pem
on server chmod 640 /etc/muster/key.pem
on server systemctl enable --now --quiet muster-server
until_true on server test -s /var/lib/muster/muster.yaml
token="$(client token create --uses 10 --ttl 1h 2> "$work/token.log")" || { cat "$work/token.log" >&2; exit 1; }
on web1 sh -c 'cd /packages && apt-get install -y -qq ./muster_*.deb ./muster-agent_*.deb > /var/log/install.log 2>&1 && editor /etc/muster/agent.yaml' ||
  { cat "$work/web1/var/log/install.log" >&2; exit 1; }
on web1 sh -c 'install -m 600 /dev/stdin /etc/muster/agent.token && systemctl enable --now --quiet muster-agent' <<< "$token"
until_true shows ' available' node list
ran="$(client push start 'os:linux' -- uname -a 2> "$work/push.log")" || { cat "$work/push.log" >&2; exit 1; }
[[ "$ran" == *Linux* ]] || { echo "failed: the push job printed: $ran" >&2; exit 1; }
echo "ok six lines: $(grep Linux <<< "$ran")"
for unit in server/muster-server web1/muster-agent; do
  name="${unit%/*}" service="${unit#*/}"
  on "$name" systemctl is-active --quiet "$service"
  exposure="$(on "$name" systemd-analyze security --no-pager "$service" | tail -n 1)"
  echo "ok $service: $exposure"
done
# An upgrade restarts both, and what runs there goes on.
client queue create waiting --plugin wait > /dev/null
task="$(client task add waiting --param n=1)"
until_true shows ' running ' task list
for name in server web1; do
  cp "$work"/next/*.deb "$work/$name/packages/"
  before="$(on "$name" systemctl show --property MainPID 'muster-*')"
  on "$name" sh -c 'cd /packages && dpkg -i $(dpkg-query -W -f "./\${Package}_*.deb " "muster*") > /var/log/upgrade.log 2>&1' ||
    { cat "$work/$name/var/log/upgrade.log" >&2; exit 1; }
  [ "$before" != "$(on "$name" systemctl show --property MainPID 'muster-*')" ] || { echo "failed: $name was not restarted" >&2; exit 1; }
done
touch "$work/web1/srv/go"
until_true shows succeeded task show "$task"
client task show "$task" --json | grep '"attempt": *1\b' > /dev/null || { echo 'failed: the task was begun anew' >&2; exit 1; }
echo 'ok upgraded on both machines: the task that ran went on, and succeeded'
# What systemd does when one is killed, and when the machine is told to stop.
on web1 systemctl kill --signal KILL muster-agent
until_true client push start --quorum 1 os:linux -- uname -a
echo 'ok an agent that was killed is started again, and takes commands'
on server systemctl stop muster-server
! on server systemctl is-failed --quiet muster-server || { echo 'failed: the server did not stop cleanly' >&2; exit 1; }
echo 'ok the server stops cleanly'
