import { afterEach, expect, test } from 'vitest';
import { relayBelow, scriptedParent, stopAll } from './relay-support/start.js';

afterEach(stopAll);

test('a relay whose rights change while it connects for the first time tries again', async () => {
  const parent = await scriptedParent();
  parent.habits.welcomes = false;
  const relay = relayBelow(parent.url);
  await parent.until(() => parent.of('CONNECT').length === 1);
  parent.send('CONNECTED', [
    ['version', '1.2'],
    ['relay', 'true'],
  ]);
  await parent.until(() => parent.of('SUBSCRIBE').length === 1);
  parent.habits.welcomes = true;
  parent.send('ERROR', [
    ['code', 'event_revoked'],
    ['message', 'the rights have changed'],
  ]);
  await relay.port();
  expect(relay.status().upstream.last_error).toBe('the rights have changed');
});
