import { LIMITS } from './limits.js';

/** Commands every agent knows (Push Jobs §5.4, N16). They run inside it and touch nothing. */
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
    return seconds <= LIMITS.builtinSeconds ? { name: 'sleep', seconds } : null;
  }
  const dummy = DUMMY_JOB.exec(words);
  if (dummy !== null) {
    const failProbability = Number(dummy[1]);
    const seconds = Number(dummy[2]);
    return failProbability <= 1 && seconds <= LIMITS.builtinSeconds
      ? { name: 'dummy_job', failProbability, seconds }
      : null;
  }
  return null;
}
