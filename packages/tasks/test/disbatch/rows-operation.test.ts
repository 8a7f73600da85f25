import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { BalanceAnswer } from '../../src/disbatch/balance/answer.js';
import type { Interface } from '../support/disbatch-interface.js';
import { heartbeat, interfaces, queue } from '../support/disbatch-rows.js';

/** The acceptance table of the original's own test scripts, by its numbers (sheet §9.1): info, monitoring, balance. */

const start = interfaces();

test('row 4: what there is', async () => {
  const dci = await start({ dialect: '4.4' });
  const { body } = await dci.get('/info');
  expect(body.database).toBe('default');
  expect(body.routes.GET).toContain('/tasks/:id');
  expect(body.routes.DELETE).toEqual(['/queues/:queue']);
  expect(body.dashboard).toEqual({ refresh_ms: 30_000, live_window_ms: 15_000 });
});

test('row 31: monitoring', async () => {
  const dci = await start({ dialect: '4.4' });
  expect((await dci.get('/monitoring')).body.disbatch).toEqual({
    status: 'WARNING',
    message: 'No Disbatch nodes found',
  });
  const { node } = heartbeat(dci);
  expect((await dci.get('/monitoring')).body).toEqual({
    disbatch: {
      status: 'OK',
      message: 'Disbatch is running on one or more nodes',
      nodes: { fresh: { [node]: 0 } },
    },
    queuebalance: { status: 'OK', message: 'queuebalance disabled' },
  });
  const [one] = dci.controller.shownNodes;
  if (one !== undefined) dci.controller.shownNodes[0] = { ...one, live: false, seenAt: one.seenAt - 20_000 };
  expect((await dci.get('/monitoring')).body.disbatch).toEqual({
    status: 'CRITICAL',
    message: 'No active Disbatch nodes found',
    nodes: { stale: { [node]: 20 } },
  });
  const off = await start({ settings: { monitoring: false } });
  expect((await off.get('/monitoring')).body.disbatch).toEqual({ status: 'OK', message: 'monitoring disabled' });
});

const PLAN = { max_tasks: { '* 07:00': 1, '* 19:00': 5 }, queues: [['bulk'], ['api'], ['oneoff']] };

async function balanced(): Promise<Interface> {
  const dci = await start({ dialect: '4.4' });
  for (const name of ['bulk', 'api', 'oneoff']) await queue(dci, name);
  return dci;
}

test('rows 32 and 33: the balance document, before and after it is set', async () => {
  const dci = await balanced();
  const before = await dci.send('GET', '/balance', { headers: { accept: 'text/html' } });
  expect(before.body).toEqual({
    known_queues: ['api', 'bulk', 'oneoff'],
    notice: 'balance document not found',
    settings: { enabled: false, pretend: false },
  });
  expect(await dci.post('/balance', PLAN)).toMatchObject({
    status: 200,
    body: { status: 'success: queuebalance modified' },
  });
  const after = (await dci.get('/balance')).body;
  expect(after).toMatchObject(PLAN);
  expect(after).not.toHaveProperty('notice');
  for (const answer of [before.body, after]) expect([...Value.Errors(BalanceAnswer, answer)]).toEqual([]);
});

test.each<[string, unknown]>([
  ['nothing', {}],
  ['day 7', { ...PLAN, max_tasks: { '7 07:00': 1 } }],
  ['value 1.1', { ...PLAN, max_tasks: { '* 07:00': 1.1 } }],
  ['a name with a space', { ...PLAN, queues: [['bu lk']] }],
  ['two names in one', { ...PLAN, queues: [['bulk,bulk']] }],
  ['a queue twice', { ...PLAN, queues: [['bulk'], ['bulk']] }],
  ['a group that is no list', { ...PLAN, queues: ['bulk'] }],
  ['queues as text', { ...PLAN, queues: 'bulk' }],
  ['times as text', { ...PLAN, max_tasks: '* 07:00' }],
  ['no queues', { max_tasks: PLAN.max_tasks }],
  ['no times', { queues: PLAN.queues }],
  ['another key', { ...PLAN, extra: 1 }],
  ['an unknown queue', { ...PLAN, queues: [['nowhere']] }],
  ['a past end', { ...PLAN, disabled: 1 }],
])('row 34: a balance document with %s is refused', async (_, body) => {
  const dci = await balanced();
  await dci.post('/balance', PLAN);
  const before = (await dci.get('/balance')).text;
  const refused = await dci.post('/balance', body);
  expect(refused.status).toBe(400);
  expect(Object.keys(refused.body)).toEqual(['status']);
  expect(refused.body.status).toMatch(/^failed: invalid json passed/);
  expect((await dci.get('/balance')).text).toBe(before);
});
