import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentConfig, Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';

/** The seed's use case (Push Jobs §1.1), command by command, on ten agents. */
const WEB = ['web1', 'web2', 'web3', 'web4', 'web5', 'web6', 'web7', 'web8'];
const FAILING = ['web3', 'web5'];

let cluster: Cluster;
let held: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start();
  held = new HeldCommand(cluster.dir, 'held');
  const agents: Record<string, AgentConfig> = {};
  for (const name of WEB) {
    agents[name] = {
      labels: { role: 'my_role' },
      // Patching fails on some of the machines.
      commands: { 'chef-client': FAILING.includes(name) ? 'false' : 'true', busy: held.entry },
    };
  }
  agents.db1 = { labels: { role: 'db' }, commands: { 'chef-client': 'true' } };
  agents.db2 = { labels: { role: 'db' }, commands: { 'chef-client': 'true' } };
  await cluster.startAgents(agents);
});
afterAll(() => cluster.stop());

describe('Push Jobs §1.1', () => {
  let first = '';

  test('a job is started on the nodes a search finds', async () => {
    const result = await cluster.muster('push', 'start', 'role:my_role', '--', 'chef-client');
    expect(result.code).toBe(1);
    first = /Starting job id ([0-9a-f]{32})/.exec(result.stdout)?.[1] ?? '';
    expect(first).not.toBe('');
    expect((await cluster.job(first)).nodes.failed).toHaveLength(2);
  });

  test('its status is tracked in detail', async () => {
    const lines = (await cluster.muster('push', 'status', first)).stdout.split('\n');
    expect(lines.find((line) => line.startsWith('web3'))).toMatch(/failed/i);
    expect(lines.find((line) => line.startsWith('web1'))).toMatch(/succeeded|done/i);
    expect(lines.some((line) => line.startsWith('db1'))).toBe(false);
  });

  test('or in the aggregate', async () => {
    const { stdout } = await cluster.muster('push', 'status', first, '--summary');
    expect(stdout).toContain('2 nodes completed with errors');
    expect(stdout).toContain('6 nodes completed successfully');
  });

  test('or individually', async () => {
    const { stdout } = await cluster.muster('push', 'status', first, '--node', 'web3');
    expect(stdout).toMatch(
      new RegExp(`^node web3 Failed running job id ${first} at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d`),
    );
  });

  test('new jobs are started from the results of prior jobs', async () => {
    const result = await cluster.muster(
      ...['push', 'start', '--from-job', first, '--job-status', 'failed', '--json', '--', 'chef-client'],
    );
    const job = result.json as { nodes: Record<string, string[]> };
    expect(job.nodes.failed?.toSorted()).toEqual(FAILING);
  });

  test('busy and down nodes are told apart in the aggregate', async () => {
    held.reset();
    const busy = await cluster.startJob({ command: 'busy', nodes: ['web1'] });
    await cluster.nodeIs(busy, 'web1', 'running');
    await cluster.agent('web2').kill('SIGKILL');
    await cluster.down('web2');
    const job = await cluster.startJob({ command: 'chef-client', nodes: ['web1', 'web2', 'web4'], quorum: 1 });
    await cluster.jobIs(job, 'complete');
    const { stdout } = await cluster.muster('push', 'status', job, '--summary');
    expect(stdout).toContain('node not available, busy');
    expect(stdout).toContain('node not available, down');
    expect(stdout).toContain('node completed successfully');
    held.release();
    expect((await cluster.jobIs(busy, 'complete')).nodes).toEqual({ succeeded: ['web1'] });
  });
});
