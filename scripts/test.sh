#!/usr/bin/env bash
# Everything that must hold, cheapest first; stops at the first stage that fails. `npm test` is exactly this. `--all` (`npm run test:all`):
# also what takes long, and finds what others seldom leave to it.
set -euo pipefail
cd "$(dirname "$0")/.."

all="${1:-}"
postgres="${MUSTER_TEST_DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres}"
unset MUSTER_TEST_DATABASE_URL
PATH="$PWD/node_modules/.bin:$PATH"
current=''
simulated="$(mktemp)"
simulators=''
ended() {
  [ "$1" -eq 0 ] || printf '\nfailed: %s\n' "$current" >&2
  [ -z "$simulators" ] || kill -- "-$simulators" 2>/dev/null || true
  rm -f "$simulated"
}
trap 'ended $?' EXIT
# Each Node.js reads all of it when it starts, and no test meets a server whose certificate is not of its own making.
unset NODE_EXTRA_CA_CERTS

stage() {
  current="$1"
  printf '\n== %s\n' "$current"
}

stage 'lint and types'
biome check . &
lint=$!
npm run --silent build
current='lint'
wait "$lint"

stage 'advisories'
node scripts/advisories/main.mjs

# Beside the tests, which wait for much of their time.
npm run --silent layers &
layers=$!

# So do these: no clock but their own matters to them, so that they take what the others leave of the processors.
set -m
VITEST_MAX_WORKERS=2 nice -n 10 vitest run --project sim >"$simulated" 2>&1 &
simulators=$!
set +m

stage 'tests on SQLite: unit, property, conformance, end to end'
without=()
if ! node scripts/rabbitmq-answers.mjs; then
  printf 'skipped: packages/fabric/test/relay-rabbitmq.test.ts (no RabbitMQ answers STOMP at 127.0.0.1:61613)\n'
  without=('packages/fabric/test/relay-rabbitmq.test.ts')
fi
rabbitmq="${MUSTER_TEST_RABBITMQ_URL:-amqp://guest:guest@127.0.0.1:5672}"
jobs_on_rabbitmq=true
if ! node scripts/amqp-answers.mjs "$rabbitmq"; then
  printf 'skipped: packages/broker/test/rabbitmq.test.ts, packages/broker/test/rabbitmq-topology.test.ts, packages/jobs/test/rabbitmq.test.ts (no RabbitMQ answers at %s; set MUSTER_TEST_RABBITMQ_URL)\n' \
    "${rabbitmq##*@}"
  without+=('packages/broker/test/rabbitmq.test.ts')
  jobs_on_rabbitmq=false
elif ! command -v rabbitmqctl >/dev/null; then
  printf 'skipped: packages/broker/test/rabbitmq-topology.test.ts, packages/jobs/test/rabbitmq.test.ts (no rabbitmqctl, which makes a virtual host)\n'
  jobs_on_rabbitmq=false
fi
# In a virtual host of its own, as those of jobs are.
"$jobs_on_rabbitmq" || without+=('packages/broker/test/rabbitmq-topology.test.ts')
# Tests that break a RabbitMQ of their own.
if ! command -v rabbitmq-server >/dev/null; then
  printf 'skipped: packages/broker/test/rabbitmq-faults.test.ts, packages/broker/test/rabbitmq-holds.test.ts, e2e/jobs-held.test.ts, e2e/faults-broker.test.ts (no rabbitmq-server)\n'
  for needed in faults holds; do
    without+=("packages/broker/test/rabbitmq-$needed.test.ts")
  done
  without+=('e2e/jobs-held.test.ts' 'e2e/faults-broker.test.ts')
fi
# Execution systems: a login by ssh and a batch scheduler that the tests start themselves.
hosts=()
if ! command -v sshd >/dev/null && ! [ -x /usr/sbin/sshd ]; then
  printf 'skipped: packages/jobs/test/systems/ssh.test.ts, packages/jobs/test/systems/registry.test.ts, e2e/jobs-systems.test.ts, e2e/faults-jobs.test.ts (no sshd; Debian: openssh-server)\n'
  hosts+=('packages/jobs/test/systems/ssh.test.ts' 'packages/jobs/test/systems/registry.test.ts' 'e2e/jobs-systems.test.ts' 'e2e/faults-jobs.test.ts')
