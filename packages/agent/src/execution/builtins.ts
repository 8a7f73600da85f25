import type { Clock } from '@muster/base';
import type { Facts } from '@muster/wire';
import { BUILTIN_SECONDS } from '../limits.js';

/** Commands every node knows (Push Jobs §5.4, N16). They run inside the agent and touch nothing. */
export type Builtin =
  | { readonly name: 'sleep'; readonly seconds: number }
  | { readonly name: 'dummy_job'; readonly failProbability: number; readonly seconds: number }
  | { readonly name: 'facts' };

const NUMBER = '(\\d{1,9}(?:\\.\\d{1,9})?)';
const SLEEP = new RegExp(`^sleep ${NUMBER}$`);
const DUMMY_JOB = new RegExp(`^dummy_job ${NUMBER} ${NUMBER}$`);

/** Null when it is not a built-in command, or its numbers are out of range. */
export function parseBuiltin(command: string): Builtin | null {
  const words = command.trim().replace(/\s+/g, ' ');
  if (words === 'facts' || words === 'ohai') return { name: 'facts' };
  const sleep = SLEEP.exec(words);
  if (sleep !== null) {
    const seconds = Number(sleep[1]);
    return seconds <= BUILTIN_SECONDS ? { name: 'sleep', seconds } : null;
  }
  const dummy = DUMMY_JOB.exec(words);
  if (dummy !== null) {
    const failProbability = Number(dummy[1]);
    const seconds = Number(dummy[2]);
    return failProbability <= 1 && seconds <= BUILTIN_SECONDS ? { name: 'dummy_job', failProbability, seconds } : null;
  }
  return null;
}

export interface BuiltinSurroundings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly facts: () => Facts;
  /** Takes what the command writes to stdout. */
  readonly write: (text: string) => void;
}

/** Starts it; `done` is called once with the exit status, never after `cancel`. */
export function runBuiltin(
  builtin: Builtin,
  around: BuiltinSurroundings,
  done: (exitCode: number) => void,
): { cancel(): void } {
  switch (builtin.name) {
    case 'sleep':
      return around.clock.after(builtin.seconds * 1000, () => done(0));
    case 'dummy_job':
      return around.clock.after(builtin.seconds * 1000, () => done(around.random() < builtin.failProbability ? 1 : 0));
    case 'facts':
      return around.clock.after(0, () => {
        around.write(`${JSON.stringify(around.facts(), null, 2)}\n`);
        done(0);
      });
  }
}
