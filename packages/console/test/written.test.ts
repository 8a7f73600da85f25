import { expect, it } from 'vitest';
import type { LongJobOutputs } from '../src/api/types.gen.js';
import { placeOfOutputs, withoutDotFiles } from '../src/jobs/written.js';

const FINISHED = {
  archive: true,
  archivePath: 'archive/1',
  condition: null,
  remoteOutcome: 'FINISHED',
  status: 'FINISHED',
} as const;

it.each([
  ['In its archive', {}],
  ['In its work directory', { archive: false }],
  ['In its work directory', { remoteOutcome: 'FAILED_SKIP_ARCHIVE' as const }],
  ['In its work directory', { status: 'STOPPED' as const, remoteOutcome: null }],
  ['In its work directory', { status: 'RUNNING' as const, remoteOutcome: null }],
  [
    'In its archive',
    { status: 'FAILED' as const, remoteOutcome: 'FAILED' as const, condition: 'JOB_REMOTE_OUTCOME_ERROR' },
  ],
  [
    'In its work directory',
    { status: 'FAILED' as const, remoteOutcome: 'FAILED' as const, condition: 'JOB_ARCHIVING_FAILED' },
  ],
])('says where the outputs are: %s, of a job with %j', (place, changed) => {
  expect(placeOfOutputs({ ...FINISHED, ...changed })).toBe(place);
});

it('hides dot files but the one that is open', () => {
  const written = ['.muster-wrapper', '.agave.log', 'count.out'].map((name) => ({ name, path: `/${name}` }));
  const shown = (open: string | null) =>
    withoutDotFiles(written as unknown as LongJobOutputs, open).map(({ name }) => name);
  expect(shown(null)).toEqual(['count.out']);
  expect(shown('.agave.log')).toEqual(['.agave.log', 'count.out']);
});
