import { expect, test } from 'vitest';
import type { Change } from '../../src/upgrade/records.js';
import { resumed } from '../../src/upgrade/resume.js';

const host = { directory: '/d/tasks/h1', pid: 77 };
const change: Change = {
  phase: 'tried',
  jobId: 'job1',
  captured: true,
  from: '1.0.0',
  to: '1.1.0',
  incarnation: 'i1',
  boot: 'b1',
  hosts: [host],
  probationMs: 25_000,
  reason: null,
};
const NEW = { version: '1.1.0', boot: 'b1', hosts: [host] };

test('the new version goes on as the agent before, and its upgrade has succeeded', () => {
  expect(resumed(change, NEW)).toMatchObject({
    incarnation: 'i1',
    outcome: { outcome: 'succeeded', reason: 'version 1.1.0 runs in the place of 1.0.0' },
  });
});

test('the old version that comes back says why', () => {
  const back: Change = { ...change, phase: 'rolled_back', reason: 'version 1.1.0 was late' };
  expect(resumed(back, { ...NEW, version: '1.0.0' })).toMatchObject({
    incarnation: 'i1',
    outcome: { outcome: 'failed', reason: 'rolled back to version 1.0.0: version 1.1.0 was late' },
  });
});

test('the old version knows that it was rolled back also when that could not be written down', () => {
  expect(resumed(change, { ...NEW, version: '1.0.0' }).outcome).toMatchObject({
    outcome: 'failed',
    reason: 'rolled back to version 1.0.0: version 1.1.0 did not prove itself',
  });
});

test('an agent on a machine that was started anew is another one, and the job ends as crashed (N11)', () => {
  expect(resumed(change, { ...NEW, boot: 'b2' }).incarnation).toBeNull();
});

test('so is one that finds a process dead that ran tasks: the server would have them run again', () => {
  expect(resumed(change, { ...NEW, hosts: [] }).incarnation).toBeNull();
  expect(resumed(change, { ...NEW, hosts: [{ ...host, pid: 78 }] }).incarnation).toBeNull();
});

test('where a machine does not say which start it is, nobody goes on as before', () => {
  expect(resumed({ ...change, boot: null }, { ...NEW, boot: null }).incarnation).toBeNull();
});
