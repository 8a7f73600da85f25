import type { Command } from 'commander';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { count } from './queue/settings.js';
import { addList, addShow, agreed, tellDone } from './resource.js';

interface Recovery {
  readonly id: string;
  readonly condition: string;
  readonly tester: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly policy: string;
  readonly policy_parameters: Readonly<Record<string, string>>;
  readonly attempts: number;
  readonly last_answer: string | null;
  readonly next_test: string | null;
  readonly since: string | null;
  readonly gives_up: string | null;
  readonly jobs: number;
}

interface RecoveryDetail extends Recovery {
  readonly blocked: readonly {
    readonly job: string;
    readonly goes_on_at: string | null;
    readonly message: string;
    readonly since: string;
  }[];
}

/** What blocked jobs wait for. */
export function addRecovery(program: Command, shell: Shell): void {
  const recovery = subcommand(program, {
    usage: 'recovery',
    summary: 'what blocked jobs wait for, when that is tested next, and when it is given up',
    examples: ['muster recovery list', 'muster recovery test-now ID'],
  });
  addList<Recovery, { readonly limit: number }>(recovery, shell, {
    summary: 'what jobs wait for, what is tested next first',
    examples: ['muster recovery list', 'muster recovery list --json'],
    read: ({ client, options: { limit } }) => client.get(client.inOrg('job-recovery'), { limit }),
    columns: {
      Id: ({ id }) => id,
      Condition: ({ condition }) => condition,
      Jobs: ({ jobs }) => jobs,
      Tests: ({ attempts }) => attempts,
      Next: ({ next_test }) => timeText(next_test),
      'Gives up': ({ gives_up }) => timeText(gives_up),
      About: ({ parameters }) => pairs(parameters),
      'Last answer': ({ last_answer }) => last_answer,
    },
    look: { fit: true },
    none: 'no job is blocked',
  }).option('--limit <n>', 'at most this many, up to 1000', count('--limit', 1), 100);
  addShow<RecoveryDetail>(recovery, shell, {
    usage: 'show <id>',
    summary: 'one of them, and the jobs that wait for it',
    examples: ['muster recovery show ID'],
    read: ({ client }, id) => client.get(client.inOrg('job-recovery', id)),
    tell,
  });
  const test = clientCommand(recovery, {
    usage: 'test-now <id>',
    summary: 'test it now instead of waiting; what came of it: muster recovery show',
    examples: ['muster recovery test-now ID'],
  });
  does<object>(test, shell, (call) => ask(call, 'test-now', 'is tested now'));
  const giveUp = clientCommand(recovery, {
    usage: 'give-up <id>',
    summary: 'wait for it no longer: the jobs that wait for it fail',
    examples: ['muster recovery give-up ID', 'muster recovery give-up ID --yes'],
  });
  giveUp.option('-y, --yes', 'do not ask');
  does<{ readonly yes?: boolean }>(giveUp, shell, async (call) => {
    const [id = ''] = call.args;
    const { condition, jobs } = await call.client.get<RecoveryDetail>(call.client.inOrg('job-recovery', id));
    await agreed(call, `Give up ${condition}? ${jobs} ${jobs === 1 ? 'job fails' : 'jobs fail'}.`);
    await ask(call, 'give-up', 'is given up');
  });
}

async function ask(call: Call<object>, action: 'give-up' | 'test-now', said: string): Promise<void> {
  const [id = ''] = call.args;
  await call.client.post(call.client.inOrg('job-recovery', id, action), undefined);
  tellDone(call, { document: { id, action }, line: `${printable(id)} ${said}` });
}

function tell(call: Call<object>, record: RecoveryDetail): void {
  const given = (title: string, value: string | null): [string, string][] => (value === null ? [] : [[title, value]]);
  const time = (value: string | null): string | null => (value === null ? null : timeText(value));
  const { out } = call;
  out.fields([
    ['Id', record.id],
    ['Condition', record.condition],
    ['Tester', `${record.tester} ${pairs(record.parameters)}`.trim()],
    ['Policy', `${record.policy} ${pairs(record.policy_parameters)}`.trim()],
    ['Tests', `${record.attempts} not passed`],
    ...given('Last answer', record.last_answer),
    ['Next test', time(record.next_test) ?? 'its reader has not seen it yet'],
    ...given('Since', time(record.since)),
    ...given('Gives up', time(record.gives_up)),
    ['Jobs', String(record.jobs)],
  ]);
  out.line();
  const { blocked } = record;
  const rows = blocked.map((one) => [one.job, one.goes_on_at ?? 'it has ended', timeText(one.since), one.message]);
  out.table(['Job', 'Goes on at', 'Since', 'Why'], rows, -1, { fit: true });
  if (record.jobs > blocked.length) out.note(`the first ${blocked.length} of ${record.jobs} jobs`);
}

function pairs(parameters: Readonly<Record<string, string>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
