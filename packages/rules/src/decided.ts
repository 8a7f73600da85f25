import type { ApprovalView } from '@muster/push';
import type { RuleRun } from './types.js';

/** What became of a run that others had to agree to. @param approval undefined: it is kept no longer, as it was decided long ago. */
export function decided(run: RuleRun, approval: ApprovalView | undefined): RuleRun {
  if (approval === undefined) return { ...run, reason: 'it was decided; the approval is kept no longer' };
  const { id, status, decided_by: by, reason, job } = approval;
  switch (status) {
    case 'pending':
      return run;
    case 'started':
      return { ...run, outcome: 'started', run: job, reason: `granted by ${by} (approval ${id})` };
    case 'denied':
      return { ...run, outcome: 'denied', reason: `denied by ${by}${reason === null ? '' : `: ${reason}`}` };
    case 'expired':
      return { ...run, outcome: 'expired', reason: 'nobody decided in time' };
  }
}
