import type { Job } from '../../api.js';
import type { BatchSize } from './batches.js';

/** Of the body of POST jobs, what says how fast, how far and how long it goes. */
export type Pace = Readonly<Record<string, unknown>>;

const FLAGS: Readonly<Record<string, (value: unknown) => string>> = {
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

/** Every job has these: they are kept, and not worth a word. */
const UNTOLD = ['run_timeout', 'voting_timeout'];

/** Shares are counts by now, of the nodes that the earlier job had. */
export function paceOf(earlier: Job): Pace {
  const keys = [...Object.keys(FLAGS), ...UNTOLD];
  return Object.fromEntries(Object.entries(earlier).filter(([key]) => keys.includes(key)));
}

/** Of the earlier pace what a flag does not contradict. */
export function keptPace(pace: Pace, given: Pace): Pace {
  const replaced = new Set(Object.keys(given));
  if ('batch_pause' in given) replaced.add('batch_confirm');
  if ('batch_confirm' in given) replaced.add('batch_pause');
  if (given.when_busy === 'skip') replaced.add('wait_timeout');
  return Object.fromEntries(Object.entries(pace).filter(([key]) => !replaced.has(key)));
}

/** As flags, which say how to have it otherwise; empty: nothing worth a word. */
export function paceText(pace: Pace): string {
  return Object.entries(FLAGS)
    .filter(([key]) => key in pace)
    .map(([key, flag]) => flag(pace[key]))
    .join(' ');
}

function batchFlags([first, ...others]: readonly BatchSize[]): string {
  if (others.length === 0) return `--batch ${first}`;
  return [`--first ${first}`, ...others.map((size) => `--then ${size}`)].join(' ');
}
