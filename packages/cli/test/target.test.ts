import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRINCIPAL_NAME } from '@muster/platform/auth';
import { afterAll, expect, test } from 'vitest';
import { jobRequest } from '../src/commands/push/request.js';
import { rerunStatuses } from '../src/commands/push/rerun.js';
import { NODE_NAME } from '../src/commands/push/stray-query.js';
import { chooseTarget, rerunOf } from '../src/commands/push/target.js';

test('a query and a command after --', () => {
  expect(chooseTarget(['role:web'], ['uname', '-a'], {})).toEqual({
    target: { search: 'role:web' },
    words: ['uname', '-a'],
  });
});

test('Push Jobs §1.1: the seed’s form, without --', () => {
  expect(chooseTarget(['role:my_role', 'chef-client'], undefined, {})).toEqual({
    target: { search: 'role:my_role' },
    words: ['chef-client'],
  });
});

test.each([
  ['--node', { node: ['a', 'b'] }, { nodes: ['a', 'b'] }],
  ['--node-group', { nodeGroup: 'g' }, { node_group: 'g' }],
  [
    '--from-job',
    { fromJob: 'J', jobStatus: 'failed, crashed' },
    { from_job: { id: 'J', statuses: ['failed', 'crashed'] } },
  ],
])('%s chooses instead of a query', (_, options, target) => {
  expect(chooseTarget([], ['x'], options)).toEqual({ target, words: ['x'] });
  expect(chooseTarget(['x', 'y'], undefined, options)).toEqual({ target, words: ['x', 'y'] });
});

const QUERIES = [
  'idx:n1',
  'name:web*',
  'web*',
  '*:*',
  "role = 'web'",
  'role:web AND env:prod',
  'NOT env:prod',
  'cpus:[8 TO 16]',
  'role:web AND (env:prod',
];

test.each(QUERIES)('a query beside a flag is no command: %s', (query) => {
  for (const options of [{ node: ['a'] }, { nodeGroup: 'g' }, { fromJob: 'J', jobStatus: 'failed' }]) {
    const refused = /choose nodes in one way: the query .*, or the flag; if .* is the command, write it after --/;
    expect(() => chooseTarget([query], undefined, options)).toThrow(refused);
    expect(() => chooseTarget([query, 'uptime'], undefined, options)).toThrow(refused);
    expect(chooseTarget([], [query], options).words).toEqual([query]);
  }
});

test.each(QUERIES.filter((query) => query !== 'idx:n1'))('a query behind --node is no name of a node: %s', (query) => {
  expect(() => chooseTarget([], ['x'], { node: ['web1', query] })).toThrow(
    `choose nodes in one way: the query '${query}', or --node`,
  );
});

test.each(['web1,web2', 'web 1', 'wéb', '', 'x'.repeat(256)])('no node is named %j', (name) => {
  expect(() => chooseTarget([], ['x'], { node: [name] })).toThrow(/--node takes names of nodes/);
});

test('what a node can be named is what the server takes', () => {
  expect(NODE_NAME.source).toBe(PRINCIPAL_NAME);
});

test.each(['uptime', 'chef-client', 'true', './run:all', 'COLOR=blue env', 'ps aux | grep a:b', ''])(
  'beside a flag this is a command: %j',
  (word) => {
    expect(chooseTarget([word], undefined, { node: ['a'] }).words).toEqual([word]);
  },
);

test.each([
  ['no choice', [], ['x'], {}, /no nodes chosen/],
  ['two ways at once', ['role:web'], ['x'], { node: ['a'] }, /in one way/],
  ['two flags at once', [], ['x'], { node: ['a'], nodeGroup: 'g' }, /in one way/],
  ['an unquoted query', ['role:web', 'AND', 'x:y'], ['x'], {}, /quote the query/],
  ['--from-job without a status', [], ['x'], { fromJob: 'J' }, /--job-status/],
  ['a status without --from-job', ['q'], ['x'], { jobStatus: 'failed' }, /--from-job/],
])('%s is a usage error', (_, operands, words, options, message) => {
  expect(() => chooseTarget(operands, words, options)).toThrow(message);
});

