#!/bin/bash
# The part of try-image.sh that runs where the image is mounted. Each line that begins with `ok` is something that holds.
set -euo pipefail
root="$1" config="$2"
ok() { echo "ok $*"; }
fail() { echo "failed: $*" >&2; tail -n 20 "$root"/tmp/*.log >&2 || true; exit 1; }
until_true() { local tries; for ((tries = 0; tries < 600; tries++)); do "$@" > /dev/null 2>&1 && return; sleep 0.1; done; fail "waited for: $*"; }
config_of() { node -e 'const { config } = JSON.parse(require("fs").readFileSync(process.argv[1])).Docker; process.stdout.write('"$1"')' "$config"; }
words() { config_of "$1.map((word) => word + '\\0').join('')"; }
[ "$(config_of config.User)" = 10001:10001 ] || fail "the user is $(config_of config.User)"
# As an engine does: the environment of the image alone, no capability, and none to be had.
enter() {
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" /usr/bin/setpriv --reuid 10001 --regid 10001 --clear-groups \
    --bounding-set=-all --inh-caps=-all --no-new-privs -- env -C /var/lib/muster "$@"
}
inside() { (enter "$@"); }
muster() { inside MUSTER_CONFIG=/var/lib/muster/muster.yaml /usr/bin/muster "$@"; }
mapfile -d '' -t entry < <(words config.Entrypoint)
mapfile -d '' -t command < <(words config.Cmd)
mapfile -d '' -t health < <(words 'config.Healthcheck.Test.slice(1)')
available() { muster node list | grep ' available' > /dev/null; }
healthy() { inside "${health[@]}"; }

! healthy 2> /dev/null || fail 'healthy without a server'
! chroot "$root" /usr/bin/touch /x 2> /dev/null || fail 'its root can be written'
enter "${entry[@]}" "${command[@]}" > "$root/tmp/server.log" 2>&1 &
server=$!
until_true healthy
ok "a server runs as $(stat -c %u "$root/var/lib/muster/muster.db"), its root read-only, and is healthy"
cat > "$root/tmp/agent.yaml" <<'YAML'
server: http://127.0.0.1:8080
name: try
commands:
  "uname -s": uname -s
YAML
until_true muster doctor
install -m 600 -o 10001 <(muster token create 2> /dev/null) "$root/tmp/agent.token"
enter "${entry[@]}" agent --config /tmp/agent.yaml --data-dir /var/lib/muster-agent --enroll-file /tmp/agent.token > "$root/tmp/agent.log" 2>&1 &
until_true available
[ "$(muster push start name:try -- 'uname -s' 2> /dev/null | grep -c '^Linux$')" = 1 ] || fail 'the push job'
ok 'an agent enrolled, and a push job ran'
kill "$server"
wait "$server" || true
! healthy 2> /dev/null || fail 'healthy without its server'
ok 'it stops when it is told to'
