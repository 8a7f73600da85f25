import { afterEach, expect, test } from 'vitest';
import { type Headers, header } from '../src/stomp/frame.js';
import { relayBelow, stopAll } from './relay-support/start.js';

// Needs a RabbitMQ with its STOMP plugin; where there is none, `npm test` leaves this file out and says so.
const RABBITMQ = 'stomp://127.0.0.1:61613';

afterEach(stopAll);

function relayBelowRabbitMq() {
  return relayBelow(RABBITMQ, { anonymous: true, login: 'guest', passcode: () => 'guest' });
}

/** Others may use the same RabbitMQ at the same time. */
const run = `r${process.pid}.${Date.now()}`;

test('clients of two relays below RabbitMQ hear each other, by content', async () => {
  const [one, other] = [relayBelowRabbitMq(), relayBelowRabbitMq()];
  const [publisher, follower] = [await one.client(), await other.client()];
  await follower.subscribe('hot', `run = '${run}' AND celsius > 80`);
  const celsius = ['79', '81', '90'];
  for (const each of celsius) {
    await publisher.ask(
      'SEND',
      [
        ['destination', '/topic/events'],
        ['type', 'temp'],
        ['run', run],
        ['celsius', each],
        ['odd:name', 'back\\slash'],
      ] satisfies Headers,
      `body\0${each}`,
    );
  }
  const messages = await follower.messages(2);
  expect(messages.map((message) => [header(message, 'celsius'), Buffer.from(message.body).toString()])).toEqual([
    ['81', 'body\x0081'],
    ['90', 'body\x0090'],
  ]);
  expect(messages.map((message) => header(message, 'odd:name'))).toEqual(['back\\slash', 'back\\slash']);
});

test('a receipt says that RabbitMQ has taken the event; B-9: who publishes hears it, too', async () => {
  const client = await relayBelowRabbitMq().client();
  await client.subscribe('1', `run = '${run}'`);
  await client.ask('SEND', [
    ['destination', '/topic/events'],
    ['type', 'a'],
    ['run', run],
  ]);
  const [message] = await client.messages(1);
  expect(message && header(message, 'type')).toBe('a');
});

test('a login that RabbitMQ refuses is said', async () => {
  const { relay } = relayBelow(RABBITMQ, { anonymous: true, login: 'guest', passcode: () => 'wrong' });
  const failure = await relay.failed;
  expect(failure.code).toBe('upstream_refused');
});
