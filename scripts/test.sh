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
vitest run --exclude 'packages/store/test/postgres*.test.ts' --exclude 'e2e/faults-postgres.test.ts' "${without[@]}"

if node scripts/postgres-answers.mjs "$postgres"; then
  stage 'tests on PostgreSQL: everything that stores'
  without=()
  # One test breaks a PostgreSQL of its own, for which it needs more than a server that answers.
  if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    printf 'skipped: e2e/faults-postgres.test.ts (no initdb in PATH or /usr/lib/postgresql)\n'
    without=(--exclude 'e2e/faults-postgres.test.ts')
  fi
  # The same whatever the database is: wires, command line, agents, other people's clients.
  for same in acceptance-agent acceptance-filedir cli cli-push demo docs enrolment events 'fabric-peer-*' fabric-input fabric-links \
    fabric-outages fabric-routing fabric-rules faults-disk faults-frozen faults-garbage faults-network faults-reinstalled \
    faults-slow-client guarantees tasks-bad-input; do
    without+=(--exclude "e2e/$same.test.ts")
  done
  # Of the others, every test that opens a database, itself or by what it imports.
  MUSTER_TEST_DATABASE_URL="$postgres" vitest related --run --passWithNoTests=false \
    packages/platform/test/support/database.ts packages/store/test/postgres.ts "${without[@]}"
else
  # Said last but one on purpose: nobody should take half of the tests for all of them.
  printf '\nskipped: tests on PostgreSQL (no server answers at %s; set MUSTER_TEST_DATABASE_URL)\n' "${postgres##*@}"
fi
