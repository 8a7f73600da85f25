import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type AgentSettings, changedForNextStart, loadSettings } from '../src/settings.js';
import { scratch } from './support/agent.js';

test('paths do not depend on where a command runs, however the agent was told them', async () => {
  const { dataDir, keyFile, fileDir } = await loadSettings({ server: 'http://127.0.0.1:1', dataDir: './web1' });
  expect(dataDir).toBe(join(process.cwd(), 'web1'));
  expect(keyFile).toBe(join(process.cwd(), 'web1', 'client.pem'));
  expect(fileDir).toBe(join(process.cwd(), 'web1', 'files'));
});

test('a file that is read again is compared with what the agent took at its start', async () => {
  const place = await scratch();
  onTestFinished(() => place.dispose());
  const config = join(place.dir, 'agent.json');
  const read = async (file: object): Promise<AgentSettings> => {
    await writeFile(config, JSON.stringify({ server: 'http://127.0.0.1:1', name: 'web1', ...file }));
    return loadSettings({ config });
  };
  const started = await read({ labels: { role: 'web' }, limits: { pids: 100 } });
  expect(changedForNextStart(started, await read({ labels: { role: 'db' }, limits: { pids: 100 } }))).toEqual([]);
  const other = await read({ name: 'web2', events: { socket: 'events.sock' }, limits: { pids: 200 } });
  expect(changedForNextStart(started, other)).toEqual(['name', 'limits', 'events']);
});
