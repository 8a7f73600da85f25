import { type Incoming, MISSED } from '@muster/broker';
import { describe, expect, test } from 'vitest';
import { type Suite, until } from './suite.js';

export function topicSuite(suite: Suite): void {
  /** What is heard on a topic, once it is. */
  const listen = async (broker: Suite['broker'], name: string, ...keys: string[]) => {
    const heard: (Incoming | typeof MISSED)[] = [];
    const topic = { name: `${suite.names.topics}.${name}`, exchange: suite.names.topics, keys };
    const subscription = broker.subscribe(topic, (message) => void heard.push(message));
    await until(() => heard.length > 0);
    const texts = () => heard.map((message) => (message === MISSED ? '(missed)' : message.body.toString()));
    return { heard, texts, stop: () => subscription.stop() };
  };
  const send = (key: string, body: string) => suite.broker.publish({ exchange: suite.names.topics, key, body });

  describe('a topic', () => {
    test('tells once that some may have been missed, then what is for its keys, in order', async () => {
      const job = await listen(suite.broker, 'job', 'cmd.worker.jid.7.#');
      const worker = await listen(await suite.another(), 'worker', 'cmd.worker', 'cmd.worker.wid.*');
      await send('cmd.worker.jid.7', '1');
      await send('cmd.worker.jid.7.more.words', '2');
      await send('cmd.worker', '3');
      await send('cmd.worker.wid.9', '4');
      await until(() => job.texts().length === 3 && worker.texts().length === 3);
      expect(job.texts()).toEqual(['(missed)', '1', '2']);
      expect(worker.texts()).toEqual(['(missed)', '3', '4']);
      expect(job.heard[1]).toMatchObject({ exchange: suite.names.topics, key: 'cmd.worker.jid.7' });
    });

    test('is heard by all who hear it', async () => {
      const [one, two] = [await listen(suite.broker, 'a', 'x'), await listen(await suite.another(), 'b', 'x')];
      await send('x', '1');
      await until(() => one.texts().length === 2 && two.texts().length === 2);
    });

    test('that nobody hears any more leads to the alternate queue', async () => {
      const job = await listen(suite.broker, 'job', 'x');
      await job.stop();
      await send('x', 'late');
      expect(await suite.drain(suite.names.alternate, 1)).toMatchObject([{ key: 'x' }]);
      expect(job.texts()).toEqual(['(missed)']);
    });

    test('that is heard no more leaves the others as they are', async () => {
      const names = Array.from({ length: 8 }, (_, index) => `job${index}`);
      const all = await Promise.all(names.map((name) => listen(suite.broker, name, name)));
      const brief = names.map((name) => {
        const topic = { name: `${suite.names.topics}.brief.${name}`, exchange: suite.names.topics, keys: [name] };
        return suite.broker.subscribe(topic, () => undefined);
      });
      const [kept, ended] = [all.slice(0, 4), all.slice(4)];
      await Promise.all([...brief, ...ended].map(({ stop }) => stop()));
      await listen(suite.broker, 'after', 'after');
      for (const name of names) await send(name, name);
      await until(() => kept.every(({ texts }) => texts().length > 1));
      expect(kept.map(({ texts }) => texts())).toEqual(names.slice(0, 4).map((name) => ['(missed)', name]));
      expect(ended.map(({ texts }) => texts())).toEqual(ended.map(() => ['(missed)']));
    });

    test('goes with its process', async () => {
      const two = await suite.another();
      await listen(two, 'job', 'x');
      await suite.harness.kill(two);
      await until(async () => {
        await send('x', 'late');
        return ((await suite.broker.depths([suite.names.alternate]))[0]?.ready ?? 0) > 0;
      });
    });

    test('whose hearer fails goes on', async () => {
      const heard: string[] = [];
      const topic = { name: `${suite.names.topics}.failing`, exchange: suite.names.topics, keys: ['x'] };
      suite.broker.subscribe(topic, (message) => {
        heard.push(message === MISSED ? '(missed)' : message.body.toString());
        throw new Error('defect');
      });
      await until(() => heard.length === 1);
      await send('x', '1');
      await send('x', '2');
      await until(() => heard.length === 3);
      expect(heard).toEqual(['(missed)', '1', '2']);
    });
  });
}
