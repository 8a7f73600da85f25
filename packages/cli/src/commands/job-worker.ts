import { EXIT } from '@muster/base';
import type { JobWork } from '@muster/server/worker';
import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { runUntil, toldToStop } from '../stopping.js';
import { timeText } from '../summary.js';

interface WorkFlags {
  readonly config?: string;
  readonly databaseUrl?: string;
  readonly brokerUrl?: string;
  readonly dataDir?: string;
  readonly secretKeyFile?: string;
  readonly logLevel?: string;
}

interface WorkerFlags extends WorkFlags {
  readonly org: string;
  readonly queue: string;
  readonly slots: string;
  readonly name?: string;
}

interface RecoveryFlags extends WorkFlags {
  readonly org: string;
}

const MOST_SLOTS = 10_000;
const ORG = ['--org <name>', 'organization', 'default'] as const;

/** Processes beside the server that work on jobs, or read what is to be read. */
export function addJobWorkers(program: Command, shell: Shell): void {
  const group = subcommand(program, {
    usage: 'worker',
    summary:
      'work on the jobs of one job queue, beside a server with the same PostgreSQL and RabbitMQ; see and tell workers',
    examples: [
      'muster worker --queue DefaultQueue --slots 20 --broker-url amqp://mq --database-url postgres://db/muster',
      'muster worker list',
      'muster worker quiesce rack7',
    ],
  });
  // `muster worker` alone runs one.
  const worker = subcommand(
    group,
    {
      usage: 'run',
      summary: 'run a worker until it is stopped (what `muster worker` alone does); --help lists its options',
      examples: [
        'muster worker run --queue DefaultQueue --slots 20 --broker-url amqp://mq --database-url postgres://db/muster',
        'muster worker run --queue long --org bio --name rack7 --config /etc/muster/server.yaml',
      ],
    },
    { isDefault: true },
  )
    .option('--queue <name>', 'job queue, whole or its last part', 'DefaultQueue')
    .option('--slots <count>', 'jobs worked on at once', '20')
    .option('--name <name>', 'by which it is told apart, at most 16 characters (default: made up)')
    .option(...ORG);
  withWork(worker);
  does<WorkerFlags>(worker, shell, (call) => {
    const { org: organization, queue, slots, name } = call.options;
    return work(call, {
      kind: 'worker',
      organization,
      queue,
      slots: slotsOf(slots),
      ...(name !== undefined && { name }),
    });
  });

  addTelling(group, shell);

  const reader = subcommand(program, {
    usage: 'reader',
    summary: 'read what workers do not: recovery, and messages that nobody took; servers do it, too',
    examples: [
      'muster reader recovery --org default --config /etc/muster/server.yaml',
      'muster reader dead-letter --broker-url amqp://mq --database-url postgres://db/muster',
    ],
  });
  const recovery = subcommand(reader, {
    usage: 'recovery',
    summary: 'test what jobs are blocked by, and let them go on when it is over',
    examples: ['muster reader recovery --org default --config /etc/muster/server.yaml'],
  }).option(...ORG);
  withWork(recovery);
  does<RecoveryFlags>(recovery, shell, (call) => work(call, { kind: 'recovery', organization: call.options.org }));
  for (const [kind, summary] of [
    ['alternate', 'keep and tell of messages that could be routed nowhere'],
    ['dead-letter', 'keep and tell of messages that were rejected'],
  ] as const) {
    const stray = subcommand(reader, {
      usage: kind,
      summary,
      examples: [`muster reader ${kind} --config /etc/muster/server.yaml`],
    });
    withWork(stray);
    does<WorkFlags>(stray, shell, (call) => work(call, { kind }));
  }
}

interface WorkerInfo {
  readonly name: string;
  readonly host: string;
  readonly queue: string;
  readonly slots: number;
  readonly state: string;
  readonly jobs: number;
  readonly started: string;
}

const ACTIONS = [
  ['quiesce', 'take nothing more, and end when what they have is over'],
  ['suspend', 'take nothing more until they are resumed'],
  ['resume', 'take jobs again'],
  ['shutdown', 'give back what they have, and end: others go on with it'],
] as const;

/** Workers that run, wherever they do. */
function addTelling(group: Command, shell: Shell): void {
  const list = clientCommand(group, {
    usage: 'list',
    summary: 'workers that run, and how many jobs each works on',
    examples: ['muster worker list', 'muster worker list --all --json'],
  }).option('--all', 'also those that have ended');
  does<{ readonly all?: boolean }>(list, shell, listWorkers);
  for (const [action, summary] of ACTIONS) {
    const command = clientCommand(group, {
      usage: `${action} <worker...>`,
      summary: `have workers ${summary}`,
      examples: [`muster worker ${action} rack7`],
    });
    does<object>(command, shell, async (call) => {
      const { client, out, args } = call;
      for (const worker of args) await client.post(client.inOrg('job-workers', worker, action), {});
      out.document({ told: args });
      out.line(`told ${args.join(', ')}`);
      return EXIT.ok;
    });
  }
}

async function listWorkers({ client, out, options }: Call<{ readonly all?: boolean }>): Promise<number> {
  const query = options.all === true ? { all: true } : {};
  const workers = await client.get<readonly WorkerInfo[]>(client.inOrg('job-workers'), query);
  out.document(workers);
  if (workers.length === 0) out.note('no worker runs: a server with --no-workers needs `muster worker`');
  const rows = workers.map(({ name, state, queue, jobs, slots, host, started }) => [
    name,
    state,
    queue.split('.').at(-1) ?? queue,
    `${jobs} of ${slots}`,
    host,
    timeText(started),
  ]);
  out.table(['Worker', 'State', 'Queue', 'Jobs', 'Host', 'Started'], rows);
  return EXIT.ok;
}

function withWork(command: Command): void {
  command
    .option('--config <file>', 'settings of the server, JSON or YAML; of them those below, jobs and events count')
    .option('--database-url <url>', 'postgres://… of the server')
    .option('--broker-url <url>', 'amqp://… of RabbitMQ; the queues are in the database when absent')
    .option('--data-dir <directory>', 'where job-secrets.key is (default: ./muster-data)')
    .option('--secret-key-file <file>', 'key of the server that seals what opens systems, elsewhere')
    .option('--log-level <level>', 'least important line that is logged (default: info)')
    .option('--json', 'changes nothing: logs are JSON anyway');
}

function slotsOf(text: string): number {
  const slots = Number(text);
  if (Number.isInteger(slots) && slots >= 1 && slots <= MOST_SLOTS) return slots;
  throw new MusterError('usage', { reason: `--slots: expected a whole number from 1 to ${MOST_SLOTS}, got ${text}` });
}

async function work(call: Call<WorkFlags>, asked: JobWork): Promise<number> {
  const { loadConfig } = await import('@muster/platform/config');
  const { startWork } = await import('@muster/server/worker');
  const { config: file, databaseUrl, brokerUrl, dataDir, secretKeyFile, logLevel } = call.options;
  const flags = { databaseUrl, brokerUrl, dataDir, jobsSecretKeyFile: secretKeyFile, logLevel };
  const config = loadConfig({ file, env: call.world.env, flags });
  const told = toldToStop(call.world);
  const running = await startWork(config, asked);
  await runUntil(Promise.race([told, running.ended]), running);
  return EXIT.ok;
}
