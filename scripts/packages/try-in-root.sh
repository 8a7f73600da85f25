#!/bin/bash
# The part of try-packages.sh that runs in the clean root. Each line that begins with `ok` is something that holds.
set -euo pipefail
install -m 755 /packages/try-systemctl.sh /usr/bin/systemctl
mkdir -p /run/systemd/system
ok() { echo "ok $*"; }
fail() { echo "failed: $*" >&2; tail -n 20 /var/log/muster-*.log >&2 || true; exit 1; }
until_true() { local tries; for ((tries = 0; tries < 600; tries++)); do "$@" > /dev/null 2>&1 && return; sleep 0.1; done; fail "waited for: $*"; }
owner() { stat -c '%U:%G %a' "$1"; }

dpkg -i /packages/*.deb > /var/log/install.log 2>&1 || { cat /var/log/install.log; fail 'they cannot be installed'; }
ok "installed: $(dpkg-query -W -f '${Package} ' 'muster*')"
[ "$(muster --version)" = "$(dpkg-query -W -f '${Version}' muster)" ] || fail 'another version'
! grep -q start /run/systemctl.log || fail 'something was started that nobody has configured'
[ "$(owner /etc/muster/server.yaml)" = 'root:muster 640' ] || fail "$(owner /etc/muster/server.yaml)"
[ "$(owner /etc/muster/agent.yaml)" = 'root:root 644' ] || fail "$(owner /etc/muster/agent.yaml)"
bash -n /usr/share/bash-completion/completions/muster
gzip -dc /usr/share/man/man1/muster-push.1.gz | grep -q 'muster push start' || fail 'no manual page'
muster server --config /etc/muster/server.yaml --check-config > /dev/null

systemctl enable --now muster-server
until_true test -s /var/lib/muster/muster.yaml
export MUSTER_CONFIG=/var/lib/muster/muster.yaml
until_true muster doctor
ok "server runs as $(ps -o user= -p "$(cat /run/unit.muster-server)" 2> /dev/null || stat -c %U /var/lib/muster)"
cat > /etc/muster/agent.yaml <<'YAML'
server: http://127.0.0.1:8080
name: try
commands:
  "uname -s": uname -s
tasks:
  max: 2
  plugins:
    wait: { program: /bin/sh, args: ["-c", "until test -e /tmp/go; do sleep 0.1; done; echo done by $PPID"] }
YAML
(umask 077; muster token create > /etc/muster/agent.token)
systemctl enable --now muster-agent
until_true sh -c 'muster node list | grep -q " available"'
[ "$(muster push start name:try -- 'uname -s' 2> /dev/null | grep -c '^Linux$')" = 1 ] || fail 'the push job'
ok 'a push job ran'
muster queue create waiting --plugin wait > /dev/null
task="$(muster task add waiting --param n=1)"
until_true sh -c 'muster task list | grep -q " running "'

server="$(cat /run/unit.muster-server)" agent="$(cat /run/unit.muster-agent)"
dpkg -i /next/*.deb > /var/log/upgrade.log 2>&1 || { cat /var/log/upgrade.log; fail 'the upgrade'; }
grep -q 'server: http' /etc/muster/agent.yaml || fail 'the upgrade has changed settings'
[ "$server" != "$(cat /run/unit.muster-server)" ] && [ "$agent" != "$(cat /run/unit.muster-agent)" ] || fail 'not restarted'
ok 'upgraded, server and agent restarted, settings kept'
until_true sh -c 'muster node list | grep -q " available"'
muster task list | grep ' running ' > /dev/null || fail 'the task has ended with its agent'
touch /tmp/go
until_true sh -c 'muster task list | grep -q " succeeded "'
muster task list | grep -Eq ' succeeded +try +1 ' || fail "not one attempt: $(muster task list)"
ok 'the task lived on, and ended after the upgrade in its first attempt'

dpkg --remove muster-relay muster-agent muster-server muster > /dev/null
! [ -e /usr/bin/muster ] || fail 'the executable is still there'
[ -e /run/unit.muster-server ] && fail 'the server still runs'
[ -e /etc/muster/agent.yaml ] && [ -e /var/lib/muster/muster.db ] || fail 'removed too much'
ok 'removed: services stopped, settings and data kept'
dpkg --purge muster-relay muster-agent muster-server muster > /dev/null
! [ -e /etc/muster ] && ! [ -e /var/lib/muster ] && ! [ -e /var/lib/muster-agent ] || fail "left: $(ls -d /etc/muster /var/lib/muster*)"
ok 'purged: nothing is left but the users'
