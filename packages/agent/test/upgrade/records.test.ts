import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { notePid } from '../../src/pid-file.js';
import { HOST_FILES, hostsDirectory, tasksDirectory } from '../../src/tasks/host-files.js';
import {
  type Change,
  dropChange,
  keepChange,
  keepCurrent,
  livingHosts,
  makePlaces,
  placesOf,
  readChange,
  readCurrent,
} from '../../src/upgrade/records.js';
import { scratch } from '../support/agent.js';

const change: Change = {
  phase: 'rolled_back',
  jobId: 'job1',
  captured: false,
  from: '1.0.0',
  to: '1.1.0',
  incarnation: 'i1',
  boot: 'b1',
  hosts: [{ directory: '/d', pid: 7 }],
  probationMs: 1000,
  reason: 'late',
};
let place: Awaited<ReturnType<typeof scratch>>;

beforeEach(async () => {
  place = await scratch();
  await makePlaces(place.dir);
});
afterEach(() => place.dispose());

test('a change is read as it was kept, until it is dropped', async () => {
  await keepChange(place.dir, change);
  expect(await readChange(place.dir)).toEqual(change);
  await dropChange(place.dir);
  expect(await readChange(place.dir)).toBeNull();
});

test('the version in the place of the installed one is read as it was kept, and none when it was forgotten', async () => {
  await keepCurrent(place.dir, { version: '1.1.0', over: '1.0.0' });
  expect(await readCurrent(place.dir)).toEqual({ version: '1.1.0', over: '1.0.0' });
  await keepCurrent(place.dir, null);
  expect(await readCurrent(place.dir)).toBeNull();
});

test('a version that leads out of the directory of versions is none', async () => {
  await writeFile(placesOf(place.dir).current, JSON.stringify({ version: '../../bin', over: '1.0.0' }));
  await writeFile(placesOf(place.dir).change, JSON.stringify({ ...change, to: '../../bin' }));
  expect([await readCurrent(place.dir), await readChange(place.dir)]).toEqual([null, null]);
});

test('processes that run tasks are known by their directory and their number, as long as they live', async () => {
  const host = (name: string) => join(hostsDirectory(tasksDirectory(place.dir)), name);
  for (const name of ['living', 'gone']) await mkdir(host(name), { recursive: true });
  await notePid(join(host('living'), HOST_FILES.pid), process.pid);
  await writeFile(join(host('gone'), HOST_FILES.pid), `${process.pid} 1\n`);
  expect(await livingHosts(place.dir)).toEqual([{ directory: host('living'), pid: process.pid }]);
});
