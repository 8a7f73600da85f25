import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const APPROVALS = '/organizations/o/approvals';
const ASKED = '2026-01-01T00:00:00.000Z';
const APPROVAL = {
  ...{ id: 'a1', status: 'pending', kind: 'command', runbook: null, version: null, schedule: null, rule: null },
  ...{ command: 'reboot', target: 'role:web', parameters: {}, hash: 'f00d', asked_by: 'anna', created_at: ASKED },
  ...{ expires_at: '2026-01-02T00:00:00.000Z', decided_by: null, decided_at: null, reason: null, job: null },
  needs: [{ why: 'policy many', grants: 2, by: ['ops'] }],
  agreed: [{ by: 'bert', at: ASKED }],
};
const ORDER = {
  command: 'reboot',
  target: 'role:web',
  quorum: { percent: 90 },
  script_text: 'echo \u001b[31mred\nsync\n',
};

let server: ApiServer | undefined;
afterEach(() => server?.close());

let detail: object = {};
async function muster(...args: string[]) {
  server = await apiServer({
    [`GET ${APPROVALS}`]: json([APPROVAL]),
    [`GET ${APPROVALS}/a1`]: json({ ...APPROVAL, order: ORDER, may_grant: true, may_deny: true, ...detail }),
    [`POST ${APPROVALS}/a1/grant`]: (request, response) => {
      const { hash } = JSON.parse(request.body) as { readonly hash: string };
      json({ job: hash === 'f00d' ? 'j1' : null, missing: hash === 'f00d' ? 0 : 1 })(request, response);
    },
    'PUT /organizations/o/approval-policies/many': (request, response) =>
      json({
        name: 'many',
        node_group: null,
        above: 0,
        grants: 1,
        by: [],
        within: null,
        unknown: ['group:leads'],
        ...JSON.parse(request.body),
      })(request, response),
    [`POST ${APPROVALS}/a1/deny`]: json({ ...APPROVAL, status: 'denied', decided_by: 'carl', reason: 'not today' }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  const code = await run(['approval', ...args], world);
  return { code, out: world.out(), err: world.err() };
}
const posted = () =>
  server?.received.filter(({ method }) => method === 'POST').map(({ path, body }) => [path, JSON.parse(body)]);

test('list shows those that wait, and with --all the decided ones, too', async () => {
  const { code, out } = await muster('list');
  expect(code).toBe(0);
  expect(out).toMatch(/^a1 +pending +push job +1\/2 +anna +2026-01-02 00:00:00 +role:web +reboot$/m);
  expect(server?.received[0]?.query.get('status')).toBe('pending');
  await server?.close();
  expect(JSON.parse((await muster('list', '--all', '--json')).out)).toEqual([APPROVAL]);
  expect(server?.received[0]?.query.has('status')).toBe(false);
});

test('show tells what would be started, who is needed, and who has agreed; nothing of it reaches the terminal as it is', async () => {
  const { out } = await muster('show', 'a1');
  expect(out).toMatch(/^Needs +2 others, for policy many \(ops\)$/m);
  expect(out).toMatch(/^Agreed +bert, 2026-01-01 00:00:00$/m);
  expect(out).toMatch(/^Quorum +90%$/m);
  expect(out).toMatch(/^Hash +f00d$/m);
  expect(out).toContain('Script text:\n');
  expect(out).toContain('\nsync\n');
  expect(out).not.toContain('\u001b');
});

test('show tells a schedule, a rule, a runbook and a script in lines, signatures short, and a quorum of one in words', async () => {
  detail = {
    order: {
      quorum: { count: 1 },
      script: { name: 'clean.sh', args: ['--all', 'a b'], signature: `MEUCIQDabcde${'f'.repeat(74)}==` },
      env: { signature: 'not one', quorum: 'full' },
      rule: { selector: "type = 'x'", at_most: { runs: 1, seconds: 600 }, before: null },
      runbook: {
        version: 2,
        definition: { script: '#!/bin/sh\ndf\n', job: { quorum: { percent: 80 } }, files: [{ dest: '/a' }] },
      },
    },
  };
  try {
    const { out } = await muster('show', 'a1');
    expect(out).toMatch(/^Quorum +whoever is available$/m);
    const lines = out.split('\n').map((line) => line.slice('Approval  '.length));
    expect(lines).toEqual(
      expect.arrayContaining([
        ...['name: clean.sh', 'args: ["--all","a b"]', 'signature: MEUCIQDabcde… (88 characters)'],
        ...['signature: not one', 'quorum: full'],
        ...["selector: type = 'x'", 'at_most:', '  runs: 1', '  seconds: 600', 'before: none'],
        ...['version: 2', 'definition:', '  script:', '    #!/bin/sh', '    df', '  job:', '    quorum: 80%'],
        ...['  files:', '    - dest: /a'],
      ]),
    );
    expect(out).not.toContain('{');
  } finally {
    detail = {};
  }
});

test('grant asks first; where nobody can be asked, nothing is granted', async () => {
  const { code, err } = await muster('grant', 'a1');
  expect(code).not.toBe(0);
  expect(err).toContain('Agree to it for anna?');
  expect(posted()).toEqual([]);
});

test('grant agrees to what it has shown, and says which job has started', async () => {
  const { code, out } = await muster('grant', 'a1', '--yes');
  expect([code, out]).toEqual([0, expect.stringMatching(/^granted: job j1$/m)]);
  expect(out).toMatch(/^Target +role:web$/m);
  expect(posted()).toEqual([[`${APPROVALS}/a1/grant`, { hash: 'f00d' }]]);
});

test('grant is refused to somebody who may not, before it asks, and says who may; what is decided is not asked about', async () => {
  try {
    detail = { may_grant: false };
    const { code, err } = await muster('grant', 'a1');
    expect([code, err]).toEqual([3, expect.stringContaining('That may: ops.')]);
    expect(err).not.toContain('Agree to it');
    expect(posted()).toEqual([]);
    await server?.close();
    detail = { may_grant: false, status: 'started' };
    expect((await muster('grant', 'a1')).code).toBe(0);
    expect(posted()).toHaveLength(1);
  } finally {
    detail = {};
  }
});

test('grant with --hash agrees to that and nothing else, and says who is missing', async () => {
  const { out } = await muster('grant', 'a1', '--hash', 'beef', '--yes');
  expect(out).toMatch(/^agreed: 1 other has to agree besides$/m);
  expect(posted()).toEqual([[`${APPROVALS}/a1/grant`, { hash: 'beef' }]]);
});

test('deny gives the reason to who asked', async () => {
  const { code, out } = await muster('deny', 'a1', '--reason', 'not today');
  expect([code, out]).toEqual([0, 'denied a1\n']);
  expect(posted()).toEqual([[`${APPROVALS}/a1/deny`, { reason: 'not today' }]]);
});

test('deny takes --yes as grant does, and does not ask', async () => {
  expect(await muster('deny', 'a1', '--yes')).toMatchObject({ code: 0, out: 'denied a1\n' });
});

test('a policy says which push jobs wait, and whoever makes it has to', async () => {
  const { code, err } = await muster('policy', 'set', 'many');
  expect([code, err]).toEqual([2, expect.stringContaining('say which push jobs wait')]);
  expect(server?.received).toEqual([]);
  await server?.close();
  const { out, err: note } = await muster('policy', 'set', 'many', '--above', '0', '--by', 'group:leads');
  expect(note).toContain('not there (yet): group:leads');
  expect(out).toBe('policy many: push jobs on any node wait for somebody else to agree (group:leads)\n');
});
