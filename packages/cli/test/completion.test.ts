import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

async function script(kind: string): Promise<string> {
  const world = testWorld();
  expect(await run(['completion', kind], world)).toBe(0);
  return world.out();
}

/** What bash offers after these words. */
async function offered(...words: string[]): Promise<string[]> {
  const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _muster; printf '%s\\n' "\${COMPREPLY[@]}"`;
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

test('bash completes the flags of the server, which come from its schema', async () => {
  expect(await offered('muster', 'server', '--data-')).toEqual(['--data-dir']);
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

  /** What a script is told for these words. */
  async function candidates(...words: string[]): Promise<string[]> {
    server = await apiServer({
      'GET /organizations/o/nodes': json(NODES),
      'GET /organizations/o/node_groups': json([{ name: 'canaries' }, { name: 'rest' }]),
      'GET /organizations/o/queues': json([{ name: 'resize' }]),
      'GET /organizations/o/pushy/jobs': json([{ id: 'af01' }, { id: 'af02' }, { id: 'b0' }]),
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
      ['node', 'list', 'name:w'],
      ['name:web1', 'name:web2'],
    ],
    [['task', 'add', 're'], ['resize']],
    [['push', 'start', '--quorum', ''], []],
    [['push', 'start', 'role:web', '--', 'we'], []],
    [['node', 'create', 'we'], []],
    [['push', 'start', '--no'], []],
  ])('%j: %j', async (words, expected) => {
    expect(await candidates(...words)).toEqual(expected);
  });

  test('a server that is away, refuses, or is not known offers nothing, and says nothing', async () => {
    const worlds = [{}, { MUSTER_URL: 'http://127.0.0.1:1', MUSTER_TOKEN: 'T' }];
    for (const env of worlds) {
      const world = testWorld({ env, cwd: '/nonexistent' });
      expect([await run(['__complete', 'node', 'show', ''], world), world.out(), world.err()]).toEqual([0, '', '']);
    }
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
  });
});
