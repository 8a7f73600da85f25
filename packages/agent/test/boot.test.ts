import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { expect, it, onTestFinished } from 'vitest';
import { bootDaemon } from '../src/boot.js';
import { systemHost } from '../src/host.js';
import { LEFTOVER_WAIT_MS } from '../src/limits.js';
import { loadIdentity, loadSettings } from '../src/settings.js';
import { scratch, silent } from './support/agent.js';

it('what a crash left running has its whole grace to end, and is killed for good after it', async () => {
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
  await writeFile(join(dataDir, 'running'), '{"job_id":"j1","run":"r1"}');
  const settings = await loadSettings({ server: 'http://127.0.0.1:1', dataDir, key, config });

  const clock = new ManualClock();
  const enough = new Error('the agent need not go on');
  const givenUp: boolean[] = [];
  const killRun: typeof systemHost.processes.killRun = async (run, _clock, graceMs, giveUp) => {
    expect([run, graceMs]).toEqual([{ leader: null, marker: 'r1' }, 60_000]);
    for (const ms of [graceMs, LEFTOVER_WAIT_MS, 1]) {
      clock.advance(ms);
      givenUp.push(giveUp?.() === true);
    }
    throw enough;
  };
  const host = { ...systemHost, processes: { ...systemHost.processes, killRun } };
  const around = { clock, logger: silent, random: Math.random, host };
  await expect(bootDaemon(settings, await loadIdentity(settings), around)).rejects.toBe(enough);
  expect(givenUp).toEqual([false, false, true]);
});
