import { RUNBOOK_LIMITS } from './limits.js';

/** It names a file, too, where a script is run; `.` and `..` are no parts of an address. */
export const RUNBOOK_NAME = `^[A-Za-z0-9][A-Za-z0-9._-]{0,${RUNBOOK_LIMITS.name - 1}}$`;

const NAME = new RegExp(RUNBOOK_NAME);

export function isRunbookName(name: string): boolean {
  return NAME.test(name);
}
