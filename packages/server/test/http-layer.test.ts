import { once } from 'node:events';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { ManualClock } from '@muster/base';
import { EventStreams } from '@muster/platform/http';
import { Metrics } from '@muster/platform/metrics';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { HttpLayer } from '../src/http-layer.js';

test('whoever is being answered is waited for, also when a layer that is stopped meanwhile fails', async () => {
  const streams = new EventStreams({ clock: new ManualClock(), metrics: new Metrics() });
  const failing = { stop: () => Promise.reject(new Error('disk full')) };
  const http = new HttpLayer({ listen: '127.0.0.1:0', tls: false, streams, alongside: [failing] });
  const asked = new EventTarget();
  let answer: (text: string) => void = () => undefined;
  const answered = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const app = fastify().withTypeProvider<TypeBoxTypeProvider>();
  app.get('/', () => {
    asked.dispatchEvent(new Event('asked'));
    return answered;
  });
  http.app = app;
  await http.start();
  const reached = once(asked, 'asked');
  const reply = fetch(http.url);
  await reached;
  let over = false;
  const stopped = http.stop().finally(() => {
    over = true;
  });
  const refused = expect(stopped).rejects.toThrow('HTTP did not stop cleanly');
  await new Promise(setImmediate);
  expect(over).toBe(false);
  answer('done');
  expect(await (await reply).text()).toBe('done');
  await refused;
});
