import type { Command } from 'commander';
import { jsonOf } from '../files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, addRemove, tellTable } from './resource.js';

interface JobQueue {
  /** Whole: `aloe.jobq.ORG.submit.NAME`. */
  readonly name: string;
  readonly priority: number;
  readonly filter: string;
  /** Null: it is there by itself. */
  readonly lastUpdated: string | null;
}

interface Stats {
  readonly name: string;
  /** Null: the broker has no such queue. */
  readonly ready: number | null;
  readonly held: number;
  /** Of the workers that take its jobs. */
  readonly slots: number;
  readonly jobs: Readonly<Record<string, number>>;
}

interface Explained {
  readonly queue: string;
  readonly byDefault: boolean;
  readonly filters: readonly {
    readonly queue: string;
    readonly priority: number;
    readonly filter: string;
    readonly matched: boolean;
    /** False: one before it matched. */
    readonly asked: boolean;
    readonly error: string | null;
    readonly values: Readonly<Record<string, unknown>>;
  }[];
}

/** Queues of jobs, and which requests go to which. */
export function addJobQueue(program: Command, shell: Shell): void {
  const queue = subcommand(program, {
    usage: 'job-queue',
    summary: 'where submitted jobs wait for a worker, and which job waits where',
    examples: ['muster job-queue list', 'muster job-queue test job.json'],
  });
  addList<JobQueue>(queue, shell, {
    summary: 'queues in the order in which their filters are asked',
    examples: ['muster job-queue list'],
    read: ({ client }) => client.get(client.inOrg('job-queues')),
    columns: {
      Queue: ({ name }) => shortName(name),
      Priority: ({ priority }) => priority,
      Changed: ({ lastUpdated }) => timeText(lastUpdated),
      Filter: ({ filter }) => filter,
    },
    look: { fit: true },
  });
  addApply(queue, shell);
  addTest(queue, shell);
  addList<Stats>(queue, shell, {
    usage: 'stats',
    summary: 'what waits in queues, who takes it, and how their jobs stand that have not ended',
    examples: ['muster job-queue stats', 'muster job-queue stats --json'],
    read: ({ client }) => client.get(client.inOrg('job-queues', 'stats')),
    columns: {
      Queue: ({ name }) => shortName(name),
      Waiting: ({ ready }) => ready,
      'In hand': ({ held }) => held,
      Slots: ({ slots }) => slots,
      Jobs: ({ jobs }) =>
        Object.entries(jobs)
          .map(([status, jobsOfIt]) => `${jobsOfIt} ${status}`)
          .join(', '),
    },
    look: { fit: true },
  });
  addRemove(queue, shell, {
    usage: 'rm <queue>',
    summary: 'delete a queue without jobs',
    examples: ['muster job-queue rm night', 'muster job-queue rm night --yes'],
    path: ({ client }, name = '') => client.inOrg('job-queues', name),
    done: (name = '') => ({ document: { name, deleted: true }, line: `deleted job queue ${printable(name)}` }),
    question: (name = '') => `Delete job queue ${printable(name)}?`,
  });
}

function addApply(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'apply',
    summary: 'create and change the queues of a file, all or none; others stay as they are',
    examples: ['muster job-queue apply -f queues.json', 'muster job-queue apply -f - < queues.json'],
  });
  command.requiredOption(
    '-f, --file <file>',
    'list of {name, tenantId, priority, filter}, as JSON; - is standard input',
  );
  does<{ readonly file: string }>(command, shell, async (call) => {
    const body = await jsonOf(call.world, call.options.file);
    const stored = await call.client.post<readonly JobQueue[]>(call.client.inOrg('job-queues', 'import'), body);
    call.out.document(stored);
    for (const { name, priority } of stored) call.out.line(`${shortName(name)}: priority ${priority}`);
  });
}

interface TestFlags {
  readonly at?: string;
  readonly owner?: string;
}

function addTest(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'test <file>',
    summary: 'which queue a job would wait in, filter by filter, with the values seen; nothing is submitted',
    examples: [
      'muster job-queue test job.json',
      'muster job-queue test job.json --owner anna --at 2026-11-23T21:00:00Z',
    ],
  });
  command
    .option('--at <time>', 'as if it were submitted then: 2026-11-23T21:00:00Z')
    .option('--owner <name>', 'as if this user submitted it');
  does<TestFlags>(command, shell, async (call) => {
    const [file = ''] = call.args;
    const { at, owner } = call.options;
    const explained = (await call.client.json('POST', call.client.inOrg('job-queues', 'test'), {
      body: await jsonOf(call.world, file),
      query: { at, owner },
    })) as Explained;
    call.out.document(explained);
    tellExplained(call, explained);
  });
}

function tellExplained(call: Call<object>, { queue, byDefault, filters }: Explained): void {
  tellTable(call, filters, {
    Queue: (one) => shortName(one.queue),
    Priority: ({ priority }) => priority,
    Matches: ({ asked, matched, error }) => (!asked ? 'not asked' : error !== null ? 'error' : matched ? 'yes' : 'no'),
    Filter: ({ filter }) => filter,
    Values: ({ values, error }) =>
      error ??
      Object.entries(values)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(' '),
  });
  call.out.line(`It goes to ${printable(shortName(queue))}${byDefault ? ': no filter matches' : ''}.`);
}

/** Without what all queues of an organization begin with. */
function shortName(name: string): string {
  return name.replace(/^aloe\.jobq\.[^.]+\.submit\./, '');
}
