import type { LongJob, LongJobOutputs } from '../api/types.gen.js';

type Written = LongJobOutputs[number];

/** Where the server lists the outputs of a job. */
export function placeOfOutputs(
  job: Pick<LongJob, 'archive' | 'archivePath' | 'condition' | 'remoteOutcome' | 'status'>,
): string {
  return isArchived(job) ? 'In its archive' : 'In its work directory';
}

function isArchived({ archive, archivePath, condition, remoteOutcome, status }: Parameters<typeof placeOfOutputs>[0]) {
  if (!archive || archivePath === null) return false;
  if (status === 'FINISHED') return remoteOutcome !== 'FAILED_SKIP_ARCHIVE';
  return status === 'FAILED' && remoteOutcome === 'FAILED' && condition !== 'JOB_ARCHIVING_FAILED';
}

/** Without what the server keeps there itself. The file that is open is shown in any case. */
export function withoutDotFiles(written: LongJobOutputs, open: string | null): readonly Written[] {
  return written.filter(({ name, path }) => !name.startsWith('.') || path.replace(/^\/+/, '') === open);
}
