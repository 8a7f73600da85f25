import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { MARKER, StartedProcess } from './support/started-process.js';
import { until } from './support/until.js';

/** The cases of the acceptance list (reference sheet §9.8) that are about the agent program, with our agent. */
let cluster: Cluster;
let held: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start();
  held = new HeldCommand(cluster.dir, 'held');
  await cluster.startAgents({
    DONKEY: {
      commands: {
        held: held.entry,
        'chef-client': { command_line: 'echo true', lock: join(cluster.dir, 'chef-client-running.pid') },
        options: { shell: 'id -un; id -run; pwd; echo "$E1 $E2"', allow_env: ['E*'] },
        env: 'env',
        bash: ['bash', '-c', 'echo fixed'],
        'job-id': { shell: 'printf %s "$CHEF_PUSH_JOB_ID $CHEF_PUSH_NODE_NAME"' },
        file: { shell: 'cat "$CHEF_PUSH_JOB_FILE"' },
        'file-path': { shell: 'printf %s "$CHEF_PUSH_JOB_FILE"' },
        capture_test: { shell: 'echo testout; echo testerr >&2' },
      },
    },
    FIONA: {
      file_dir: join(cluster.dir, 'pushy2'),
      commands: { 'file-path': { shell: 'printf %s "$CHEF_PUSH_JOB_FILE"' } },
    },
  });
});
afterAll(() => cluster.stop());

async function run(job: Readonly<Record<string, unknown>>, status = 'complete') {
  const id = await cluster.startJob({ nodes: ['DONKEY'], ...job });
  return cluster.jobIs(id, status);
}

/** What the command wrote. */
async function output(job: Readonly<Record<string, unknown>>, stream = 'stdout', node = 'DONKEY'): Promise<string> {
  const { id, nodes } = await run({ nodes: [node], ...job, capture_output: true });
  expect(nodes).toEqual({ succeeded: [node] });
  const path = `pushy/jobs/${id}/output/${node}/${stream}`;
  return (await cluster.api.get(path, { accept: 'application/octet-stream' })).text;
}

test('E2E-3 the lock of chef-client is held: the node refuses', async () => {
  const lock = join(cluster.dir, 'chef-client-running.pid');
  const options = { cwd: cluster.dir, env: cluster.environment };
  const holder = new StartedProcess('flock', 'flock', [lock, 'sh', '-c', 'echo locked; cat'], options);
  await holder.logged(/locked/);
  expect((await run({ command: 'chef-client' }, 'quorum_failed')).nodes).toEqual({ nacked: ['DONKEY'] });
  await holder.kill();
  holder.closeInput();
});

test('the lock of chef-client is free: the job runs and frees it again', async () => {
  expect((await run({ command: 'chef-client' })).nodes).toEqual({ succeeded: ['DONKEY'] });
  expect((await run({ command: 'chef-client' })).nodes).toEqual({ succeeded: ['DONKEY'] });
});

test('E2E-23 user, directory and environment', async () => {
  const job = { command: 'options', user: 'daemon', dir: '/tmp', env: { E1: 'one', E2: 'two' } };
  expect(await output(job)).toBe('daemon\ndaemon\n/tmp\none two\n');
});

test('a command gets an environment that was built for it, and nothing of what the agent was started with', async () => {
  const names = (await output({ command: 'env' }))
    .trim()
    .split('\n')
    .map((line) => line.split('=')[0] ?? '');
  expect(Object.keys(cluster.environment)).toEqual(expect.arrayContaining(['MUSTER_CONFIG', 'NO_COLOR']));
  const known =
    /^(PATH|TZ|LANG|LANGUAGE|LC_[A-Z]+|HOME|USER|LOGNAME|SHELL|MUSTER_(NODE_NAME|JOB_ID|RUN)|CHEF_PUSH_(NODE_NAME|JOB_ID))$/;
  expect(names.filter((name) => !known.test(name))).toEqual([MARKER]);
});

