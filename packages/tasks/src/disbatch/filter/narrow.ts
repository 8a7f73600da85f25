import type { Json } from '@muster/wire';
import { isId } from '../../ids.js';
import type { Condition, Test } from './condition.js';

/** What of a condition the database can look up by its indexes; the rest is judged of each task that it finds. */
export interface Narrowing {
  /** Ids of queues; undefined: all. */
  readonly queues?: readonly string[];
  readonly ids?: readonly string[];
  readonly statuses?: readonly number[];
  readonly leastStatus?: number;
  readonly mostStatus?: number;
  /** Ids, exclusive. */
  readonly after?: string;
  readonly before?: string;
  /** It says all that the condition does. */
  readonly whole: boolean;
}

type Draft = { -readonly [Key in keyof Narrowing]: Narrowing[Key] };

export function narrow(condition: Condition): Narrowing {
  const draft: Draft = { whole: true };
  for (const one of condition.kind === 'all' ? condition.of : [condition]) {
    if (!taken(one, draft)) draft.whole = false;
  }
  return draft;
}

/** Is it said whole by what the draft now has? */
function taken(condition: Condition, draft: Draft): boolean {
  if (condition.kind !== 'field' || condition.path.length !== 1) return false;
  const take = TAKES[condition.path[0] ?? ''];
  if (take === undefined) return false;
  // All of them, also when one was not taken.
  return condition.tests.map((test) => take(test, draft)).every((whole) => whole);
}

const TAKES: Readonly<Record<string, (test: Test, draft: Draft) => boolean>> = {
  queue: (test, draft) => {
    const values = texts(test);
    if (values === undefined || draft.queues !== undefined) return false;
    draft.queues = values;
    return true;
  },
  _id: (test, draft) => {
    const values = texts(test);
    if (values !== undefined && draft.ids === undefined) {
      draft.ids = values;
      return true;
    }
    if (test.op === 'gt' && isIdText(test.value) && draft.after === undefined) draft.after = test.value;
    else if (test.op === 'lt' && isIdText(test.value) && draft.before === undefined) draft.before = test.value;
    else return false;
    return true;
  },
  status: (test, draft) => {
    const values = statuses(test);
    if (values !== undefined && draft.statuses === undefined) {
      draft.statuses = values;
      return true;
    }
    if (!('value' in test) || typeof test.value !== 'number' || !isStatus(test.value)) return false;
    const { value } = test;
    const least = test.op === 'gte' ? value : test.op === 'gt' ? value + 1 : undefined;
    const most = test.op === 'lte' ? value : test.op === 'lt' ? value - 1 : undefined;
    if (least !== undefined) draft.leastStatus = Math.max(least, draft.leastStatus ?? least);
    else if (most !== undefined) draft.mostStatus = Math.min(most, draft.mostStatus ?? most);
    else return false;
    return true;
  },
};

function isIdText(value: Json): value is string {
  return typeof value === 'string' && isId(value);
}

/** Ids that the test leaves; what is none finds nothing. */
function texts(test: Test): readonly string[] | undefined {
  if (test.op === 'eq') return [test.value].filter(isIdText);
  return test.op === 'in' ? test.values.filter(isIdText) : undefined;
}

const LARGEST = 2_147_483_647;

function isStatus(value: Json): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LARGEST;
}

function statuses(test: Test): readonly number[] | undefined {
  if (test.op === 'eq') return [test.value].filter(isStatus);
  return test.op === 'in' ? test.values.filter(isStatus) : undefined;
}