fi
if ! [ -x /usr/sbin/slurmctld ] || ! [ -x /usr/sbin/munged ]; then
  printf 'skipped: packages/jobs/test/systems/slurm.test.ts, packages/jobs/test/systems/slurm-accounting.test.ts, e2e/jobs-systems.test.ts, e2e/faults-jobs.test.ts (no Slurm; Debian: slurm-wlm and munge)\n'
  hosts+=('packages/jobs/test/systems/slurm.test.ts' 'packages/jobs/test/systems/slurm-accounting.test.ts' 'e2e/jobs-systems.test.ts' 'e2e/faults-jobs.test.ts')
fi
if ! [ -x /usr/sbin/slurmdbd ] || ! [ -x /usr/sbin/mariadbd ] || ! command -v mariadb >/dev/null; then
  printf 'skipped: packages/jobs/test/systems/slurm-accounting.test.ts (no accounting of Slurm; Debian: slurmdbd, mariadb-server-core and mariadb-client-core)\n'
  hosts+=('packages/jobs/test/systems/slurm-accounting.test.ts')
fi
# A directory that the tests start themselves.
if ! [ -x /usr/sbin/slapd ]; then
  printf 'skipped: packages/platform/test/auth-ldap.test.ts, packages/cli/test/login-ldap.test.ts, e2e/console-directory.test.ts (no OpenLDAP; Debian: slapd)\n'
  hosts+=('packages/platform/test/auth-ldap.test.ts' 'packages/cli/test/login-ldap.test.ts' 'e2e/console-directory.test.ts')
fi
# Other people's STOMP clients, where Debian's packages for them are installed.
if ! /usr/bin/python3 -c 'import stomp' 2>/dev/null; then
  printf 'skipped: e2e/fabric-peer-python.test.ts (no python3-stomp)\n'
  without+=('e2e/fabric-peer-python.test.ts')
fi
if ! /usr/bin/perl -MLWP::UserAgent -MJSON::PP -e 1 2>/dev/null; then
  printf 'skipped: e2e/disbatch-client.test.ts (no libwww-perl)\n'
  without+=('e2e/disbatch-client.test.ts')
fi
if ! /usr/bin/perl -MNet::Stomp -e 1 2>/dev/null; then
  printf 'skipped: e2e/fabric-peer-perl.test.ts (no libnet-stomp-perl)\n'
  without+=('e2e/fabric-peer-perl.test.ts')
fi
if ! command -v ansible-inventory >/dev/null; then
  printf 'skipped: packages/cli/test/inventory-ansible.test.ts (no ansible-inventory; Debian: ansible-core)\n'
  without+=('packages/cli/test/inventory-ansible.test.ts')
fi
# The console in a browser: Debian's, as others bring their own; of the two the one that has no windows, which takes a fifth less of the processor.
for MUSTER_TEST_CHROMIUM in ${MUSTER_TEST_CHROMIUM:-/usr/bin/chromium-headless-shell /usr/bin/chromium}; do
  ! [ -x "$MUSTER_TEST_CHROMIUM" ] || break
done
export MUSTER_TEST_CHROMIUM
if ! [ -x "$MUSTER_TEST_CHROMIUM" ]; then
  consoles=(e2e/console*.test.ts)
  printf 'skipped: %s (no %s; Debian: chromium-headless-shell or chromium)\n' "${consoles[*]}" "$MUSTER_TEST_CHROMIUM"
  without+=("${consoles[@]}")
fi
# Examples of the guides, which take JSON apart with jq.
if ! command -v jq >/dev/null; then
  printf 'skipped: e2e/docs.test.ts, e2e/docs-guides.test.ts (no jq)\n'
  without+=('e2e/docs.test.ts' 'e2e/docs-guides.test.ts')
