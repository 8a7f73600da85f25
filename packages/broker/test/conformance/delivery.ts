import { describe, expect, test } from 'vitest';
import { Hands, type Suite, until } from './suite.js';

export function deliverySuite(suite: Suite): void {
  describe('a delivery', () => {
    test('holds a slot until it is settled; no more are under way than there are slots', async () => {
      const hands = new Hands();
      const consumer = suite.broker.consume(suite.names.queue, { slots: 2 }, hands.take);
      for (const text of ['1', '2', '3', '4']) await suite.send(text);
      await hands.nth(2);
      expect(await suite.broker.depths([suite.names.queue])).toMatchObject([{ ready: 2 }]);
      expect([hands.texts, consumer.held]).toEqual([['1', '2'], 2]);
      await (await hands.nth(1)).ack();
      await hands.nth(3);
      expect([hands.texts, consumer.held]).toEqual([['1', '2', '3'], 2]);
    });

    test('that was acknowledged never comes again', async () => {
      const hands = new Hands();
      suite.broker.consume(suite.names.queue, { slots: 1 }, hands.take);
      await suite.send('1');
      expect(await (await hands.nth(1)).ack()).toBe('settled');
      await suite.broker.close();
      const two = await suite.another();
      expect(await two.depths([suite.names.queue])).toMatchObject([{ ready: 0 }]);
    });

    test('is settled once', async () => {
      const hands = new Hands();
      suite.broker.consume(suite.names.queue, { slots: 1 }, hands.take);
      await suite.send('1');
      const delivery = await hands.nth(1);
      await delivery.ack();
      await expect(delivery.reject()).rejects.toThrow('was settled before');
    });

    test('that is given back comes again before those behind it, and says so', async () => {
      const hands = new Hands();
      suite.broker.consume(suite.names.queue, { slots: 1 }, hands.take);
      await suite.send('1');
      await suite.send('2');
      await (await hands.nth(1)).requeue();
      const again = await hands.nth(2);
      expect([again.body.toString(), again.redelivered]).toEqual(['1', true]);
      await again.ack();
      expect((await hands.nth(3)).redelivered).toBe(false);
    });

    test('may be given back as often as it takes', async () => {
      let count = 0;
      suite.broker.consume(suite.names.queue, { slots: 1 }, async (delivery) => {
        count += 1;
        await (count < 40 ? delivery.requeue() : delivery.ack());
      });
      await suite.send('1');
      await until(() => count === 40);
    });

    test('that is rejected goes to the dead letters, whole, and says where it died', async () => {
      const { queue, exchange, dead } = suite.names;
      await suite.broker.publish({ exchange, key: queue, id: 'j', headers: { a: 'b' }, body: 'bad' });
      const hands = new Hands();
      suite.broker.consume(queue, { slots: 1 }, hands.take);
      await (await hands.nth(1)).reject();
      const [letter] = await suite.drain(dead, 1);
      expect(letter).toMatchObject({ id: 'j', exchange, key: queue, headers: { a: 'b' } });
      expect(letter).toMatchObject({ death: { queue, reason: 'rejected' }, queue: dead });
      expect(letter?.body.toString()).toBe('bad');
    });

    test('whose handler fails goes to the dead letters, and others go on', async () => {
      const handled: string[] = [];
      suite.broker.consume(suite.names.queue, { slots: 1 }, async (delivery) => {
        const text = delivery.body.toString();
        if (text === 'rejected') throw new Error('defect');
        handled.push(text);
        await delivery.ack();
      });
      await suite.send('rejected');
      await suite.send('well');
      expect((await suite.drain(suite.names.dead, 1))[0]?.body.toString()).toBe('rejected');
      await until(() => handled.length === 1);
    });

    test('of a process that closes goes at once to another, and says that it may have been delivered before', async () => {
      const [one, two] = [new Hands(), new Hands()];
      suite.broker.consume(suite.names.queue, { slots: 2, held: true }, one.take);
      await suite.send('1');
      const first = await one.nth(1);
      const other = await suite.another();
      other.consume(suite.names.queue, { slots: 1, held: true }, two.take);
      await suite.broker.close();
      const again = await two.nth(1);
      expect([again.body.toString(), again.redelivered]).toEqual(['1', true]);
      expect(await first.ack()).toBe('lost');
      expect(await again.ack()).toBe('settled');
      await expect(suite.send('2')).rejects.toMatchObject({ code: 'broker_unavailable' });
    });

    test('of a process that is killed goes to another', async () => {
      const [one, two] = [new Hands(), new Hands()];
      suite.broker.consume(suite.names.queue, { slots: 1, held: true }, one.take);
      await suite.send('1');
      await one.nth(1);
      const other = await suite.another();
      other.consume(suite.names.queue, { slots: 1, held: true }, two.take);
      await suite.harness.kill(suite.broker);
      const again = await two.nth(1);
      expect([again.body.toString(), again.redelivered]).toEqual(['1', true]);
    });

    test('of a process that had nothing when others began, and is killed, goes to another', async () => {
      const [one, two] = [new Hands(), new Hands()];
      const other = await suite.another();
      const consumer = other.consume(suite.names.queue, { slots: 1, held: true }, two.take);
      await suite.send('0');
      await (await two.nth(1)).ack();
      consumer.setSlots(0);
      suite.broker.consume(suite.names.queue, { slots: 1, held: true }, one.take);
      await suite.send('1');
      await one.nth(1);
      await suite.harness.kill(suite.broker);
      consumer.setSlots(1);
      const again = await two.nth(2);
      expect([again.body.toString(), again.redelivered]).toEqual(['1', true]);
    });

    test('is kept by a consumer that takes nothing more, and the next comes when it takes again', async () => {
      const hands = new Hands();
      const consumer = suite.broker.consume(suite.names.queue, { slots: 2 }, hands.take);
      await suite.send('1');
      const first = await hands.nth(1);
      consumer.setSlots(0);
      await until(async () => {
        await suite.send('more');
        const [depth] = await suite.broker.depths([suite.names.queue]);
        return (depth?.ready ?? 0) > 1;
      });
      expect(consumer.held).toBe(1);
      await first.ack();
      const before = hands.deliveries.length;
      consumer.setSlots(2);
      await hands.nth(before + 2);
      expect(() => consumer.setSlots(3)).toThrow(RangeError);
    });

    test('is given back at once by a consumer that is stopped', async () => {
      const hands = new Hands();
      const consumer = suite.broker.consume(suite.names.queue, { slots: 1, held: true }, hands.take);
      await suite.send('1');
      const first = await hands.nth(1);
      await consumer.stop();
      expect(await first.ack()).toBe('lost');
      expect(await suite.drain(suite.names.queue, 1)).toMatchObject([{ redelivered: true }]);
    });
  });
}
