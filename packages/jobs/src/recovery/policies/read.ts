import type { Parameters } from './types.js';

const INTEGER = /^-?\d{1,15}$/;

/** What is not a whole number counts as absent; `notIntegers` names it. */
export function readInteger(parameters: Parameters, name: string, otherwise: number): number {
  const text = parameters[name];
  return text !== undefined && INTEGER.test(text) ? Number(text) : otherwise;
}

export function notIntegers(parameters: Parameters, names: readonly string[]): readonly string[] {
  return names.filter((name) => parameters[name] !== undefined && !INTEGER.test(parameters[name]));
}
