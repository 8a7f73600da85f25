import { musterCommand } from '../parts/shell.js';

/** What somebody fills in for a new push job. Pure. */
export type Where =
  | { readonly by: 'search'; readonly query: string }
  | { readonly by: 'nodes'; readonly names: string }
  | { readonly by: 'group'; readonly group: string }
  | { readonly by: 'job'; readonly id: string; readonly statuses: readonly string[] };

export interface Wish {
  readonly where: Where;
  readonly command: string;
  /** '' : as the server does without it. */
  readonly quorum: string;
  readonly concurrency: string;
  readonly timeout: string;
  readonly user: string;
  readonly dir: string;
  readonly maxFailures: string;
  readonly wait: boolean;
}

export function namesIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))];
}

/** How the nodes are chosen, in the API; null: nothing is chosen yet. */
export function targetOf(where: Where): Readonly<Record<string, unknown>> | null {
  switch (where.by) {
    case 'search':
      return where.query.trim() === '' ? null : { search: where.query };
    case 'nodes': {
      const nodes = namesIn(where.names);
      return nodes.length === 0 ? null : { nodes };
    }
    case 'group':
      return where.group.trim() === '' ? null : { node_group: where.group.trim() };
    case 'job':
      return where.id === '' || where.statuses.length === 0
        ? null
        : { from_job: { id: where.id, statuses: where.statuses } };
  }
}

/** A count, a fraction or a percentage; null: none of these; undefined: nothing. */
export function shareOf(text: string): number | string | null | undefined {
  const given = text.trim();
  if (given === '') return undefined;
  if (/^\d{1,3}(\.\d{1,6})?%$/.test(given)) return Number.parseFloat(given) <= 100 ? given : null;
  if (!/^\d{1,7}(\.\d{1,6})?$/.test(given)) return null;
  const value = Number(given);
  return value > 0 && value < 1 ? value : Number.isInteger(value) ? value : null;
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds; null: it cannot be read; undefined: nothing. */
export function secondsOf(text: string): number | null | undefined {
  const given = text.trim();
  if (given === '') return undefined;
  const [, count, unit = 's'] = /^(\d{1,8})([smhd]?)$/.exec(given) ?? [];
  return count === undefined ? null : Number(count) * (UNITS[unit === '' ? 's' : unit] ?? 1);
}

/** What is wrong with a wish, by field. */
export function faults(wish: Wish): Readonly<Partial<Record<keyof Wish, string>>> {
  const share = 'a count (3), a fraction (0.8) or a percentage (80%)';
  return {
    ...(shareOf(wish.quorum) === null && { quorum: `Write ${share}.` }),
    ...(shareOf(wish.concurrency) === null && { concurrency: `Write ${share}.` }),
    ...(shareOf(wish.maxFailures) === null && { maxFailures: `Write ${share}.` }),
    ...(secondsOf(wish.timeout) === null && { timeout: 'Write 90 (seconds), 15m or 2h.' }),
  };
}

/** The body of the request that asks what would become of it. */
export function previewBody(wish: Wish, target: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const quorum = shareOf(wish.quorum);
  return {
    ...target,
    ...(wish.command !== '' && { command: wish.command }),
    ...(quorum !== undefined && quorum !== null && { quorum }),
    ...(wish.wait && { when_busy: 'wait' }),
  };
}

/** The body of the request that starts the job. */
export function jobBody(wish: Wish, target: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { user, dir } = wish;
  const optional = {
    quorum: shareOf(wish.quorum),
    concurrency: shareOf(wish.concurrency),
    max_failures: shareOf(wish.maxFailures),
    run_timeout: secondsOf(wish.timeout),
    user: user.trim() === '' ? undefined : user.trim(),
    dir: dir.trim() === '' ? undefined : dir.trim(),
    when_busy: wish.wait ? 'wait' : undefined,
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined && value !== null);
  return { ...target, command: wish.command, capture_output: true, ...Object.fromEntries(given) };
}

/** The command line that starts the same job. */
export function startCommand(wish: Wish): string {
  const { where, command, quorum, concurrency, timeout, user, dir, maxFailures, wait } = wish;
  const flag = (name: string, value: string): string[] => (value.trim() === '' ? [] : [name, value.trim()]);
  return musterCommand(
    'push',
    'start',
    ...whereWords(where),
    ...flag('--quorum', quorum),
    ...flag('--concurrency', concurrency),
    ...flag('--max-failures', maxFailures),
    ...flag('--run-timeout', timeout),
    ...flag('--user', user),
    ...flag('--dir', dir),
    ...(wait ? ['--when-busy', 'wait'] : []),
    '--',
    command === '' ? 'COMMAND' : command,
  );
}

function whereWords(where: Where): readonly string[] {
  switch (where.by) {
    case 'search':
      return [where.query.trim() === '' ? 'SELECTOR' : where.query];
    case 'nodes':
      return ['--node', ...namesIn(where.names)];
    case 'group':
      return ['--node-group', where.group];
    case 'job':
      return ['--from-job', where.id, '--job-status', where.statuses.join(',')];
  }
}
