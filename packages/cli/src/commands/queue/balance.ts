import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { RefusedError } from '../../client.js';
import { MusterError } from '../../errors.js';
import { readingOf } from '../../files.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';

/** As `GET …/disbatch/balance` shows it. */
interface Balance {
  readonly max_tasks?: Readonly<Record<string, number>>;
  readonly queues?: readonly (readonly string[])[];
  readonly disabled?: number | null;
  readonly status?: string;
  readonly message?: string;
  readonly timestamp?: number;
  readonly notice?: string;
  readonly settings: { readonly enabled: boolean; readonly pretend: boolean };
}

const DAYS: Readonly<Record<string, string>> = {
  '*': 'every day',
  0: 'Sunday',
  1: 'Monday',
  2: 'Tuesday',
  3: 'Wednesday',
  4: 'Thursday',
  5: 'Friday',
  6: 'Saturday',
};

export function addBalance(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'balance',
    summary: 'how threads are shared out over queues by the time of day; --set says how',
    examples: ['muster queue balance', 'muster queue balance --set plan.json'],
  });
  command.option('--set <file>', 'JSON: {"max_tasks": {"* 07:00": 5}, "queues": [["bulk"], ["urgent"]]}');
  does<{ readonly set?: string }>(command, shell, balance);
}

async function balance(call: Call<{ readonly set?: string }>): Promise<void> {
  const { client, out, options, world } = call;
  const path = client.inOrg('disbatch', 'balance');
  if (options.set !== undefined) await set(call, path, resolve(world.cwd, options.set));
  const found = await client.get<Balance>(path);
  out.document(found);
  if (out.json) return;
  if (found.max_tasks === undefined || found.queues === undefined) {
    out.note('nothing is said of balance yet: muster queue balance --set plan.json');
  } else {
    tell(call, found as Balance & Required<Pick<Balance, 'max_tasks' | 'queues'>>);
  }
  if (!found.settings.enabled) out.note('the server does not balance: start it with --disbatch-balance');
  else if (found.settings.pretend) out.note('the server only pretends to balance (--disbatch-balance-pretend)');
}

/** @throws MusterError `usage` that names what is wrong in the file. */
async function set({ client }: Call<object>, path: string, file: string): Promise<void> {
  try {
    await client.post(path, planIn(file));
  } catch (error) {
    const reason = error instanceof RefusedError ? whyRefused(error.answer) : null;
    if (reason === null) throw error;
    throw new MusterError('usage', { reason: `${file}: ${reason}` }, { cause: error });
  }
}

/** This route says it under `status`, as clients of the original read it. */
function whyRefused(answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null || !('status' in answer)) return null;
  return /^failed: (?:invalid json passed: )?(.+)$/s.exec(String(answer.status))?.[1] ?? null;
}

function planIn(file: string): unknown {
  return readingOf(file, () => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError) throw new MusterError('usage', { reason: `${file} is no JSON` });
      throw error;
    }
  });
}

function tell({ out }: Call<object>, plan: Balance & Required<Pick<Balance, 'max_tasks' | 'queues'>>): void {
  out.table(
    ['Day', 'From', 'Tasks at most'],
    Object.entries(plan.max_tasks).map(([time, most]) => {
      const [day = '', clock = ''] = time.split(' ');
      return [DAYS[day] ?? day, clock, String(most)];
    }),
  );
  out.line();
  out.table(
    ['Priority', 'Queues'],
    plan.queues.map((group, index) => [index === 0 ? 'default' : String(index), group.join(', ')]),
  );
  out.line();
  out.fields([
    ['Status', plan.status === undefined ? 'not balanced yet' : `${plan.status}: ${plan.message ?? ''}`],
    ...(plan.timestamp === undefined
      ? []
      : [['Last round', new Date(plan.timestamp * 1000).toISOString()] as [string, string]]),
    ...(plan.disabled === null || plan.disabled === undefined
      ? []
      : [['Disabled until', new Date(plan.disabled * 1000).toISOString()] as [string, string]]),
  ]);
}
