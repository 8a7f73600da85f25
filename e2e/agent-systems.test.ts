import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** An execution system that is a node, reached by its agent: the whole way of a job, also when the agent is killed. */

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
  mkdirSync(join(at('allowed/lab'), 'in'), { recursive: true });
  writeFileSync(join(at('allowed/lab'), 'in/query.txt'), 'one\ntwo\n');
  writeFileSync(at('sort.json'), JSON.stringify(SORT));
  await cluster.startAgents({
    web1: { systems: { roots: [at('allowed')], user: userInfo().username } },
    web2: {},
  });
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

const at = (name: string): string => join(cluster.dir, name);

const SORT = {
  name: 'sort',
  version: '1.0',
  shortDescription: 'Sorts lines',
  executionType: 'CLI',
  template: `#!/bin/sh
echo "$MUSTER_JOB" >> "$runs"
until [ -e "$go" ]; do sleep 0.05; done
sort -r "$query" > sorted.txt
`,
  inputs: [{ id: 'query', value: { required: true }, details: { label: 'Lines' } }],
  parameters: [
    { id: 'runs', value: { type: 'string', required: true } },
    { id: 'go', value: { type: 'string', required: true } },
  ],
};

interface Job {
  readonly id: string;
  readonly status: string;
}

async function said(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.muster(...words);
  expect([code, stderr], `muster ${words.join(' ')}\n${stdout}`).toEqual([0, expect.any(String)]);
  return stdout;
}

/** On the default system. */
const run = async (): Promise<string> => {
  const words = ['--input', 'query=in/query.txt', '--param', `runs=${at('runs')}`, '--param', `go=${at('go')}`];
  return (await said('job', 'run', 'sort-1.0', ...words, '--archive-path', 'kept')).trim();
};
const becomes = (id: string, status: string): Promise<unknown> =>
  until(`job ${id} to be ${status}`, async () => (await cluster.json<Job>('job', 'show', id)).status === status);

describe('a node as an execution system', () => {
  test('runs a job once and to its end, though its agent is killed meanwhile', async () => {
    await said('app', 'create', '--file', at('sort.json'));
    await said(
      'system',
      'create',
      'lab',
      '--type',
      'agent',
      '--node',
      'web1',
      '--root',
      at('allowed/lab'),
      '--default',
    );
    expect(await said('system', 'show', 'lab')).toMatch(/^Node +web1$/m);
    const id = await run();
    await becomes(id, 'RUNNING');

    await cluster.agent('web1').kill();
    cluster.launchAgent('web1');
    await cluster.available('web1');
    writeFileSync(at('go'), '');
    await becomes(id, 'FINISHED');
    expect(readFileSync(at('runs'), 'utf8')).toBe(`${id}\n`);
    expect(readFileSync(at('allowed/lab/kept/sorted.txt'), 'utf8')).toBe('two\none\n');
    expect(await said('job', 'output', id, 'sorted.txt')).toBe('two\none\n');
    expect(await said('audit', '--action', 'system.session')).toMatch(/web1 +node +127\.0\.0\.1 +system\.session +lab/);
  });

  test.each([
    ['web1', 'elsewhere', 'see systems.roots in agent.yaml'],
    ['web2', 'allowed', 'its owner allows them with systems in agent.yaml'],
  ])(
    'is refused where the owner of %s does not allow it, with words that say what to set',
    async (node, root, words) => {
      const name = `not-${node}`;
      await said('system', 'create', name, '--type', 'agent', '--node', node, '--root', at(root), '--default');
      const id = await run();
      await becomes(id, 'BLOCKED');
      expect(await said('job', 'why', id)).toContain(words);
      expect(existsSync(at('elsewhere'))).toBe(false);
      await said('job', 'cancel', id);
    },
  );
});
