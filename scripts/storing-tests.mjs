import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Prints the tests that are run on PostgreSQL, too: those that open a database, themselves or by what they import, but for those that
 * would find nothing there that they or others do not find anyway. `--all`: also those that hardly would.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DATABASES = ['packages/platform/test/support/database.ts', 'packages/store/test/postgres.ts'];

/** The same whatever the database is: wires, command line, agents, other people's clients. An asterisk is the rest of a name. */
const SAME = [
  'e2e/acceptance-*',
  'e2e/agent-systems',
  'e2e/agent-upgrade',
  'e2e/clean-restart',
  'e2e/cli',
  'e2e/cli-push',
  'e2e/cli-tasks',
  'e2e/console',
  'e2e/console-acts',
  'e2e/console-directory',
  'e2e/console-hostile',
  'e2e/console-live',
  'e2e/console-provider',
  'e2e/console-screens',
  'e2e/console-work',
  'e2e/demo',
  'e2e/disbatch-client',
  'e2e/docs',
  'e2e/docs-guides',
  'e2e/enrolment',
  'e2e/events',
  'e2e/events-rest',
  'e2e/fabric-*',
  'e2e/faults-broker',
  'e2e/faults-crowd',
  'e2e/faults-disk',
  'e2e/faults-frozen',
  'e2e/faults-garbage',
  'e2e/faults-network',
  'e2e/faults-output',
  'e2e/faults-output-restart',
  'e2e/faults-reinstalled',
  'e2e/faults-slow-client',
  'e2e/faults-sockets',
  'e2e/guarantees',
  'e2e/jobs-cli',
  'e2e/jobs-held',
  'e2e/jobs-systems',
  'e2e/output',
  'e2e/push-files',
  'e2e/safety',
  'e2e/server-key',
  'e2e/ssh-nodes',
  'e2e/tasks-bad-input',
  'e2e/use-case',
  'packages/cli/test/*',
  'packages/server/test/auth-first-start',
  'packages/server/test/console',
  'packages/server/test/http-*',
  'packages/server/test/sessions',
  'packages/server/test/spec1',
];

/**
 * Of what these do to which tables, each is done by another of the tests that are left, too, and what they are about is not how it is
 * stored. What the end-to-end ones kill is killed on PostgreSQL by `faults-postgres`, `faults-jobs` and `faults-cluster`.
 * `npm run test:postgres` and `npm run test:all` run them as well.
 */
