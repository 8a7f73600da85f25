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
vitest run --exclude 'packages/store/test/postgres*.test.ts' --exclude 'e2e/faults-postgres.test.ts' --exclude '**/node_modules/**'

if node scripts/postgres-answers.mjs "$postgres"; then
  stage 'tests on PostgreSQL: everything that stores'
  without=()
  # One test breaks a PostgreSQL of its own, for which it needs more than a server that answers.
  if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    printf 'skipped: e2e/faults-postgres.test.ts (no initdb in PATH or /usr/lib/postgresql)\n'
    without=(--exclude 'e2e/faults-postgres.test.ts')
  fi
  MUSTER_TEST_DATABASE_URL="$postgres" vitest run packages/store packages/server e2e --exclude 'e2e/demo.test.ts' \
    --exclude 'e2e/faults-disk.test.ts' --exclude 'e2e/guarantees.test.ts' "${without[@]}" \
    --exclude 'packages/store/test/sqlite*.test.ts' --exclude '**/node_modules/**'
else
  # Said last but one on purpose: nobody should take half of the tests for all of them.
  printf '\nskipped: tests on PostgreSQL (no server answers at %s; set MUSTER_TEST_DATABASE_URL)\n' "${postgres##*@}"
fi
