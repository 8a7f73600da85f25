import { LIMITS } from '@muster/broker';
import { describe, expect, test } from 'vitest';
import { type Suite, until } from './suite.js';

export function publishSuite(suite: Suite): void {
  describe('a message', () => {
    test('arrives as it was published, whatever bytes it has', async () => {
      const { exchange, queue } = suite.names;
      const body = Buffer.from([0, 255, 1, 0xc3, 0x28]);
      const headers = { msgType: 'SUBMIT_JOB', 'muster-ä': '"\\ ü' };
      await suite.broker.publish({ exchange, key: queue, id: 'job-1', headers, body });
      await suite.broker.publish({ exchange, key: queue, body: '' });
      const [first, second] = await suite.drain(queue, 2);
      expect(first).toMatchObject({ id: 'job-1', exchange, key: queue, headers, redelivered: false, death: null });
      expect(first?.body.equals(body)).toBe(true);
      expect(second?.body).toHaveLength(0);
      expect(second?.id).toMatch(/^[0-9a-f-]{36}$/);
    });

    test('is as large as the limit, and no larger', async () => {
      const { exchange, queue } = suite.names;
      const publish = (bytes: number) => suite.broker.publish({ exchange, key: queue, body: Buffer.alloc(bytes, 'x') });
      await publish(LIMITS.bodyBytes);
      await expect(publish(LIMITS.bodyBytes + 1)).rejects.toMatchObject({ code: 'message_too_large' });
      expect((await suite.drain(queue, 1))[0]?.body).toHaveLength(LIMITS.bodyBytes);
    });

    test('keeps its place among others', async () => {
      const sent = Array.from({ length: 50 }, (_, index) => String(index));
      for (const text of sent) await suite.send(text);
      expect((await suite.drain(suite.names.queue, 50)).map(({ body }) => body.toString())).toEqual(sent);
    });

    test('that leads nowhere arrives at the alternate queue, and says where it was to go', async () => {
      const { exchange, topics, alternate } = suite.names;
      await suite.broker.publish({ exchange, key: 'nobody', body: 'lost', id: 'a' });
      await suite.broker.publish({ exchange: topics, key: 'no.body', body: 'lost too', id: 'b' });
      const found = await suite.drain(alternate, 2);
      expect(found).toMatchObject([
        { id: 'a', exchange, key: 'nobody' },
        { id: 'b', exchange: topics, key: 'no.body' },
      ]);
    });

    test('that not even an alternate queue takes is refused', async () => {
      const nowhere = suite.broker.publish({ exchange: '', key: 'nobody', body: 'x' });
      await expect(nowhere).rejects.toMatchObject({ code: 'message_unroutable', details: { key: 'nobody' } });
      // Others are not concerned.
      const { alternate } = suite.names;
      await suite.broker.remove({ exchanges: [], queues: [{ name: alternate, kind: 'quorum' }], bindings: [] });
      const lost = suite.broker.publish({ exchange: suite.names.exchange, key: 'nobody', body: 'x' });
      await expect(lost).rejects.toMatchObject({ code: 'message_unroutable' });
      await suite.send('taken');
      await suite.drain(suite.names.queue, 1);
    });

    test('goes straight to a queue by its name', async () => {
      await suite.broker.publish({ exchange: '', key: suite.names.queue, body: 'x' });
      expect(await suite.drain(suite.names.queue, 1)).toMatchObject([{ exchange: '', key: suite.names.queue }]);
    });

    test('of a thousand at once, taken by two processes, is handled once each', async () => {
      const { queue } = suite.names;
      const two = await suite.another();
      const handled: string[] = [];
      for (const broker of [suite.broker, two]) {
        broker.consume(queue, { slots: 20 }, async (delivery) => {
          handled.push(delivery.id);
          await delivery.ack();
        });
      }
      const ids = Array.from({ length: 1000 }, (_, index) => `m${index}`);
      await Promise.all(ids.map((id) => suite.send('x', id)));
      await until(() => handled.length >= 1000);
      expect([...handled].sort()).toEqual([...ids].sort());
    });
  });
}
