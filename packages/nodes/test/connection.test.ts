import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { LoopTurn, TURN_MS, TurnShare } from '@muster/base';
import { expect, it } from 'vitest';
import { Connection } from '../src/zmtp/connection.js';
import { Intake } from '../src/zmtp/intake.js';
import { NullMechanism } from '../src/zmtp/null-mechanism.js';
import { Unfinished } from '../src/zmtp/unfinished.js';

it('what a peer sent before it hung up is taken before its connection is over', async () => {
  let now = 0;
  const deferred: (() => void)[] = [];
  const turn = new LoopTurn(
    () => now,
    (work) => deferred.push(work),
  );
  const intake = new Intake(new TurnShare(turn));
  const busy = { pause: () => undefined, resume: () => undefined };
  // The turn is used up by somebody else.
  intake.take(busy, 1, () => {
    now += TURN_MS;
  });

  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect(port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  const ended: (string | null)[] = [];
  new Connection(accepted, {
    security: 'NULL',
    mechanism: new NullMechanism('ROUTER'),
    peers: ['DEALER'],
    frameLimit: 1000,
    unfinished: new Unfinished({ most: 1000, freeEach: 100 }),
    intake,
    now: () => now,
    admits: () => true,
    opened: () => ({ take: () => undefined, held: 0, waiting: false }),
    closed: (_connection, why) => ended.push(why),
  });
  client.resume();
  client.end('this is not ZMTP');
  await once(accepted, 'close');
  expect(ended).toEqual([]);
  while (deferred.length > 0) for (const work of deferred.splice(0)) work();
  expect(ended).toEqual(['not ZMTP']);
  server.close();
});
