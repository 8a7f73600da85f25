import type { Job } from '../../api.js';
import { MusterError } from '../../errors.js';
import type { BatchSize } from './batches.js';

/** Of the body of POST jobs, what is the same when a job is run again: as whom, with what, how fast, how far and how long. */
export type Kept = Readonly<Record<string, unknown>>;

const FLAGS: Readonly<Record<string, (value: unknown) => string>> = {
  user: (value) => `--user ${value}`,
  dir: (value) => `--dir ${value}`,
  env: (value) => named('--env', value),
  secrets: (value) => named('--secret', value),
  file: () => 'its --file',
  concurrency: (value) => `--concurrency ${value}`,
  start_rate: (value) => `--start-rate ${value}`,
  max_failures: (value) => `--max-failures ${value}`,
  on_failures: (value) => `--on-failures ${value}`,
  batches: (value) => batchFlags(value as readonly BatchSize[]),
  batch_pause: (value) => `--pause ${value}s`,
  batch_confirm: () => '--confirm',
  node_timeout: (value) => `--node-timeout ${value}s`,
  ack_timeout: (value) => `--ack-timeout ${value}s`,
  when_busy: (value) => `--when-busy ${value}`,
  wait_timeout: (value) => `--wait-timeout ${value}s`,
};

/** Of several, a flag says one: the others stay. */
const EACH = ['env', 'secrets'] as const;

/** Every job has these: they are kept, and not worth a word. */
const UNTOLD = ['run_timeout', 'voting_timeout'];

/** Shares are counts by now, of the nodes that the earlier job had. */
export function keptOf(earlier: Job): Kept {
  const keys = [...Object.keys(FLAGS), ...UNTOLD];
  return Object.fromEntries(Object.entries(earlier).filter(([key]) => keys.includes(key)));
}

/** @throws MusterError `usage` when its command had what nobody is shown: without that it would be another. */
export function refuseUnshown(earlier: Job): void {
  const { runbook, file_specified: unshown } = earlier;
  if (unshown !== true || runbook === undefined) return;
  const way = `muster runbook run ${runbook.name} runs it again, muster push rerun ${earlier.id} -- COMMAND another command`;
  throw new MusterError('usage', { reason: `what job ${earlier.id} ran holds a secret, and is not shown: ${way}` });
}

/** Of what is kept, what a flag does not contradict. */
export function keptUnless(kept: Kept, given: Kept): Kept {
  const replaced = new Set(Object.keys(given));
  if ('batch_pause' in given) replaced.add('batch_confirm');
  if (given.batch_confirm === true) replaced.add('batch_pause');
  if (given.when_busy === 'skip') replaced.add('wait_timeout');
  const left = Object.fromEntries(Object.entries(kept).filter(([key]) => !replaced.has(key)));
  for (const key of EACH) {
    const others = Object.entries(kept[key] ?? {}).filter(([name]) => !(name in ((given[key] as object) ?? {})));
    if (others.length > 0) left[key] = Object.fromEntries(others);
  }
  return left;
}

/** What flags say, and what they leave as it was. */
export function withKept(kept: Kept, given: Kept): Kept {
  const left = keptUnless(kept, given);
  const body: Record<string, unknown> = { ...left, ...given };
  for (const key of EACH) {
    if (key in body) body[key] = { ...(left[key] as object), ...(given[key] as object) };
  }
  return body;
}

/** As flags, which say how to have it otherwise; empty: nothing worth a word. */
export function keptText(kept: Kept): string {
  return Object.entries(FLAGS)
    .filter(([key]) => key in kept)
    .map(([key, flag]) => flag(kept[key]))
    .join(' ');
}

function batchFlags([first, ...others]: readonly BatchSize[]): string {
  if (others.length === 0) return `--batch ${first}`;
  return [`--first ${first}`, ...others.map((size) => `--then ${size}`)].join(' ');
}

/** Their names: what is in a variable may be long, and nobody else's. */
function named(flag: string, values: unknown): string {
  return Object.keys(values as object)
    .map((name) => `${flag} ${name}`)
    .join(' ');
}
