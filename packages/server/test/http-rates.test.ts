import { ManualClock } from '@muster/base';
import { Metrics } from '@muster/platform/metrics';
import { afterEach, describe, expect, test } from 'vitest';
import { RequestLimits } from '../../platform/src/http/rates.js';
import { startTestServer, type TestServer } from './support/test-server.js';

describe('requests are counted', () => {
  const clock = new ManualClock();
  const limits = new RequestLimits({ rates: { perAddress: 2, perPrincipal: 0 }, clock, metrics: new Metrics() });
  const ask = (times: number) => {
    for (let i = 0; i < times; i++) limits.fromAddress('10.0.0.1');
  };

  test('on the average of ten seconds; a pause makes up for a burst', () => {
    ask(20);
    expect(() => ask(1)).toThrow('address 10.0.0.1 makes more than 2 requests a second');
    limits.fromAddress('10.0.0.2');
    clock.advance(500);
    ask(1);
    expect(() => ask(1)).toThrow(
      expect.objectContaining({ status: 429, details: expect.objectContaining({ seconds: 1 }) }),
    );
    clock.advance(60_000);
    ask(20);
    expect(() => ask(1)).toThrow('2 requests a second');
  });

  test('not at all where the limit is 0', () => {
    for (let i = 0; i < 1000; i++) limits.byPrincipal('p', 'ann');
  });
});

describe('a server with few requests', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  test('answers 429 with Retry-After to a principal that makes too many, and goes on serving others', async () => {
    server = await startTestServer({ flags: { 'limits-requests-per-principal': '1' } });
    let last = await server.api.get('/organizations');
    for (let i = 0; i < 200 && last.status === 200; i++) last = await server.api.get('/organizations');
    expect(last.status).toBe(429);
    expect(last.headers.get('retry-after')).toMatch(/^[1-9]$/);
    expect(last.headers.get('x-muster-error')).toBe('rate_limited');
    expect((await server.api.as(null).get('/_status')).status).toBe(200);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/muster_http_requests_limited_total\{by="principal"\} [1-9]/);
  });

  test('looks at nothing of what an address sends that makes too many, whoever it says it is', async () => {
    server = await startTestServer({ flags: { 'limits-requests-per-address': '1' } });
    const statuses = new Set<number>();
    for (let i = 0; i < 200 && !statuses.has(429); i++)
      statuses.add((await server.api.as(null).get('/organizations')).status);
    expect(statuses.has(429)).toBe(true);
  });
});
