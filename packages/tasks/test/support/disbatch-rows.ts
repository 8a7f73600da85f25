import { afterEach } from 'vitest';
import { type Asked, type Interface, openInterface } from './disbatch-interface.js';

/** What the tests of the rows of sheet §9.1 share. */

export const PLUGIN = 'Disbatch::Plugin::Demo';
export const DIALECTS = ['4.0', '4.4'] as const;

/** Opens interfaces that are closed after each test of the file that calls it. */
export function interfaces(): (asked?: Asked) => Promise<Interface> {
  const open: Interface[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  return async (asked = {}) => {
    const dci = await openInterface(asked);
    open.push(dci);
    return dci;
  };
}

export function heartbeat({ controller, test }: Interface): { id: string; node: string; seenAt: number } {
  const node = { id: controller.nextId(), node: 'mig01.example.com', seenAt: test.clock.now() };
  controller.shownNodes.push({ ...node, live: true, maxthreads: null, max: 4, running: 0, waiting: 0 });
  return node;
}

export async function queue(dci: Interface, name = 'demo'): Promise<string> {
  const { body } = await dci.post('/queues', { name, plugin: PLUGIN });
  return body.id.$oid ?? body.id;
}
