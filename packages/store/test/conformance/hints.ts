import { MISSED } from '@muster/store';
import { describe, expect, test } from 'vitest';
import { type Suite, silent, until } from './suite.js';

/** Told apart from texts. */
const missed = '(missed)';

export function hintsSuite(suite: Suite): void {
  const { openStore } = suite;
  const heardBy = async (store: Awaited<ReturnType<typeof openStore>>, topic: string) => {
    const heard: string[] = [];
    const stop = store.hints.listen(topic, (text) => heard.push(text === MISSED ? missed : text));
    await until(() => heard.length > 0);
    return { heard, stop };
  };

  describe('hints', () => {
    test('whoever listens is told once that it may have missed some, then hears those of its topic in order', async () => {
      const store = await openStore();
      const first = await heardBy(store, 'a');
      const second = await heardBy(store, 'a');
      const other = await heardBy(store, 'b');
      for (const text of ['1', '', 'ä "\'\\ 3']) store.hints.send('a', text);
      store.hints.send('b', 'last');
      await until(() => other.heard.length === 2);
      for (const { heard } of [first, second]) {
        expect(heard.filter((text) => text !== missed)).toEqual(['1', '', 'ä "\'\\ 3']);
      }
      expect(first.heard[0]).toBe(missed);
      expect(other.heard).toEqual([missed, 'last']);
    });

    test('who has stopped hears nothing more', async () => {
      const store = await openStore();
      const [one, other] = [await heardBy(store, 'a'), await heardBy(store, 'a')];
      one.stop();
      store.hints.send('a', 'x');
      await until(() => other.heard.includes('x'));
      expect(one.heard).toEqual([missed]);
    });

    test('whoever fails at it keeps nobody else from hearing', async () => {
      const errors: string[] = [];
      const store = await openStore({ log: { ...silent, error: (_detail, text) => errors.push(text) } });
      store.hints.listen('a', (text) => {
        if (text !== MISSED) throw new Error('defect');
      });
      const { heard } = await heardBy(store, 'a');
      store.hints.send('a', 'x');
      await until(() => heard.includes('x'));
      expect(errors).toEqual(['somebody who was given a hint failed']);
    });

    test('nor does who fails at hearing that it may have missed some', async () => {
      const errors: string[] = [];
      const store = await openStore({ log: { ...silent, error: (_detail, text) => errors.push(text) } });
      await heardBy(store, 'a');
      store.hints.listen('a', () => {
        throw new Error('defect');
      });
      await until(() => errors.length > 0);
      expect(errors).toEqual(['somebody who was given a hint failed']);
    });
  });
}
