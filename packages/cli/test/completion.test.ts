import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { JOB_FIELDS } from '../../jobs/src/search/fields.js';
import { ATTRIBUTE_NAMES } from '../../tasks/src/search/attributes.js';
import { EVENT_ATTRIBUTES, SELECTORS } from '../src/completion-lists.js';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

async function script(kind: string): Promise<string> {
  const world = testWorld();
  expect(await run(['completion', kind], world)).toBe(0);
  return world.out();
}

/** What bash offers after these words where the server knows nothing. */
async function offered(...words: string[]): Promise<string[]> {
  const line = `muster() { :; }; COMP_LINE='${words.join(' ')}'; COMP_POINT=\${#COMP_LINE}`;
  const ask = `${line}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _muster; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', `${await script('bash')}\n${ask}`]).toString();
  return text.split('\n').filter((line) => line !== '');
}

test('bash completes commands', async () => {
  expect(await offered('muster', 'pu')).toEqual(['push']);
});

test('bash completes subcommands, also after a flag', async () => {
  expect(await offered('muster', '--json', 'push', 'st')).toEqual(['start', 'status']);
});

test('bash completes flags of the command in question', async () => {
  expect(await offered('muster', 'push', 'start', 'role:web', '--qu')).toEqual(['--quorum']);
});

test('bash offers flags where one is begun, and where nothing else is known', async () => {
  expect(await offered('muster', 'node', '')).not.toContain('--help');
  expect(await offered('muster', 'node', '-')).toContain('--help');
  expect(await offered('muster', 'whoami', '')).toContain('--json');
});

test('bash offers no flags in the place of the value of one', async () => {
  expect(await offered('muster', 'push', 'start', '--quorum', '')).toEqual([]);
  expect(await offered('muster', 'push', 'start', '--script', '')).toEqual([]);
  expect(await offered('muster', 'push', 'start', '--detach', '')).toContain('--quorum');
});

test('bash offers no flags of ours behind --, where a command of nodes stands', async () => {
  expect(await offered('muster', 'push', 'start', 'role:web', '--', '')).toEqual([]);
  expect(await offered('muster', 'push', 'start', 'role:web', '--', '-')).toEqual([]);
});

test('bash completes the flags of the server, which come from its schema', async () => {
  expect(await offered('muster', 'server', '--data-')).toEqual(['--data-dir']);
});

test('selectors of tasks and jobs are offered attributes that the server knows', () => {
  expect([...SELECTORS['task selector'].own].sort()).toEqual([...ATTRIBUTE_NAMES].sort());
  expect(SELECTORS['job selector'].own.filter((name) => !JOB_FIELDS.has(name.toLowerCase()))).toEqual([]);
});

test('selectors of events are offered attributes that every event has, or many of the reference have', () => {
  const reference = readFileSync(new URL('../../../docs/reference/events.md', import.meta.url), 'utf8');
  const [general = '', ...own] = reference.split(/^## Nodes$/m);
  const ofAll = [...general.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const ofOwn = [...own.join('').matchAll(/^\| attribute \| `(\w+)`/gm)].map(([, name = '']) => name);
  const many = ofOwn.filter((name) => ofOwn.filter((other) => other === name).length >= 5);
  expect(EVENT_ATTRIBUTES).toEqual(expect.arrayContaining([...ofAll, ...many]));
  expect([...ofAll, ...ofOwn]).toEqual(expect.arrayContaining([...EVENT_ATTRIBUTES]));
});

test.each(['zsh', 'fish'])('%s gets a script that knows every command', async (kind) => {
  const text = await script(kind);
  for (const word of ['push', 'start', 'node-group', 'quorum']) expect(text).toContain(word);
});

describe('what the server knows', () => {
  let server: ApiServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const node = (node_name: string, role: string) => ({ node_name, facts: { os: 'linux', cpus: 8 }, labels: { role } });
  const NODES = { total: 2, nodes: [node('web1', 'web'), node('web2', 'web')] };

  const COMMANDS = [
    ...['uname -a', 'restart nginx', 'restart web'].map((name) => ({ name, pattern: null, nodes: 2 })),
    { name: '/restart (.*)/', pattern: 'restart (.*)', nodes: 1 },
  ];
  const task = (id: string, queue: string, width: number) => ({ id, queue, status: 'failed', params: { width } });
  /** Lists of whatever is known by its name. */
  const NAMED = [
    ...[['approval-policies', 'many'] as const, ['calendars', 'nights'] as const, ['collections', 'images'] as const],
    ...[['groups', 'admins'] as const, ['issuers', 'work'] as const, ['job-queues', 'big'] as const],
    ...[['notifications', 'mail'] as const, ['rules', 'disk-full'] as const, ['runbooks', 'deploy'] as const],
    ...[['schedules', 'nightly'] as const, ['secrets', 'db'] as const, ['services', 'ci'] as const],
    ...[['users', 'anna'] as const, ['login', 'staff'] as const],
  ];

  const PARAMETERS = { release: { type: 'string' }, stage: { type: 'choice', choices: ['test', 'live'] } };

  /** What a script is told for these words. */
  async function candidates(...words: string[]): Promise<string[]> {
    server = await apiServer({
      'GET /organizations/o/nodes': json(NODES),
      'GET /organizations': json([{ name: 'staging' }]),
      'GET /organizations/o/node_groups': json([{ name: 'canaries' }, { name: 'rest' }]),
      'GET /organizations/o/pushy/commands': json({ commands: COMMANDS }),
      'GET /organizations/o/queues': json([{ name: 'resize' }]),
      'GET /organizations/o/pushy/jobs': json([{ id: 'af01' }, { id: 'af02' }, { id: 'b0' }]),
      'GET /organizations/o/tasks': json({ tasks: [task('t1', 'resize', 640), task('t2', 'rotate', 90)], next: null }),
      'GET /organizations/o/jobs/v2': json({ result: [{ id: 'j1', appId: 'blast-1.0', status: 'RUNNING' }] }),
      'GET /organizations/o/apps/v2': json({ result: [{ id: 'blast-1.0' }] }),
      'GET /organizations/o/systems/v2': json({ result: [{ id: 'hpc' }] }),
      'GET /organizations/o/ssh-nodes': json([{ node_name: 'router1' }]),
      'GET /organizations/o/approvals': json([{ id: 'c0ffee' }]),
      'GET /organizations/o/job-messages': json([{ id: 'm1' }]),
      'GET /users/anna/keys': json([{ fingerprint: 'a1' }, { fingerprint: 'b2' }]),
      'GET /organizations/o/keys': json({ total: 2, keys: [{ fingerprint: 'a1' }, { fingerprint: 'c3' }] }),
      'GET /organizations/o/revoked_keys': json({ total: 1, keys: [{ fingerprint: 'e5' }] }),
      'GET /revoked_keys': json({ total: 1, keys: [{ fingerprint: 'f6' }] }),
      'GET /organizations/o/nodes/web1/keys': json([{ fingerprint: 'c3' }]),
      'GET /organizations/o/services/ci/keys': json([{ fingerprint: 'd4' }]),
      'GET /organizations/o/runbooks/deploy': json({ name: 'deploy', definition: { parameters: PARAMETERS } }),
      ...Object.fromEntries(NAMED.map(([path, name]) => [`GET /organizations/o/${path}`, json([{ name }])])),
    });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect(await run(['__complete', ...words], world)).toBe(0);
    expect(world.err()).toBe('');
    return world.out().split('\n').filter(Boolean);
  }

  test.each<[words: string[], offered: string[]]>([
    [
      ['node', 'show', 'we'],
      ['web1', 'web2'],
    ],
    [
      ['push', 'start', '--node', 'web1', 'web'],
      ['web1', 'web2'],
    ],
    [['push', 'start', '--node-group', 'c'], ['canaries']],
    [
      ['--json', 'push', 'status', 'af'],
      ['af01', 'af02'],
    ],
    [
      ['push', 'start', '--rerun', ''],
      ['af01', 'af02', 'b0'],
    ],
    [['push', 'start', 'ro'], ['role:']],
    [
      ['node', 'search', 'c'],
      ['command:', 'cpus:'],
    ],
    [['push', 'start', 'role:'], ['role:web']],
    [
      ['push', 'start', 'we'],
      ['web1', 'web2'],
    ],
    [
      ['node', 'list', 'role:web OR w'],
      ['role:web OR web1', 'role:web OR web2'],
    ],
    [['push', 'start', '--from-job', 'af01', '--job-status', 'failed,cr'], ['failed,crashed']],
    [['push', 'rerun', 'af01', '--status', 'cr'], ['crashed']],
    [['push', 'list', '--status', 'running,h'], ['running,held']],
    [['org', 'set', ''], ['staging']],
    [['org', 'create', ''], []],
    [['org', 'add-user', ''], []],
    [
      ['node', 'list', 'name:w'],
      ['name:web1', 'name:web2'],
    ],
    [['task', 'add', 're'], ['resize']],
    [['runbook', 'run', ''], ['deploy']],
    [['schedule', 'show', ''], ['nightly']],
    [['calendar', 'set', ''], ['nights']],
    [['rule', 'runs', ''], ['disk-full']],
    [['rule', 'set', 'disk-full', '--run', 'd'], ['deploy']],
    [['notification', 'test', ''], ['mail']],
    [['secret', 'rm', ''], ['db']],
    [['push', 'start', '--secret', ''], ['db']],
    [['schedule', 'set', 'nightly', '--not-during', ''], ['nights']],
    [['approval', 'grant', 'c'], ['c0ffee']],
    [['approval', 'policy', 'rm', ''], ['many']],
    [['node', 'list', '--columns', 'name,ro'], ['name,role']],
    [['node', 'list', '--sort', 'avail'], ['availability']],
    [['group', 'add', ''], ['admins']],
    [['service', 'keys', ''], ['ci']],
    [['issuer', 'test', ''], ['work']],
    [['issuer', 'rm', ''], ['work']],
    [['login', '--issuer', ''], ['staff']],
    [['user', 'rm', ''], ['anna']],
    [['user', 'show', ''], ['anna']],
    [['user', 'create', 'u', '--group', ''], ['admins']],
    [
      ['user', 'rm-key', 'anna', ''],
      ['a1', 'b2'],
    ],
    [['node', 'rm-key', 'web1', ''], ['c3']],
    [['service', 'rm-key', 'ci', ''], ['d4']],
    [['key', 'unrevoke', ''], ['e5']],
    [['key', 'unrevoke', '--server', ''], ['f6']],
    [
      ['key', 'revoke', ''],
      ['a1', 'c3'],
    ],
    [['key', 'revoke', 'a1', 'c'], ['c3']],
    [['event', 'watch', 'ty'], ['type']],
    [['rule', 'create', 'x', '--on', 'no'], ['node']],
    [['event', 'watch', "type = 'x' AND no"], ["type = 'x' AND node"]],
    [['event', 'watch', "type = 'x' and (exit"], ["type = 'x' and (exit_code"]],
    [['event', 'watch', "type = 'x' no"], []],
    [['node', 'list', 'name:web1 OR ro'], ['name:web1 OR role:']],
    [['node', 'list', 'NOT (role:'], ['NOT (role:web']],
    [['rule', 'set', 'disk-full', '--on', 'exit'], ['exit_code']],
    [['notification', 'create', 'x', '--on', 'org'], ['org']],
    [
      ['inventory', '--host', 'web'],
      ['web1', 'web2'],
    ],
    [['org', 'rm-user', ''], ['anna']],
    [['secret', 'grant', 'db', '--user', ''], ['anna']],
    [['secret', 'grant', 'db', '--group', ''], ['admins']],
    [['secret', 'grant', 'db', '--client', ''], ['ci']],
    [
      ['group', 'add', 'admins', '--client', ''],
      ['ci', 'web1', 'web2'],
    ],
    [['node-group', 'grant', 'rest', '--user', ''], ['anna']],
    [
      ['audit', '--actor', ''],
      ['anna', 'ci', 'web1', 'web2'],
    ],
    [['event', 'durable', 'rm', 'a'], ['anna']],
    [['access-token', 'create', '--service', ''], ['ci']],
    [['push', 'list', '--user', ''], ['anna']],
    [['push', 'start', '--user', ''], []],
    [['push', 'rerun', 'af01', '--group', ''], []],
    [['collection', 'rm', ''], ['images']],
    [['ssh-node', 'show', ''], ['router1']],
    [['ssh-node', 'add', ''], []],
    [['app', 'show', 'bl'], ['blast-1.0']],
    [['job', 'run', ''], ['blast-1.0']],
    [['system', 'show', ''], ['hpc']],
    [['job', 'show', ''], ['j1']],
    [['job', 'cancel', 'j0', ''], ['j1']],
    [['job-queue', 'rm', ''], ['big']],
    [['dead-letter', 'show', ''], ['m1']],
    [['queue', 'pause', ''], ['resize']],
    [
      ['task', 'retry', 't9', ''],
      ['t1', 't2'],
    ],
    [['task', 'list', '--queue', ''], ['resize']],
    [
      ['task', 'list', 'qu'],
      ['queue:', 'queue_id:'],
    ],
    [
      ['task', 'list', 'queue:'],
      ['queue:resize', 'queue:rotate'],
    ],
    [['task', 'cancel', '--where', 'params.w'], ['params.width:']],
    [
      ['task', 'list', 'params.width:'],
      ['params.width:640', 'params.width:90'],
    ],
    [['job', 'list', 'app'], ['appId:']],
    [['job', 'list', 'status:R'], ['status:RUNNING']],
    [['inventory', 'role:w'], ['role:web']],
    [['push', 'start', '--quorum', ''], []],
    [
      ['push', 'start', 'role:web', '--output', ''],
      ['live', 'grouped', 'none'],
    ],
    [
      ['push', 'start', '--when-busy=', 'w'],
      ['web1', 'web2'],
    ],
    [['push', 'start', '--when-busy', 'w'], ['wait']],
    [['completion', 'z'], ['zsh']],
    [
      ['runbook', 'run', 'deploy', '--param', ''],
      ['release=', 'stage='],
    ],
    [['runbook', 'run', 'deploy', '--param', 'release=4.2', '--param', 'stage=l'], ['stage=live']],
    [['runbook', 'run', 'deploy', '--param', 'release='], []],
    [['rule', 'create', 'r', '--run', 'deploy', '--param', 'st'], ['stage=']],
    [['task', 'add', 'resize', '--param', ''], []],
    [['push', 'start', 'role:web', '--', 'we'], []],
    [
      ['push', 'start', 'role:web', '--', ''],
      ['restart', 'uname'],
    ],
    [
      ['push', 'start', 'role:web', '--', 'restart', ''],
      ['nginx', 'web'],
    ],
    [['push', 'start', 'role:web', '--', 'uname', '-'], ['-a']],
    [['runbook', 'run', 'deploy', '--', ''], []],
    [['node', 'create', 'we'], []],
    [['push', 'start', '--no'], []],
  ])('%j: %j', async (words, expected) => {
    expect(await candidates(...words)).toEqual(expected);
  });

  test.each([
    [['push', 'start', 'web1', '--', ''], 'web1'],
    [['push', 'start', '--node', 'web1', '--node', 'web2', '--', ''], 'name:web1 OR name:web2'],
    [['push', 'start', '--node-group', 'rest', '--', ''], null],
  ])('%j: commands are those of the nodes that are chosen', async (words, query) => {
    await candidates(...words);
    expect(server?.received.at(-1)?.query.get('q')).toBe(query);
  });

  test('of approvals those are offered for a decision that wait for one', async () => {
    await candidates('approval', 'grant', '');
    expect(server?.received.at(-1)?.query.get('status')).toBe('pending');
  });

  test('contexts are those of this machine', async () => {
    const home = mkdtempSync(join(tmpdir(), 'muster-home-'));
    const offered = async (...words: string[]) => {
      const world = testWorld({ env: { HOME: home } });
      await run(words, world);
      return world.out();
    };
    await offered('context', 'add', 'prod', '--url', 'https://muster.example.com');
    expect(await offered('__complete', 'context', 'use', '')).toBe('prod\n');
    expect(await offered('__complete', 'node', 'list', '--context', 'p')).toBe('prod\n');
    expect(await offered('__complete', 'context', 'add', '')).toBe('');
    rmSync(home, { recursive: true });
  });

  test('whoever is about to sign in is offered where, without having a key or a token', async () => {
    server = await apiServer({ 'GET /organizations/o/login': json([{ name: 'staff' }, { name: 'work' }]) });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o' }, cwd: '/nonexistent' });
    expect([await run(['__complete', 'login', '--issuer', ''], world), world.out()]).toEqual([0, 'staff\nwork\n']);
  });

  test('of several lists those are offered that may be seen', async () => {
    server = await apiServer({ 'GET /organizations/o/users': json([{ name: 'anna' }]) });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect([await run(['__complete', 'audit', '--actor', ''], world), world.out()]).toEqual([0, 'anna\n']);
  });

  test('a server that is away, refuses, or is not known offers nothing, and says nothing', async () => {
    const worlds = [{}, { MUSTER_URL: 'http://127.0.0.1:1', MUSTER_TOKEN: 'T' }];
    for (const env of worlds) {
      const world = testWorld({ env, cwd: '/nonexistent' });
      expect([await run(['__complete', 'node', 'show', ''], world), world.out(), world.err()]).toEqual([0, '', '']);
    }
  });

  test('a server that does not answer is waited for no longer than a person would', async () => {
    let asked = 0;
    server = await apiServer({
      'GET /organizations/o/queues': () => {
        asked += 1;
      },
    });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    expect([await run(['__complete', 'queue', 'show', ''], world), world.out(), world.err()]).toEqual([0, '', '']);
    expect(asked).toBe(1);
  });

  test('of many only so many are offered as somebody would read', async () => {
    const names = Array.from({ length: 1000 }, (_, number) => ({ name: `q${number}` }));
    server = await apiServer({ 'GET /organizations/o/queues': json(names) });
    const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
    await run(['__complete', 'queue', 'show', ''], world);
    expect(world.out().trim().split('\n')).toHaveLength(100);
  });

  test('bash asks for what it does not know, and its words end at colons', async () => {
    const bash = await script('bash');
    const ask = (line: string, answer: string, words: string) =>
      execFileSync('bash', [
        '-c',
        `${bash}
muster() { printf '%s\\n' "$*" >&2; printf '${answer}'; }
COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; COMP_WORDS=(${words}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
_muster 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ]).toString();
    expect(ask('muster node show we', 'web1\\nweb2\\n', 'muster node show we')).toBe('web1\nweb2\n');
    expect(ask('muster push start role:w', 'role:web\\n', "muster push start role ':' w")).toBe('web\n');
    const stage = "muster runbook run deploy --param stage '=' l";
    expect(ask('muster runbook run deploy --param stage=l', 'stage=live\\n', stage)).toBe('live\n');
    expect(ask('muster node show ', 'web1\\nweb2\\n', "muster node show ''")).toBe('web1\nweb2\n');
    const quoted = `muster push start "role:web AND en`;
    const word = `muster push start '"role:web AND en'`;
    const both = 'role:web AND env:prod\\nrole:web AND env:test\\n';
    expect(ask(quoted, both, word)).toBe('role:web AND env:prod\nrole:web AND env:test\n');
    expect(ask(`muster push start "role:we`, 'role:web\\n', `muster push start '"role:we'`)).toBe('role:web\n');
    expect(ask('muster push start --output ', 'live\\nnone\\n', "muster push start --output ''")).toBe('live\nnone\n');
  });
});
