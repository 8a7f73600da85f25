/** What two hundred runs of a store must come to. */
export const RARE_IN_STORES: readonly string[] = [
  'fault: closed',
  'fault: fails',
  'fault: killed',
  'fault: loses answers',
  'fault: slow',
  'store: closed',
  'store: closed in an outage',
  'store: failed',
  'store: refused alone',
  'store: refused among others',
  'store: torn by a crash',
  'store: unknown, and failed',
  'store: unknown, and stored',
];
