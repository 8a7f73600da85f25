import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { expect, it, onTestFinished } from 'vitest';
import { bootDaemon } from '../src/boot.js';
import { CgroupsUnusable, type ControlGroup } from '../src/execution/cgroup.js';
import { openCommandGroups } from '../src/execution/command-groups.js';
import type { Run } from '../src/execution/process-tree.js';
import { systemHost } from '../src/host.js';
import { LEFTOVER_WAIT_MS } from '../src/limits.js';
import { loadIdentity, loadSettings } from '../src/settings.js';
import { scratch, silent } from './support/agent.js';

async function settingsHere() {
  const place = await scratch();
  onTestFinished(() => place.dispose());
  const [dataDir, key, config] = ['data', 'key.pem', 'agent.json'].map((name) => join(place.dir, name)) as [
    string,
    string,
    string,
  ];
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(config, '{"grace": 60}');
  await mkdir(dataDir);
  return loadSettings({ server: 'http://127.0.0.1:1', dataDir, key, config });
}

/** Boots over the note of a crashed agent. What was asked to be killed, and whether it was given up as time went on. */
async function bootOver(note: object, settings: Awaited<ReturnType<typeof settingsHere>>) {
  await writeFile(join(settings.dataDir, 'running'), JSON.stringify(note));
  const clock = new ManualClock();
  const enough = new Error('the agent need not go on');
  const killed: [Run, number][] = [];
  const givenUp: boolean[] = [];
  const killRun: typeof systemHost.processes.killRun = async (run, _clock, graceMs, giveUp) => {
    killed.push([run, graceMs]);
    for (const ms of [graceMs, LEFTOVER_WAIT_MS, 1]) {
      clock.advance(ms);
      givenUp.push(giveUp?.() === true);
    }
    throw enough;
  };
  const host = { ...systemHost, processes: { ...systemHost.processes, killRun } };
  const around = { clock, logger: silent, random: Math.random, host };
  await expect(bootDaemon(settings, await loadIdentity(settings), around)).rejects.toBe(enough);
  return { killed, givenUp };
}

it('what a crash left running has its whole grace to end, and is killed for good after it', async () => {
  const { killed, givenUp } = await bootOver({ job_id: 'j1', run: 'r1' }, await settingsHere());
  expect(killed).toEqual([[{ leader: null, marker: 'r1', group: null }, 60_000]]);
  expect(givenUp).toEqual([false, false, true]);
});

it('what a crash left running is killed in the control group that was noted', async () => {
  const settings = await settingsHere();
  const group = await groupOf('r1', settings.dataDir);
  if (group === null) return;
  const { killed } = await bootOver({ job_id: 'j1', run: 'r1', group: group.path }, settings);
  expect(killed.map(([run]) => run)).toEqual([{ leader: null, marker: 'r1', group }]);
});

it('a note that names another group does not have it killed', async () => {
  const note = { job_id: 'j1', run: 'r1', group: '/sys/fs/cgroup' };
  const { killed } = await bootOver(note, await settingsHere());
  expect(killed.map(([run]) => run.group)).toEqual([null]);
});

/** Null on a machine without control groups that may be used. */
async function groupOf(run: string, dataDir: string): Promise<ControlGroup | null> {
  try {
    const groups = await openCommandGroups({ dataDir, limits: undefined, logger: silent });
    const group = await groups.make(run);
    onTestFinished(async () => void (await group.remove()));
    return group;
  } catch (error) {
    expect(error).toBeInstanceOf(CgroupsUnusable);
    return null;
  }
}