fi
# Plugins, the examples and those of the guides among them.
if ! perl -MJSON::PP -e 1 2>/dev/null || ! command -v python3 >/dev/null; then
  printf 'skipped: packages/plugin/test/examples.test.ts, packages/plugin/test/perl-runner.test.ts, e2e/docs.test.ts, e2e/docs-guides.test.ts (no perl with JSON::PP, or no python3)\n'
  for needed in packages/plugin/test/examples packages/plugin/test/perl-runner e2e/docs e2e/docs-guides; do
    without+=("$needed.test.ts")
  done
fi
# The guides but for the first pages, each screen of the console after the other, whole fleets, and the command line of Disbatch through all
# that it has: what is under them is tested by others, and the main ways through them by `docs`, `console` and `packages/server/test/disbatch`. More rounds of kills, too.
long=(e2e/{agent-upgrade,console-acts,console-directory,console-hostile,console-live,console-provider,console-screens,console-work}.test.ts
  e2e/{disbatch-client,docs-guides,faults-crowd,faults-output,faults-slow-client}.test.ts)
if [ "$all" = --all ]; then
  export MUSTER_TEST_FAULT_ROUNDS="${MUSTER_TEST_FAULT_ROUNDS:-8}"
else
  without+=("${long[@]}")
  printf 'left to `npm run test:all`: %s, and on PostgreSQL what scripts/storing-tests.mjs calls repeated\n' "${long[*]}"
fi
# With PostgreSQL, if at all: what breaks one, and jobs on RabbitMQ, as they are used.
for later in 'packages/store/test/postgres*' e2e/faults-postgres e2e/faults-jobs e2e/agent-systems-workers e2e/jobs-event-topic e2e/cluster e2e/cluster-upgrade e2e/faults-cluster packages/jobs/test/rabbitmq; do
  without+=("$later.test.ts")
done
MUSTER_TEST_WITHOUT="${without[*]} ${hosts[*]}" vitest run --project '!sim'

current='layers'
wait "$layers"

if node scripts/postgres-answers.mjs "$postgres"; then
  stage 'tests on PostgreSQL: everything that stores'
  without=()
  # Four tests have a PostgreSQL of their own, for which they need more than a server that answers; three a RabbitMQ, too.
  if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    printf 'skipped: e2e/faults-postgres.test.ts, e2e/faults-jobs.test.ts, e2e/agent-systems-workers.test.ts, e2e/jobs-event-topic.test.ts (no initdb in PATH or /usr/lib/postgresql)\n'
    without=('e2e/faults-postgres.test.ts' 'e2e/faults-jobs.test.ts' 'e2e/agent-systems-workers.test.ts' 'e2e/jobs-event-topic.test.ts')
  elif ! command -v rabbitmq-server >/dev/null; then
    printf 'skipped: e2e/faults-jobs.test.ts, e2e/agent-systems-workers.test.ts, e2e/jobs-event-topic.test.ts (no rabbitmq-server)\n'
    without=('e2e/faults-jobs.test.ts' 'e2e/agent-systems-workers.test.ts' 'e2e/jobs-event-topic.test.ts')
  fi
  if ! command -v pg_dump >/dev/null || ! command -v psql >/dev/null; then
    printf 'skipped: e2e/restored-backup.test.ts (no pg_dump and psql; Debian: postgresql-client)\n'
    without+=('e2e/restored-backup.test.ts')
  fi
  "$jobs_on_rabbitmq" || without+=('packages/jobs/test/rabbitmq.test.ts')
  storing="$(node scripts/storing-tests.mjs "$all")"
  mapfile -t storing <<<"$storing"
  MUSTER_TEST_DATABASE_URL="$postgres" MUSTER_TEST_WITHOUT="${without[*]} ${hosts[*]}" vitest run --passWithNoTests=false "${storing[@]}"
else
  # Said last but one on purpose: nobody should take half of the tests for all of them.
  printf '\nskipped: tests on PostgreSQL (no server answers at %s; set MUSTER_TEST_DATABASE_URL)\n' "${postgres##*@}"
fi

stage 'simulators, which ran beside these'
if ! wait "$simulators"; then
  simulators=''
  cat "$simulated"
  exit 1
fi
simulators=''
cat "$simulated"
