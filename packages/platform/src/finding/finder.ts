import { type Static, Type } from 'typebox';
import type { Identity, Organization, Permission } from '../auth/types.js';

/** What is found by what somebody types. */
export const FoundKind = Type.Union([
  Type.Literal('node'),
  Type.Literal('push_job'),
  Type.Literal('runbook'),
  Type.Literal('queue'),
  Type.Literal('task'),
  Type.Literal('schedule'),
  Type.Literal('job'),
  Type.Literal('rule'),
  Type.Literal('user'),
  Type.Literal('service'),
  Type.Literal('group'),
]);

export interface Found {
  /** By which it is read over the API. */
  readonly id: string;
  /** What it is called. */
  readonly name: string;
  /** How it stands, or what it is for. */
  readonly more: string | null;
}

/** What one layer finds of one kind: a layer declares these with its routes. */
export interface Finder {
  readonly kind: Static<typeof FoundKind>;
  /** Of who may look at all of the kind; null: it looks by itself at each that it has found. */
  readonly permission: Permission | null;
  /** At most so many, the likeliest first; without reading a large table from end to end. */
  find(asked: Asked): Promise<readonly Found[]>;
}

export interface Asked {
  readonly caller: Identity;
  readonly organization: Organization;
  /** Without spaces at its ends, not empty. */
  readonly text: string;
  readonly most: number;
}

/** Those whose name, or id from its beginning on, has the text: what begins with it first, otherwise in their order. */
export function named<T>(all: Iterable<T>, text: string, { name, id }: Naming<T>): readonly T[] {
  const sought = text.toLowerCase();
  const begins: T[] = [];
  const has: T[] = [];
  for (const one of all) {
    const called = name(one).toLowerCase();
    if (called.startsWith(sought) || id?.(one).startsWith(sought) === true) begins.push(one);
    else if (called.includes(sought)) has.push(one);
  }
  return [...begins, ...has];
}

interface Naming<T> {
  readonly name: (one: T) => string;
  readonly id?: (one: T) => string;
}

/** Of how many it is asked whether somebody may look at them. */
const ASKED = 100;

/** The first so many that somebody may look at. */
export async function firstSeen<T>(
  all: readonly T[],
  most: number,
  mayRead: (one: T) => Promise<boolean>,
): Promise<readonly T[]> {
  const seen: T[] = [];
  for (const one of all.slice(0, ASKED)) {
    if (seen.length === most) break;
    if (await mayRead(one)) seen.push(one);
  }
  return seen;
}
