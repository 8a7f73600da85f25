import type { QueueRules } from '../types.js';

/** What a queue does that says nothing. */
export const DEFAULT_RULES: Omit<QueueRules, 'outputLimit'> = {
  sort: 'default',
  nodes: null,
  ignoreNodes: null,
  weight: 1,
  key: null,
  rate: null,
  retry: { limit: 0, first: 1, longest: 3600 },
  orphanRetries: 0,
  timeout: null,
  keep: null,
  secrets: null,
  writers: [],
  readers: [],
};
