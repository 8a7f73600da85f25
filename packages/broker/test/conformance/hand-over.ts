import { describe, expect, test } from 'vitest';
import { Hands, type Suite, until } from './suite.js';

export function handOverSuite(suite: Suite): void {
  const held = { slots: 1, held: true };
  describe('a message that comes again while it is in hand', () => {
    test('here, is attached to what is in hand, and gone with it', async () => {
      const hands = new Hands();
      const consumer = suite.broker.consume(suite.names.queue, { slots: 2, held: true }, hands.take);
      await suite.send('1', 'job');
      const first = await hands.nth(1);
      await suite.send('1', 'job');
      // The slot is free for others.
      await suite.send('2', 'other');
      const other = await hands.nth(2);
      expect(hands.texts).toEqual(['1', '2']);
      await until(async () => (await suite.broker.depths([suite.names.queue]))[0]?.ready === 0);
      expect(await first.ack()).toBe('settled');
      await other.ack();
      await consumer.stop();
      expect(await suite.broker.depths([suite.names.queue])).toMatchObject([{ ready: 0 }]);
    });

    test('elsewhere, is handed over to whoever has it, without a slot', async () => {
      const [one, two] = [new Hands(), new Hands()];
      suite.broker.consume(suite.names.queue, held, one.take);
      await suite.send('1', 'job');
      const first = await one.nth(1);
      const other = await suite.another();
      other.consume(suite.names.queue, held, two.take);
      await suite.send('1', 'job');
      expect(await (await two.nth(1)).handOver(suite.broker.holder)).toBe('settled');
      await suite.send('2', 'next');
      const next = await two.nth(2);
      expect(next.body.toString()).toBe('2');
      expect(one.deliveries).toHaveLength(1);
      // Once what was handed over is there, and not on its way, its slot is closed: it takes no other message beside it.
      await until(async () => ((await suite.harness.consumers?.(suite.names.queue)) ?? 1) === 1);
      await first.ack();
      await next.ack();
      await Promise.all([suite.broker.close(), other.close()]);
      const three = await suite.another('three');
      expect(await three.depths([suite.names.queue])).toMatchObject([{ ready: 0 }]);
    });

    test('and is handed over to a process that has none, comes back', async () => {
      const two = new Hands();
      const unused = suite.broker.consume(suite.names.queue, held, () => undefined);
      unused.setSlots(0);
      await until(() => suite.broker.status().connected);
      const other = await suite.another();
      await suite.send('1', 'job');
      other.consume(suite.names.queue, held, two.take);
      expect(await handedOver(() => two.nth(1), suite.broker.holder)).toBe('settled');
      const again = await two.nth(2);
      expect([again.id, again.body.toString(), again.redelivered]).toEqual(['job', '1', true]);
      expect([again.exchange, again.key]).toEqual([suite.names.exchange, suite.names.queue]);
    });

    test('and is handed over to a process that is killed, comes back', async () => {
      const [one, two] = [new Hands(), new Hands()];
      suite.broker.consume(suite.names.queue, held, one.take);
      await suite.send('1', 'job');
      await one.nth(1);
      const other = await suite.another();
      other.consume(suite.names.queue, held, two.take);
      await suite.send('1', 'job');
      await (await two.nth(1)).handOver(suite.broker.holder);
      await suite.harness.kill(suite.broker);
      // Both that it had.
      const again = await two.nth(2);
      expect(again.redelivered).toBe(true);
      await again.ack();
    });

    test('and is handed over to a process that was killed before, comes back or stays', async () => {
      const gone = await suite.another('gone');
      const [before, hands] = [new Hands(), new Hands()];
      gone.consume(suite.names.queue, held, before.take);
      await suite.send('1', 'job');
      await before.nth(1);
      suite.broker.consume(suite.names.queue, held, hands.take);
      await suite.harness.kill(gone);
      const taken = await hands.nth(1);
      const answer = await taken.handOver(gone.holder);
      const again = answer === 'refused' ? taken : await hands.nth(2);
      expect(again.body.toString()).toBe('1');
      expect(await again.ack()).toBe('settled');
    });
  });
}

/** Refused while the other process is about to begin. */
async function handedOver(delivery: () => Promise<{ handOver(holder: string): Promise<string> }>, holder: string) {
  const taken = await delivery();
  let answer = 'refused';
  await until(async () => {
    answer = await taken.handOver(holder);
    return answer !== 'refused';
  });
  return answer;
}
