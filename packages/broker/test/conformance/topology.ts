import { describe, expect, test } from 'vitest';
import { Hands, type Suite, topologyOf } from './suite.js';

export function topologySuite(suite: Suite): void {
  describe('the topology', () => {
    test('is declared as often as one likes, and keeps what is in the queues', async () => {
      await suite.send('kept');
      await suite.broker.declare(topologyOf(suite.names));
      const other = await suite.another();
      await other.declare(topologyOf(suite.names));
      expect((await suite.drain(suite.names.queue, 1))[0]?.body.toString()).toBe('kept');
    });

    test('of a queue that is there with other properties is refused by its name', async () => {
      const topology = topologyOf(suite.names);
      const queues = topology.queues.map(({ name, kind }) => ({ name, kind }));
      const refused = suite.broker.declare({ ...topology, queues });
      await expect(refused).rejects.toMatchObject({
        code: 'broker_topology_differs',
        details: { name: suite.names.queue },
      });
    });

    test('that is removed takes its messages with it, and is made again empty', async () => {
      const { queue, exchange } = suite.names;
      await suite.send('gone');
      await suite.broker.remove(topologyOf(suite.names));
      await suite.broker.remove(topologyOf(suite.names));
      expect(await suite.broker.depths([queue])).toEqual([null]);
      const lost = suite.broker.publish({ exchange, key: queue, body: 'x' });
      await expect(lost).rejects.toMatchObject({ code: 'message_unroutable' });
      await suite.broker.declare(topologyOf(suite.names));
      expect(await suite.broker.depths([queue])).toMatchObject([{ ready: 0 }]);
    });

    test('that is made again is consumed again', async () => {
      const hands = new Hands();
      suite.broker.consume(suite.names.queue, { slots: 2, held: true }, hands.take);
      await suite.send('1');
      await hands.nth(1);
      await suite.broker.remove(topologyOf(suite.names));
      // RabbitMQ 3.10 ends the connection of who begins to consume a queue in the moment in which it goes.
      const declared = (): Promise<string> =>
        suite.broker.declare(topologyOf(suite.names)).then(
          () => 'declared',
          (error: { readonly code: string }) => error.code,
        );
      const tried: string[] = [];
      await expect.poll(async () => tried[tried.push(await declared()) - 1]).toBe('declared');
      expect(tried.every((how) => how === 'declared' || how === 'broker_unavailable')).toBe(true);
      await suite.send('2');
      await hands.nth(2);
      expect(hands.texts).toEqual(['1', '2']);
    });

    test('tells how much waits in each queue, and of a queue that is not there nothing', async () => {
      await suite.send('1');
      await suite.send('2');
      const depths = await suite.broker.depths([suite.names.dead, 'nowhere', suite.names.queue]);
      expect(depths).toMatchObject([{ ready: 0 }, null, { ready: 2 }]);
    });
  });
}
