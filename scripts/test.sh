#!/usr/bin/env bash
# Everything that must hold, cheapest first; stops at the first stage that fails. `npm test` is exactly this.
set -euo pipefail
cd "$(dirname "$0")/.."

postgres="${MUSTER_TEST_DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres}"
unset MUSTER_TEST_DATABASE_URL
PATH="$PWD/node_modules/.bin:$PATH"
current=''
trap '[ $? -eq 0 ] || printf "\nfailed: %s\n" "$current" >&2' EXIT

stage() {
  current="$1"
  printf '\n== %s\n' "$current"
}

stage 'lint'
biome check .

stage 'types'
npm run --silent build

stage 'layers'
npm run --silent layers

stage 'tests on SQLite: unit, property, conformance, end to end'
without=()
if ! node scripts/rabbitmq-answers.mjs; then
  printf 'skipped: packages/fabric/test/relay-rabbitmq.test.ts (no RabbitMQ answers STOMP at 127.0.0.1:61613)\n'
  without=(--exclude 'packages/fabric/test/relay-rabbitmq.test.ts')
fi
rabbitmq="${MUSTER_TEST_RABBITMQ_URL:-amqp://guest:guest@127.0.0.1:5672}"
jobs_on_rabbitmq=true
if ! node scripts/amqp-answers.mjs "$rabbitmq"; then
  printf 'skipped: packages/broker/test/rabbitmq.test.ts, packages/jobs/test/rabbitmq.test.ts (no RabbitMQ answers at %s; set MUSTER_TEST_RABBITMQ_URL)\n' \
    "${rabbitmq##*@}"
  without+=(--exclude 'packages/broker/test/rabbitmq.test.ts')
  jobs_on_rabbitmq=false
elif ! command -v rabbitmqctl >/dev/null; then
  printf 'skipped: packages/jobs/test/rabbitmq.test.ts (no rabbitmqctl, which makes a virtual host)\n'
  jobs_on_rabbitmq=false
fi
# Tests that break a RabbitMQ of their own.
if ! command -v rabbitmq-server >/dev/null; then
  printf 'skipped: packages/broker/test/rabbitmq-faults.test.ts, packages/broker/test/rabbitmq-holds.test.ts (no rabbitmq-server)\n'
  for needed in faults holds; do
    without+=(--exclude "packages/broker/test/rabbitmq-$needed.test.ts")
  done
fi
# Execution systems: a login by ssh and a batch scheduler that the tests start themselves.
hosts=()
if ! command -v sshd >/dev/null && ! [ -x /usr/sbin/sshd ]; then
  printf 'skipped: packages/jobs/test/systems/ssh.test.ts, packages/jobs/test/systems/registry.test.ts (no sshd; Debian: openssh-server)\n'
  hosts+=(--exclude 'packages/jobs/test/systems/ssh.test.ts' --exclude 'packages/jobs/test/systems/registry.test.ts')
fi
if ! [ -x /usr/sbin/slurmctld ] || ! [ -x /usr/sbin/munged ]; then
  printf 'skipped: packages/jobs/test/systems/slurm.test.ts (no Slurm; Debian: slurm-wlm and munge)\n'
  hosts+=(--exclude 'packages/jobs/test/systems/slurm.test.ts')
fi
# Other people's STOMP clients, where Debian's packages for them are installed.
if ! /usr/bin/python3 -c 'import stomp' 2>/dev/null; then
  printf 'skipped: e2e/fabric-peer-python.test.ts (no python3-stomp)\n'
  without+=(--exclude 'e2e/fabric-peer-python.test.ts')
fi
if ! /usr/bin/perl -MLWP::UserAgent -MJSON::PP -e 1 2>/dev/null; then
  printf 'skipped: e2e/disbatch-client.test.ts (no libwww-perl)\n'
  without+=(--exclude 'e2e/disbatch-client.test.ts')
