import { EVENT_TYPES } from './types.gen.js';

/** What is offered while a selector for events is typed: attributes that events have, operators, and types. */
export const WORDS: readonly string[] = [
  'type',
  'source',
  'org',
  'node',
  'job',
  'status',
  'owner',
  'user',
  'queue',
  'task',
  'count',
  'by',
  'from',
  'reason',
  'LIKE',
  'AND',
  'OR',
  'NOT',
  'BETWEEN',
  'IS NULL',
  'IN',
  ...EVENT_TYPES,
];
