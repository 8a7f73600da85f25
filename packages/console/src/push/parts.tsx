import { type Counts, JOB_NODE_STATUSES, type Job, type JobNode, type JobNodeStatus } from '../api/types.js';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { JOB_NODE_LOOKS, jobLook } from '../statuses/push.js';

export function failures({ failed = 0, crashed = 0, timed_out = 0 }: Counts): number {
  return failed + crashed + timed_out;
}

export function JobStatus({ job, badge = false }: { readonly job: Job; readonly badge?: boolean }) {
  const look = job.aborting
    ? ({ glyph: 'stop', word: 'aborting', tone: 'warn' } as const)
    : job.batch?.hold !== undefined && job.batch.hold !== null
      ? ({ glyph: 'clock', word: 'held', tone: 'warn' } as const)
      : jobLook(job.status, failures(job.counts));
  return <Status look={look} badge={badge} />;
}

/** `3 failed, 1 aborted`. */
export function countsText(counts: Counts, statuses: readonly JobNodeStatus[]): string {
  return statuses.map((status) => `${number(counts[status] ?? 0)} ${JOB_NODE_LOOKS[status].word}`).join(', ');
}

/** How the nodes stand, as shares of all. */
export function JobBar({ counts }: { readonly counts: Counts }) {
  const shown = [...JOB_NODE_STATUSES].reverse().filter((status) => (counts[status] ?? 0) > 0);
  const text = countsText(counts, shown);
  return (
    <div class="bar" role="img" aria-label={text} title={text}>
      {shown.map((status) => (
        <span key={status} class={barTone(status)} style={{ flex: String(counts[status]) }} />
      ))}
    </div>
  );
}

function barTone(status: (typeof JOB_NODE_STATUSES)[number]): string {
  return status === 'new' || status === 'ready' || status === 'was_ready' ? 'pending' : JOB_NODE_LOOKS[status].tone;
}

/** How a command ended, in words: a reason that only says the exit status again is left out. */
export function endText({
  exit_code: exit,
  signal,
  reason,
}: {
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
}): string {
  const said = exit !== null ? `exit ${exit}` : (signal ?? '');
  return [said, reasonText({ exit_code: exit, reason })].filter((part) => part !== '').join(': ');
}

/** Nothing where it only says the exit status again. */
export function reasonText({ exit_code: exit, reason }: Pick<JobNode, 'exit_code' | 'reason'>): string {
  return reason === `exit status ${exit}` ? '' : safeText(reason ?? '');
}

/** Enough to tell jobs of one organization apart: all its ids begin with the same 12 digits. */
export function shortId(id: string): string {
  return id.length > 20 ? id.slice(12, 20) : id;
}
