import type { Approvals } from '../api/types.gen.js';

/** What is to be started, made or changed. */
export function subjectOf({ kind, runbook, schedule, rule }: Approvals[number]): string {
  switch (kind) {
    case 'command':
      return 'a command';
    case 'runbook':
      return runbook ?? kind;
    case 'schedule':
      return `schedule ${schedule ?? ''}`;
    case 'rule':
      return `rule ${rule ?? ''}`;
  }
}

/** Who may agree to it or refuse it: whom a runbook or policy names, and where one names nobody, who may start any push job. */
export function decidersOf({ needs }: Pick<Approvals[number], 'needs'>): string {
  const named = needs.flatMap(({ by }) => (by.length === 0 ? ['who has push:write'] : by));
  return [...new Set(named)].join(', ');
}
