import { header } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { ORG, useEventServer } from './support/event-server.js';

/** Who reads something, and follows events from the position that came with it, misses no change. */

const events = useEventServer();
const { as } = events;

const LISTS = ['pushy/node_states', 'pushy/jobs', 'queues', 'tasks', 'groups'];

const position = async (path: string) => {
  const { status, headers } = await events.api.get(`${ORG}/${path}`);
  return [status, headers.get('x-muster-position')];
};

describe('the position of the event log', () => {
  it.each([...LISTS, 'pushy/node_states/web1'])('comes with %s', async (path) => {
    const before = (await events.where()).position;
    const [status, told] = await position(path);
    expect(status).toBe(200);
    expect(Number(told)).toBeGreaterThanOrEqual(before);
  });

  it('comes also of what is not there, and with jobs whose paths name no organization', async () => {
    expect(await position('queues/none')).toEqual([404, expect.stringMatching(/^\d+$/)]);
    expect((await events.api.get('/jobs/v2')).headers.get('x-muster-position')).toMatch(/^\d+$/);
  });

  it('is not told strangers, nor with what changes something', async () => {
    for (const path of ['/_status', `${ORG}/queues`]) {
      expect((await events.api.as(null).get(path)).headers.get('x-muster-position')).toBeNull();
    }
    const made = await events.api.put(`${ORG}/groups/some`, {});
    expect([made.status < 300, made.headers.get('x-muster-position')]).toEqual([true, null]);
  });

  it('is one from which what changes afterwards is heard, first of all', async () => {
    const [, from] = await position('queues');
    await events.api.put(`${ORG}/groups/later`, {});
    const reader = await as('admin');
    await reader.subscribe("type LIKE 'auth.group.%'", [['from', String(from)]]);
    const heard = await reader.event();
    expect([header(heard, 'type'), header(heard, 'target')]).toEqual(['auth.group.set', 'later']);
  });
});
