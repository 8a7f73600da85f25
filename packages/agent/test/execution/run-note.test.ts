import { writeFile } from 'node:fs/promises';
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
  it('is gone once the command has ended, and may be removed again', async () => {
    await note().write({ subject: 'j1', run: 'r', group: null });
    await note().remove();
    await note().remove();
    expect(await note().read()).toBeNull();
  });
  it('cut short is of a command that had not been started', async () => {
    await writeFile(path, '{"job_id": 3');
    expect(await note().read()).toBeNull();
  });
});