fi
if ! /usr/bin/perl -MNet::Stomp -e 1 2>/dev/null; then
  printf 'skipped: e2e/fabric-peer-perl.test.ts (no libnet-stomp-perl)\n'
  without+=(--exclude 'e2e/fabric-peer-perl.test.ts')
fi
# The console in a browser: Debian's, as others bring their own.
if ! [ -x /usr/bin/chromium ]; then
  printf 'skipped: e2e/console.test.ts (no /usr/bin/chromium; Debian: chromium)\n'
  without+=(--exclude 'e2e/console.test.ts')
fi
# Examples of the guides, which take JSON apart with jq.
if ! command -v jq >/dev/null; then
  printf 'skipped: e2e/docs.test.ts (no jq)\n'
  without+=(--exclude 'e2e/docs.test.ts')
fi
# Plugins, the examples and those of the guides among them.
if ! perl -MJSON::PP -e 1 2>/dev/null || ! command -v python3 >/dev/null; then
  printf 'skipped: packages/plugin/test/examples.test.ts, packages/plugin/test/perl-runner.test.ts, e2e/docs.test.ts (no perl with JSON::PP, or no python3)\n'
  for needed in packages/plugin/test/examples packages/plugin/test/perl-runner e2e/docs; do
    without+=(--exclude "$needed.test.ts")
  done
fi
# With PostgreSQL, if at all: what breaks one, and jobs on RabbitMQ, as they are used.
for later in 'packages/store/test/postgres*' e2e/faults-postgres e2e/faults-jobs packages/jobs/test/rabbitmq; do
  without+=(--exclude "$later.test.ts")
done
vitest run "${without[@]}" "${hosts[@]}"

if node scripts/postgres-answers.mjs "$postgres"; then
  stage 'tests on PostgreSQL: everything that stores'
  without=()
  # Two tests break a PostgreSQL of their own, for which they need more than a server that answers; one a RabbitMQ, too.
  if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    printf 'skipped: e2e/faults-postgres.test.ts, e2e/faults-jobs.test.ts (no initdb in PATH or /usr/lib/postgresql)\n'
    without=(--exclude 'e2e/faults-postgres.test.ts' --exclude 'e2e/faults-jobs.test.ts')
  elif ! command -v rabbitmq-server >/dev/null; then
    printf 'skipped: e2e/faults-jobs.test.ts (no rabbitmq-server)\n'
    without=(--exclude 'e2e/faults-jobs.test.ts')
  fi
  "$jobs_on_rabbitmq" || without+=(--exclude 'packages/jobs/test/rabbitmq.test.ts')
  # The same whatever the database is: wires, command line, agents, other people's clients.
  for same in 'acceptance-*' agent-systems cli cli-push cli-tasks demo disbatch-client docs enrolment events events-rest 'fabric-peer-*' fabric-input \
    clean-restart console fabric-links fabric-outages fabric-programs fabric-routing fabric-rules faults-crowd faults-disk faults-frozen faults-garbage faults-network \
    faults-output faults-output-restart faults-reinstalled faults-sockets faults-slow-client guarantees jobs-cli output push-files safety tasks-bad-input use-case; do
    without+=(--exclude "e2e/$same.test.ts")
  done
  for same in 'packages/cli/test/*' 'packages/server/test/http-*' packages/server/test/spec1; do
    without+=(--exclude "$same.test.ts")
  done
  # Of the others, every test that opens a database, itself or by what it imports.
  MUSTER_TEST_DATABASE_URL="$postgres" vitest related --run --passWithNoTests=false \
    packages/platform/test/support/database.ts packages/store/test/postgres.ts "${without[@]}" "${hosts[@]}"
else
  # Said last but one on purpose: nobody should take half of the tests for all of them.
  printf '\nskipped: tests on PostgreSQL (no server answers at %s; set MUSTER_TEST_DATABASE_URL)\n' "${postgres##*@}"
fi