test('a job that sets a variable which the node does not allow is refused, and told which and where it is allowed', async () => {
  const proof = join(cluster.dir, 'proof');
  writeFileSync(`${proof}.sh`, `touch ${proof}\n`);
  const { id } = await run({ command: 'bash', env: { BASH_ENV: `${proof}.sh` } }, 'quorum_failed');
  const [node] = (await cluster.api.get(`pushy/jobs/${id}/nodes`)).json as { reason: string }[];
  expect(node?.reason).toMatch(/'BASH_ENV'.+allow_env.+agent\.yaml/);
  expect(existsSync(proof)).toBe(false);
});

test('the enrolment token is seen neither among the arguments nor in the environment of the agent', async () => {
  const token = readFileSync(join(cluster.agentDir('DONKEY'), 'token'), 'utf8');
  const { pid } = cluster.agent('DONKEY');
  for (const file of ['cmdline', 'environ']) {
    const text = readFileSync(`/proc/${pid}/${file}`, 'utf8');
    expect(text.length).toBeGreaterThan(0);
    expect(text).not.toContain(token);
  }
});

test('E2E-24 a user that does not exist', async () => {
  expect((await run({ command: 'options', user: 'nobody-such' }, 'quorum_failed')).nodes).toEqual({
    nacked: ['DONKEY'],
  });
});

test('E2E-25 a directory that does not exist', async () => {
  expect((await run({ command: 'options', dir: '/no/such/place' }, 'quorum_failed')).nodes).toEqual({
    nacked: ['DONKEY'],
  });
});

test('E2E-26 the environment has the job id', async () => {
  const { id } = await run({ command: 'job-id', capture_output: true });
  const reply = await cluster.api.get(`pushy/jobs/${id}/output/DONKEY/stdout`, { accept: 'application/octet-stream' });
  expect(reply.text).toBe(`${id} DONKEY`);
});

test.each([
  ['E2E-27', `base64:${Buffer.from('the content').toString('base64')}`],
  ['E2E-28', 'raw:the content'],
])('%s a file as %s', async (_, file) => {
  expect(await output({ command: 'file', file })).toBe('the content');
});

test('E2E-29 the default file directory is the agent’s own', async () => {
  const path = await output({ command: 'file-path', file: 'raw:x' });
  expect(path.startsWith(join(cluster.agentDir('DONKEY'), 'files'))).toBe(true);
  expect(path).toContain('pushy_file');
});

test('E2E-30 file_dir', async () => {
  const path = await output({ command: 'file-path', file: 'raw:x' }, 'stdout', 'FIONA');
  expect(path.startsWith(join(cluster.dir, 'pushy2'))).toBe(true);
});

test('E2E-44 captured output of a command run as daemon', async () => {
  expect(await output({ command: 'capture_test', user: 'daemon' }, 'stderr')).toBe('testerr\n');
});

describe('when the server falls silent', () => {
  test('E2E-1 the agent finds it offline, and online again after online_threshold heartbeats', async () => {
    const agent = cluster.agent('DONKEY');
    cluster.server.signal('SIGSTOP');
    try {
      await agent.logged(/offline/);
    } finally {
      cluster.server.signal('SIGCONT');
    }
    await agent.logged(/online/);
    await cluster.available('DONKEY', 'FIONA');
  });

  test('a running command is not disturbed', async () => {
    held.reset();
    const agent = cluster.agent('DONKEY');
    const id = await cluster.startJob({ command: 'held', nodes: ['DONKEY'] });
    await until('the command to run', () => held.runs.length === 1);
    const times = (word: string) => agent.log.split(`the server is ${word}`).length;
    const before = { offline: times('offline'), online: times('online') };
    cluster.server.signal('SIGSTOP');
    try {
      await until('the agent to find the server offline', () => times('offline') > before.offline);
    } finally {
      cluster.server.signal('SIGCONT');
    }
    // Both lost sight of each other for the same time; neither may take it for the end of the command.
    await until('the agent to find the server online', () => times('online') > before.online);
    expect((await cluster.job(id)).nodes).toEqual({ running: ['DONKEY'] });
    held.release();
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['DONKEY'] });
    expect(held.runs).toEqual(['DONKEY']);
    await cluster.available('DONKEY');
  });
});