const REPEATED = [
  'e2e/cluster-upgrade',
  'e2e/crash',
  'e2e/faults-jobs-embedded',
  'e2e/faults-server-killed',
  'e2e/faults-tasks',
  'packages/jobs/test/catalog/routes',
  'packages/jobs/test/front/actions',
  'packages/jobs/test/front/clients',
  'packages/jobs/test/front/feed',
  'packages/jobs/test/front/outputs',
  'packages/jobs/test/front/pems',
  'packages/jobs/test/front/roots',
  'packages/jobs/test/front/submit',
  'packages/jobs/test/front/validation',
  'packages/jobs/test/import/import',
  'packages/jobs/test/metrics',
  'packages/jobs/test/notifications/deliverer',
  'packages/jobs/test/notifications/deliveries',
  'packages/jobs/test/notifications/topic',
  'packages/jobs/test/phases/*',
  'packages/jobs/test/recovery/leaving',
  'packages/jobs/test/recovery/reader',
  'packages/jobs/test/recovery/strays',
  'packages/jobs/test/routing/job-queues',
  'packages/jobs/test/systems/agent-sessions',
  'packages/jobs/test/systems/asked-agents',
  'packages/jobs/test/systems/asked-tasks',
  'packages/jobs/test/systems/tasks',
  'packages/jobs/test/worker/commands',
  'packages/jobs/test/worker/fork',
  'packages/jobs/test/worker/lost-workers',
  'packages/jobs/test/worker/missed',
  'packages/jobs/test/worker/restart',
  'packages/jobs/test/worker/routes',
  'packages/jobs/test/worker/takeover',
  'packages/jobs/test/worker/worker',
  'packages/jobs/test/worker/zombie',
  'packages/nodes/test/controller',
  'packages/nodes/test/reception',
  'packages/nodes/test/transport',
  'packages/nodes/test/why',
  'packages/platform/test/audit-trails',
  'packages/platform/test/auth-invitations',
  'packages/platform/test/auth-issuers',
  'packages/platform/test/auth-organization-rows',
  'packages/platform/test/auth-sign-ins',
  'packages/platform/test/event-counts',
  'packages/platform/test/events-log',
  'packages/platform/test/feeds',
  'packages/platform/test/log-feed',
  'packages/platform/test/output',
  'packages/platform/test/output-answer',
  'packages/platform/test/output-keeper',
  'packages/platform/test/server-key',
  'packages/push/test/batches',
  'packages/push/test/controller',
  'packages/push/test/files',
  'packages/push/test/jobs',
  'packages/push/test/metrics',
  'packages/push/test/ownership/aspect',
  'packages/push/test/reads',
  'packages/push/test/results',
  'packages/push/test/retention',
  'packages/push/test/secret-providers',
  'packages/push/test/secrets',
  'packages/push/test/start-limits',
  'packages/push/test/targets',
  'packages/server/test/auth-access',
  'packages/server/test/auth-audit',
  'packages/server/test/console-sign-in',
  'packages/server/test/counts',
  'packages/server/test/disbatch',
  'packages/server/test/events-*',
  'packages/server/test/issuers',
  'packages/server/test/nodes-routes',
  'packages/server/test/notifications-mail',
  'packages/server/test/rules-approval',
  'packages/server/test/server-failed',
  'packages/server/test/ssh-nodes',
  'packages/tasks/test/controller',
  'packages/tasks/test/disbatch/login',
  'packages/tasks/test/disbatch/rows',
  'packages/tasks/test/disbatch/rows-operation',
  'packages/tasks/test/disbatch/version-3',
  'packages/tasks/test/events',
  'packages/tasks/test/node-limits',
  'packages/tasks/test/overrides',
  'packages/tasks/test/queue-states',
  'packages/tasks/test/routes-acting',
  'packages/tasks/test/routes-adding',
  'packages/tasks/test/routes-nodes',
  'packages/tasks/test/routes-rights',
  'packages/tasks/test/schedules/approvals',
  'packages/tasks/test/scheduling',
  'packages/tasks/test/search',
  'packages/tasks/test/unique',
  'packages/tasks/test/why',
];

const NOT = process.argv.includes('--all') ? SAME : [...SAME, ...REPEATED];
const IMPORT = /\bfrom\s+'(\.[^']+)'/g;

const known = new Map(DATABASES.map((path) => [join(ROOT, path), true]));

/** Of a ring of files that import each other, one is found by what it imports besides. */
function opens(path) {
  const found = known.get(path);
  if (found !== undefined) return found;
  known.set(path, false);
  const imported = [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([, name]) => resolve(dirname(path), name));
  const tests = imported.map((name) => name.replace(/\.js$/, '.ts')).filter((name) => name.endsWith('.ts'));
  const opened = tests.some((name) => !/[/](src|dist)[/]/.test(name) && opens(name));
  known.set(path, opened);
  return opened;
}

function left(test) {
  const name = test.replace(/\.test\.ts$/, '');
  return !NOT.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
}

const packages = readdirSync(join(ROOT, 'packages')).map((name) => join(ROOT, 'packages', name, 'test'));
for (const folder of [join(ROOT, 'e2e'), ...packages].filter((one) => existsSync(one))) {
  const paths = readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
  const tests = paths.filter((path) => path.endsWith('.test.ts') && left(relative(ROOT, path)));
  for (const path of tests.sort()) if (opens(path)) console.log(relative(ROOT, path));
}
