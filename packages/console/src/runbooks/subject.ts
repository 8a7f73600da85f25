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
