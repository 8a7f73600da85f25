import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTaskServer, type TaskServer } from '../support/task-server.js';

/** Calendars over HTTP. The clock stands at 2012-09-16, 0:00, a Sunday. */

let server: TaskServer;
beforeAll(async () => {
  server = await startTaskServer();
  await server.json({ method: 'POST', path: 'queues', body: { name: 'resize', plugin: 'p' } });
});
afterAll(() => server.close());

const WEEKEND = { name: 'weekend', timezone: 'Europe/Berlin', entries: [{ weekly: 'fri 18:00-mon 06:00' }] };
const NIGHTLY = { cron: '0 3 * * *', task: { queue: 'resize', params: {} } };

async function refused(response: Response): Promise<[number, string]> {
  const { error } = (await response.json()) as { error: string | string[] };
  return [response.status, [error].flat().join()];
}

describe('calendars', () => {
  it('that never open leave a schedule no time, and the server goes on', async () => {
    const always = { name: 'always', timezone: 'Europe/Berlin', entries: [{ weekly: 'mon-sun' }] };
    expect(await server.json({ method: 'POST', path: 'calendars', body: always })).toMatchObject({
      now: { goes_on: true, why: 'mon-sun' },
    });
    const crons = ['* * * * *', '0 3 * * *', '0 0 1 1 *'];
    for (const [cron, blackout] of crons.flatMap((each) => [[each, 'skip'] as const, [each, 'wait'] as const])) {
      const body = { ...NIGHTLY, name: 'never', cron, not_during: ['always'], blackout };
      const made = await server.json({ method: 'POST', path: 'schedules', body });
      expect(made).toMatchObject({ state: 'active', next_run: null, next_runs: [] });
      expect((await server.send({ method: 'DELETE', path: 'schedules/never' })).status).toBe(204);
    }
    expect((await server.send({ method: 'DELETE', path: 'calendars/always' })).status).toBe(204);
  });

  it('are made, shown, changed, heeded, and deleted when nothing heeds them', async () => {
    const created = await server.json({ method: 'POST', path: 'calendars', body: WEEKEND });
    expect(created).toMatchObject({
      ...{ ...WEEKEND, description: '' },
      now: { until: '2012-09-17T04:00:00.000Z', goes_on: false, why: 'fri 18:00-mon 06:00' },
    });
    expect(await server.json({ path: 'calendars' })).toEqual([created]);
    const schedule = { ...NIGHTLY, name: 's', not_during: ['weekend'] };
    const made = await server.json({ method: 'POST', path: 'schedules', body: schedule });
    expect(made).toMatchObject({
      ...{ not_during: ['weekend'], blackout: 'skip', waiting_for: null, next_run: '2012-09-18T03:00:00.000Z' },
      next_runs: ['2012-09-18', '2012-09-19', '2012-09-20', '2012-09-21', '2012-09-25'].map(
        (day) => `${day}T03:00:00.000Z`,
      ),
    });
    // Thousands of times one after the other fall into it.
    const often = await server.json({ method: 'PATCH', path: 'schedules/s', body: { cron: '* * * * *' } });
    expect(often).toMatchObject({ next_run: '2012-09-17T04:00:00.000Z' });
    await server.json({ method: 'PATCH', path: 'schedules/s', body: { cron: NIGHTLY.cron } });
    const waits = await server.json({ method: 'PATCH', path: 'schedules/s', body: { blackout: 'wait' } });
    expect(waits).toMatchObject({ next_run: '2012-09-17T04:00:00.000Z' });
    expect((waits as { next_runs: string[] }).next_runs.slice(0, 2)).toEqual([
      '2012-09-17T04:00:00.000Z',
      '2012-09-18T03:00:00.000Z',
    ]);
    const changes = { entries: [{ cron: '0 0 1 1 *', minutes: 1440, why: 'New Year' }] };
    expect(await server.json({ method: 'PATCH', path: 'calendars/weekend', body: changes })).toMatchObject({
      ...{ ...changes, timezone: 'Europe/Berlin', now: null },
    });
    await server.json({ method: 'POST', path: 'schedules', body: { ...schedule, name: 'another' } });
    const kept = await server.send({ method: 'DELETE', path: 'calendars/weekend' });
    expect(await refused(kept)).toEqual([409, expect.stringMatching(/heeded by schedule \w+, schedule \w+/)]);
    for (const name of ['s', 'another']) {
      await server.json({ method: 'PATCH', path: `schedules/${name}`, body: { not_during: [] } });
    }
    expect((await server.send({ method: 'DELETE', path: 'calendars/weekend' })).status).toBe(204);
    expect((await server.send({ path: 'calendars/weekend' })).status).toBe(404);
  });

  it.each([
    [{ timezone: 'Berlin' }, 'timezone'],
    [{ entries: [] }, 'entries'],
    [{ entries: [{ weekly: 'sat' }, { weekly: 'someday' }] }, 'entries[1]'],
    [{ entries: [{ dates: '2026-02-30' }] }, 'entries[0]'],
    [{ entries: [{ weekly: 'sat', colour: 1 }] }, 'entries'],
    [{ name: 'a b' }, 'name'],
  ])('with %j are refused by the name of the field', async (more, field) => {
    const [status, error] = await refused(
      await server.send({ method: 'POST', path: 'calendars', body: { ...WEEKEND, ...more } }),
    );
    expect([status, error]).toEqual([400, expect.stringContaining(field)]);
  });

  it('that are not there are heeded by nothing', async () => {
    const body = { ...NIGHTLY, name: 't', not_during: ['none'] };
    expect((await server.send({ method: 'POST', path: 'schedules', body })).status).toBe(404);
    const twice = await server.send({ method: 'POST', path: 'schedules', body: { ...body, not_during: ['a', 'a'] } });
    expect(await refused(twice)).toEqual([400, expect.stringContaining('not_during')]);
  });
});