const directory = mkdtempSync(join(tmpdir(), 'muster-request-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('every flag travels under the name of the API, and only those given', () => {
  writeFileSync(join(directory, 'patch.sh'), 'echo \u00e9');
  const chosen = chooseTarget([], ['x'], { node: ['a'] });
  const body = jobRequest(
    chosen,
    {
      quorum: '80%',
      concurrency: 2,
      startRate: 10,
      maxFailures: '5%',
      runTimeout: 60,
      nodeTimeout: 30,
      votingTimeout: 5,
      ackTimeout: 3,
      user: 'nobody',
      dir: '/tmp',
      env: ['A=1', 'B=x=y'],
      file: 'patch.sh',
      capture: true,
    },
    directory,
  );
  expect(body).toEqual({
    command: 'x',
    nodes: ['a'],
    quorum: '80%',
    concurrency: 2,
    start_rate: 10,
    max_failures: '5%',
    run_timeout: 60,
    node_timeout: 30,
    voting_timeout: 5,
    ack_timeout: 3,
    user: 'nobody',
    dir: '/tmp',
    env: { A: '1', B: 'x=y' },
    file: `base64:${Buffer.from('echo \u00e9').toString('base64')}`,
    capture_output: true,
  });
  expect(jobRequest(chosen, {}, directory)).toEqual({
    command: 'x',
    nodes: ['a'],
    quorum: 'default',
    capture_output: true,
  });
  expect(jobRequest(chosen, { capture: false, available: true }, directory)).toEqual({
    command: 'x',
    nodes: ['a'],
    quorum: 1,
  });
});

test.each([
  ['a variable without value', { env: ['A'] }, /NAME=VALUE/],
  ['a variable named twice', { env: ['A=1', 'A=2'] }, /twice/],
  ['a file that is missing', { file: 'no.sh' }, /cannot read .*no\.sh \(ENOENT\)/],
  ['a directory', { file: '.' }, /cannot read .* \(EISDIR\)/],
])('%s is a usage error', (_, options, message) => {
  expect(() => jobRequest({ target: { nodes: ['a'] }, words: ['x'] }, options, directory)).toThrow(message);
});

test('sheet §0.3: a file of more than 100,000 bytes is not sent', () => {
  const chosen = { target: { nodes: ['a'] }, words: ['x'] };
  writeFileSync(join(directory, 'most'), Buffer.alloc(100_000));
  writeFileSync(join(directory, 'more'), Buffer.alloc(100_001));
  expect(jobRequest(chosen, { file: 'most' }, directory).file).toBeDefined();
  expect(() => jobRequest(chosen, { file: 'more' }, directory)).toThrow(/100000 bytes/);
});

test('no command is a usage error', () => {
  expect(() => jobRequest({ target: { nodes: ['a'] }, words: [] }, {}, directory)).toThrow(/no command/);
});

test('--rerun names an earlier job; --failed and --not-started say which of its nodes', () => {
  expect(rerunOf({ rerun: 'J', failed: true })).toBe('J');
  expect(rerunOf({ node: ['a'] })).toBeNull();
  expect(() => rerunOf({ notStarted: true })).toThrow(/need --rerun/);
  expect(() => rerunOf({ group: '3f2a9c01', node: ['a'] })).toThrow(/need --rerun/);
  expect(() => rerunOf({ rerun: 'J', node: ['a'] })).toThrow(/in one way/);
});

test('a rerun takes what failed, what was not started, or both', () => {
  expect(rerunStatuses({ failed: true })).toEqual(['failed', 'crashed', 'timed_out', 'aborted']);
  expect(rerunStatuses({ notStarted: true })).toEqual(['nacked', 'unavailable', 'was_ready']);
  expect(rerunStatuses({})).toEqual(rerunStatuses({ failed: true, notStarted: true }));
  expect(rerunStatuses({ status: ['failed,ready'] })).toEqual(['failed', 'ready']);
  expect(rerunStatuses({ status: ['refused', 'timed out,not started'] })).toEqual(['nacked', 'timed_out', 'was_ready']);
  for (const text of ['foo', 'failed,', '']) {
    expect(() => rerunStatuses({ status: [text] })).toThrow(
      /^--status takes statuses of nodes, not '(foo)?': new, ready/,
    );
  }
});
