import { ManualClock } from '@muster/base';
import { expect, it } from 'vitest';
import { HOST_START_MS } from '../../src/limits.js';
import type { HostLink, HostLinkEvents } from '../../src/tasks/host-link.js';
import type { HostProcess } from '../../src/tasks/host-process.js';
import { ManagedHost } from '../../src/tasks/managed-host.js';
import type { HeldAttempt, ToHost } from '../../src/tasks/protocol.js';
import { silent } from '../support/agent.js';

const HELD: HeldAttempt = { id: 'a', attempt: 1, plugin: 'p', timeoutMs: null, graceMs: 1, ending: null, end: null };

/** A host that is connected, and what of its attempts is believed. */
function connected() {
  const clock = new ManualClock();
  const heard: string[] = [];
  const sent: ToHost[] = [];
  let host: HostLinkEvents = { message: () => undefined, closed: () => undefined };
  const process: Pick<HostProcess, 'link'> = {
    async link(events) {
      host = events;
      return { send: (message: ToHost) => sent.push(message), close: () => undefined } as unknown as HostLink;
    },
  };
  const managed: ManagedHost = new ManagedHost(
    { process: process as HostProcess, key: 'k', module: true, clock, epoch: () => 0 },
    silent,
    {
      held: (attempt) => {
        managed.attempts.set('1/a', attempt);
        heard.push(`held ${attempt.id}`);
      },
      news: ({ id, event }) => heard.push(`${event} ${id}`),
      ending: ({ id }) => heard.push(`ending ${id}`),
      output: ({ id }) => heard.push(`output ${id}`),
      closed: () => heard.push('closed'),
    },
  );
  const opened = managed.open();
  return { clock, heard, opened, hear: (message: Parameters<HostLinkEvents['message']>[0]) => host.message(message) };
}

it('a host that is connected and does not say what it has is not waited for, and not heard later', async () => {
  const { clock, heard, opened, hear } = connected();
  const refused = expect(opened).rejects.toThrow('the host process does not say what it has');
  clock.advance(HOST_START_MS);
  await refused;
  hear({ t: 'held', attempt: HELD });
  expect(heard).toEqual([]);
});

it('a host is heard of its own attempts only, and of what it has only once', async () => {
  const { heard, opened, hear } = connected();
  hear({ t: 'held', attempt: HELD });
  hear({ t: 'hello' });
  await opened;
  for (const id of ['a', 'b']) {
    hear({ t: 'news', news: { id, attempt: 1, event: 'started' } });
    hear({ t: 'output', id, attempt: 1, epoch: 0, stream: 'stdout', offset: 0, data: Buffer.from('x') });
  }
  hear({ t: 'held', attempt: { ...HELD, id: 'b' } });
  expect(heard).toEqual(['held a', 'started a', 'output a']);
});
