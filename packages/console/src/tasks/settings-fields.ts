import type { Queue } from '../live/queues.js';
import { musterCommand } from '../parts/shell.js';

/** What is asked of a queue's limits, as text; '': no limit. Pure. */

interface Field {
  readonly name: keyof Given;
  readonly label: string;
  readonly hint: string;
  readonly flag: string;
}

export interface Given {
  readonly threads: string;
  readonly weight: string;
  readonly rate: string;
  readonly retries: string;
  readonly timeout: string;
  readonly nodes: string;
  readonly ignoreNodes: string;
}

export const FIELDS: readonly Field[] = [
  { name: 'threads', label: 'Threads', hint: 'at one time; empty: no limit', flag: '--threads' },
  { name: 'weight', label: 'Weight', hint: 'its share beside other queues', flag: '--weight' },
  { name: 'rate', label: 'Rate', hint: 'tasks/seconds: 100/60', flag: '--rate' },
  { name: 'retries', label: 'Retries', hint: 'of what failed; 0: none', flag: '--retries' },
  { name: 'timeout', label: 'Timeout', hint: 'seconds; empty: none', flag: '--timeout' },
  { name: 'nodes', label: 'Only on nodes', hint: 'role:media', flag: '--nodes' },
  { name: 'ignoreNodes', label: 'Not on nodes', hint: 'name:old*', flag: '--ignore-nodes' },
];

export function givenOf({ threads, weight, rate, retry, timeout, nodes, ignore_nodes: ignored }: Queue): Given {
  return {
    threads: threads === null ? '' : String(threads),
    weight: String(weight),
    rate: rate === null ? '' : `${rate.tasks}/${rate.seconds}`,
    retries: String(retry.limit),
    timeout: timeout === null ? '' : String(timeout),
    nodes: nodes ?? '',
    ignoreNodes: ignored ?? '',
  };
}

type Changes = Record<string, unknown>;
type Wrong = Partial<Record<keyof Given, string>>;

const COUNT = /^\d{1,7}$/;
const SECONDS = /^\d{1,9}(?:\.\d+)?$/;
const RATE = /^(\d{1,7})\/(\d{1,9}(?:\.\d+)?)$/;

/** The body of the change, and what cannot be read. */
export function changesOf(before: Given, given: Given): { readonly changes: Changes; readonly wrong: Wrong } {
  const changes: Changes = {};
  const wrong: Wrong = {};
  for (const { name } of FIELDS) {
    const text = given[name].trim();
    if (text === before[name]) continue;
    const read = READ[name](text);
    if (typeof read === 'string') wrong[name] = read;
    else Object.assign(changes, read);
  }
  return { changes, wrong };
}

/** What a text says, or what is wrong with it. */
const READ: Readonly<Record<keyof Given, (text: string) => Changes | string>> = {
  threads: (text) => (text === '' ? { threads: null } : whole(text, (threads) => ({ threads }))),
  weight: (text) => (text === '0' ? 'at least 1' : whole(text, (weight) => ({ weight }))),
  retries: (text) => whole(text, (limit) => ({ retry: { limit } })),
  timeout: (text) => {
    if (text === '') return { timeout: null };
    return SECONDS.test(text) && Number(text) >= 1 ? { timeout: Number(text) } : 'seconds, at least 1';
  },
  rate: (text) => {
    if (text === '') return { rate: null };
    const [, tasks, seconds] = RATE.exec(text) ?? [];
    if (tasks === undefined || Number(tasks) === 0) return 'tasks/seconds, such as 100/60';
    return { rate: { tasks: Number(tasks), seconds: Number(seconds) } };
  },
  nodes: (text) => ({ nodes: text === '' ? null : text }),
  ignoreNodes: (text) => ({ ignore_nodes: text === '' ? null : text }),
};

function whole(text: string, made: (value: number) => Changes): Changes | string {
  return COUNT.test(text) ? made(Number(text)) : 'a whole number';
}

/** `muster queue set`, as the command line takes it. */
export function commandFor(name: string, before: Given, given: Given): string {
  const flags = FIELDS.flatMap((field) => {
    const text = given[field.name].trim();
    if (text === before[field.name]) return [];
    if (text === '') return [field.flag, 'none'];
    return [field.flag, field.name === 'rate' || field.name === 'timeout' ? `${text}s` : text];
  });
  return musterCommand('queue', 'set', name, ...flags);
}
