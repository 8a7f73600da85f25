import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { until } from './support/until.js';

/** Acceptance list, reference sheet §9.9: the directory that files of jobs are written to. */
let cluster: Cluster;
let fileDir: string;

beforeAll(async () => {
  cluster = await Cluster.start();
  fileDir = join(cluster.dir, 'pushy');
  mkdirSync(fileDir);
  await cluster.startAgents({
    DONKEY: { file_dir: fileDir, file_dir_expiry: 2, commands: { file: { shell: 'cat "$CHEF_PUSH_JOB_FILE"' } } },
  });
});
afterAll(() => cluster.stop());

const jobFiles = (): string[] => readdirSync(fileDir).filter((name) => name.startsWith('pushy_file'));

test('FILEDIR-1, 2 a job’s file outlives the job and expires, other files stay', async () => {
  const other = join(fileDir, 'other_file');
  writeFileSync(other, 'not ours');
  const id = await cluster.startJob({ command: 'file', nodes: ['DONKEY'], file: 'raw:text' });
  await cluster.jobIs(id, 'complete');
  expect(jobFiles()).toHaveLength(1);
  await until('the file to expire', () => jobFiles().length === 0);
  expect(existsSync(other)).toBe(true);
});
