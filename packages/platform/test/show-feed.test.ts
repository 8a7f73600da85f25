import { ManualClock, TURN_MS } from '@muster/base';
import fastify from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { type FeedEvent, showFeed } from '../src/feeds/index.js';
import { passageOf } from '../src/http/passage.js';
import { EventStreams } from '../src/http/sse.js';
import { Metrics } from '../src/metrics/metrics.js';

const started: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of started.splice(0)) await stop();
});

it('a feed that has much to show without ever waiting leaves each turn of the event loop to others when its share is used up', async () => {
  const EVENTS = 100;
  let shown = 0;
  // Showing an event takes a millisecond of this clock.
  const clock = new ManualClock();
  const streams = new EventStreams({ clock, metrics: new Metrics() });
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRequest', async (request) => {
    passageOf(request).admission = { reader: 'p', watch: () => () => undefined };
  });
  const perTurn: number[] = [];
  async function* events(): AsyncGenerator<FeedEvent> {
    let before = 0;
    const others = (): void => {
      perTurn.push(shown - before);
      before = shown;
      if (shown < EVENTS) setImmediate(others);
    };
    setImmediate(others);
    while (shown < EVENTS) {
      clock.advance(1);
      yield { event: 'e', id: String(shown), data: { number: shown++ } };
    }
  }
  app.get('/feed', async (_request, reply) => {
    showFeed(reply, { streams, logger: app.log, keepaliveMs: 1000 }, events);
    return reply;
  });
  started.push(() => app.close());
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const text = await (await fetch(`${address}/feed`)).text();
  expect(text.match(/^id: /gm)).toHaveLength(EVENTS);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * TURN_MS);
});
