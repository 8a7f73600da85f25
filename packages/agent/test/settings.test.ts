import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSettings } from '../src/settings.js';

test('paths do not depend on where a command runs, however the agent was told them', async () => {
  const { dataDir, keyFile, fileDir } = await loadSettings({ server: 'http://127.0.0.1:1', dataDir: './web1' });
  expect(dataDir).toBe(join(process.cwd(), 'web1'));
  expect(keyFile).toBe(join(process.cwd(), 'web1', 'client.pem'));
  expect(fileDir).toBe(join(process.cwd(), 'web1', 'files'));
});
