import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hrefOf, parsePlace, type Screen } from '../src/route.js';
import { secretOf } from '../src/session/link.js';
import { may, reasonOf } from '../src/session/permissions.js';

const text = fc.string({ minLength: 1, maxLength: 20 }).filter((each) => each !== 'new');
const screens: fc.Arbitrary<Screen> = fc.oneof(
  fc.constantFrom<Screen>(
    { name: 'overview' },
    { name: 'nodes' },
    { name: 'jobs' },
    { name: 'new-job' },
    { name: 'events' },
    { name: 'queues' },
    { name: 'tasks' },
    { name: 'balance' },
    { name: 'schedules' },
    { name: 'rules' },
    { name: 'long-jobs' },
    { name: 'job-works', part: 'recovery' },
    { name: 'audit' },
    { name: 'servers' },
    { name: 'access', part: 'people' },
    { name: 'access', part: 'node-groups' },
    { name: 'me' },
    { name: 'runbooks' },
    { name: 'approvals' },
  ),
  text.map((queue) => ({ name: 'queue', queue }) as const),
  text.map((id) => ({ name: 'task', id }) as const),
  text.map((node) => ({ name: 'node', node }) as const),
  text.map((id) => ({ name: 'job', id }) as const),
  text.map((runbook) => ({ name: 'runbook', runbook }) as const),
  fc.uuid().map((uuid) => ({ name: 'long-job', id: `${uuid}-007` }) as const),
);

function parse(href: string) {
  const url = new URL(href, 'http://muster.example');
  return parsePlace(url.pathname, url.search);
}

describe('a URL of the console', () => {
  it('leads back to where it was made', () => {
    fc.assert(
      fc.property(text, screens, (org, screen) => {
        // A browser takes these two for directories.
        const names = [
          org,
          'node' in screen ? screen.node : '',
          'id' in screen ? screen.id : '',
          'queue' in screen ? screen.queue : '',
        ];
        if ('runbook' in screen) names.push(screen.runbook);
        if (names.some((name) => name === '.' || name === '..')) return;
        expect(parse(hrefOf(org, screen))).toMatchObject({ org, screen, unknown: [] });
      }),
    );
  });

  it('keeps its parameters, and says which ones a screen does not know', () => {
    const { query, unknown } = parse(
      hrefOf('default', { name: 'nodes' }, { q: 'role:web AND x', colour: 'red', sort: '' }),
    );
    expect(query.get('q')).toBe('role:web AND x');
    expect(query.has('sort')).toBe(false);
    expect(unknown).toEqual(['colour']);
  });

  it.each([
    '/console/default/nothing',
    '/console/default/nodes/a/b',
    '/console/default/events/1',
    '/console/default/access/none',
  ])('%s is no page', (path) => {
    expect(parsePlace(path, '').screen).toBeNull();
  });

  it('without an organization is the way in', () => {
    expect(parsePlace('/console/', '')).toMatchObject({ org: null });
    expect(parsePlace('/console/default/', '')).toMatchObject({ org: 'default', screen: { name: 'overview' } });
  });
});

it('a link for signing in has its secret in the fragment alone', () => {
  expect(secretOf('#sign-in=abcDEF_123-')).toBe('abcDEF_123-');
  for (const hash of ['', '#sign-in=', '#sign-in=a b c d e f', '#other=abcdefghij']) expect(secretOf(hash)).toBeNull();
});

it('what is not allowed says which permission is missing, and who has it', () => {
  const told = {
    permissions: [{ permission: 'push:read', by: [{ kind: 'group' as const, name: 'push_job_readers' }] }],
    missing: [{ permission: 'push:execute', holders: 'who holds a grant' }],
  };
  expect(may(told, 'push:read')).toEqual({ may: true });
  const why = 'you need the permission push:execute. Who has it: who holds a grant';
  expect(may(told, 'push:execute')).toEqual({ may: false, why });
  expect(may(told, 'other')).toEqual({ may: false, why: 'you need the permission other' });
});

it.each([
  [[{ kind: 'member' as const, name: null }], 'as every member'],
  [
    [
      { kind: 'group' as const, name: 'ops' },
      { kind: 'node_group' as const, name: 'db' },
    ],
    'by the group ops, by a grant on the node group db',
  ],
  [[], 'by several groups together'],
])('what gives a permission is said in words: %j', (by, words) => {
  expect(reasonOf(by)).toBe(words);
});
