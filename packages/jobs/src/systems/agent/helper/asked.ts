import { field } from '../protocol.js';

/** Reads what a helper is asked. The server that asks is trusted to speak well, not to be of the same version. */

export function text(ask: unknown, name: string): string {
  const value = field(ask, name);
  if (typeof value !== 'string') throw misunderstood(name);
  return value;
}

/** A count, from 0. */
export function count(ask: unknown, name: string): number {
  const value = field(ask, name);
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw misunderstood(name);
  return value;
}

/** undefined: there is none. */
export function optionalCount(ask: unknown, name: string): number | undefined {
  return field(ask, name) === undefined ? undefined : count(ask, name);
}

/** A program, and its arguments. */
export function words(value: unknown): readonly [string, ...string[]] {
  if (!Array.isArray(value) || !value.every((word) => typeof word === 'string')) throw misunderstood('argv');
  const [program, ...rest] = value;
  if (program === undefined || program === '') throw misunderstood('argv');
  return [program, ...rest];
}

export function variables(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) throw misunderstood('environment');
  const given = Object.entries(value);
  if (!given.every(([, of]) => typeof of === 'string')) throw misunderstood('environment');
  return Object.fromEntries(given);
}

function misunderstood(name: string): Error {
  return new Error(`what is asked is not understood: ${name}; is the agent of another version?`);
}
