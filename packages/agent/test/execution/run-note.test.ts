import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { durableFiles } from '../../src/durable.js';
import { RunNote } from '../../src/execution/run-note.js';
import { scratch } from '../support/agent.js';

let path: string;
beforeEach(async () => {
  const place = await scratch();
  onTestFinished(() => place.dispose());
  path = join(place.dir, 'running');
});
const note = () => new RunNote(path, durableFiles);

describe('the note of what runs', () => {
  it('tells the next agent the job, and the mark and the control group of its processes', async () => {
    for (const group of ['/sys/fs/cgroup/a/muster-b-r', null]) {
      await note().write({ subject: 'j1', run: 'r', group });
      expect(await note().read()).toEqual({ subject: 'j1', run: 'r', group });
    }
  });
  it('of an earlier version, which did not tell the group, is read', async () => {
    await writeFile(path, '{"job_id":"j1","run":"r"}\n');
    expect(await note().read()).toEqual({ subject: 'j1', run: 'r', group: null });
  });
  it('says nothing before the first command, nor once one has ended, and may be cleared again', async () => {
    expect(await note().read()).toBeNull();
    await note().clear();
    expect(await note().read()).toBeNull();
    await note().write({ subject: 'j1', run: 'r', group: null });
    await note().clear();
    await note().clear();
    expect(await note().read()).toBeNull();
  });
  it('is told whole when the one before it was longer', async () => {
    await note().write({ subject: 'j1', run: 'r', group: '/sys/fs/cgroup/a/muster-b-r' });
    const { ino } = await stat(path);
    await note().clear();
    await note().write({ subject: 'j2', run: 's', group: null });
    expect(await note().read()).toEqual({ subject: 'j2', run: 's', group: null });
    // In the same file: one made anew each time costs more than the rest of a command.
    expect((await stat(path)).ino).toBe(ino);
  });
  it('cut short is of a command that had not been started', async () => {
    await writeFile(path, '{"job_id": 3');
    expect(await note().read()).toBeNull();
  });
});
