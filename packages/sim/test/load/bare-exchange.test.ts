import { once } from 'node:events';
import { createServer } from 'node:net';
import { bareExchange } from '@muster/sim';
import { expect, test } from 'vitest';

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

test('every simulated node answers every round over its own CURVE connection', async () => {
  const { rounds } = await bareExchange({ port: await freePort(), nodes: 7, rounds: 3 });
  expect(rounds).toHaveLength(3);
});
