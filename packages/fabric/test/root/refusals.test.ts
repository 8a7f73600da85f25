import { EVERY_TYPE, header } from '@muster/fabric';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, typesOf } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
/** Connected all the time, and never to be disturbed. */
let bystander: RawClient;
beforeAll(async () => {
  given = await RootFixture.start();
  given.authority.set('default/relay', { relay: true });
  given.authority.set('default/narrow', {
    publish: { granted: ['door.*'], restricted: [], open: [] },
    subscribe: { granted: ['door.*', 'alarm'], restricted: ['secret.*'], open: ['temp.*'] },
  });
  given.authority.set('default/nothing', { subscribe: { granted: [], restricted: [], open: [] } });
  bystander = await given.client('default/bystander');
  await bystander.subscribe('1');
});
afterAll(() => given.end());

let subscriptions = 0;
beforeEach(() => {
  subscriptions = given.root.subscriptions().subscriptions;
});

/** What is wrong, what is sent after CONNECTED, code of the ERROR, and what its message must name. */
const SENT: readonly [wrong: string, text: string, code: string, names: string, login?: string][] = [
  // frames
  ['a command that does not exist', 'SHOUT\n\n\0', 'stomp_unknown_command', 'SHOUT'],
  ['garbage', '\x16\x03\x01\x02', 'stomp_unknown_command', '\\u0016'],
  ['a header without colon', 'SEND\ndestination\n\n\0', 'stomp_invalid_header', 'destination'],
  ['a header without name', 'SEND\n:x\n\n\0', 'stomp_invalid_header', 'no name'],
  ['an undefined escape', 'SEND\ndestination:\\t\n\n\0', 'stomp_invalid_escape', '\\\\t'],
  ['a content-length that is no number', 'SEND\ncontent-length:-1\n\n\0', 'stomp_invalid_content_length', '-1'],
  [
    'a content-length beyond the limit',
    'SEND\ncontent-length:99999999\n\n',
    'stomp_too_large',
    'the body of a SEND frame is beyond the limit of 4096 bytes (events.max_size)',
  ],
  ['a body longer than its content-length', 'SEND\ncontent-length:1\n\nab\0', 'stomp_invalid_frame', 'NUL'],
  [
    'a body without end',
    `SEND\ndestination:/topic/events\ntype:a\n\n${'x'.repeat(5000)}`,
    'stomp_too_large',
    '(events.max_size)',
  ],
  ['too long a header', `SEND\nx:${'y'.repeat(20_000)}`, 'stomp_too_large', 'head'],
  ['too many headers', `SEND\n${'a:b\n'.repeat(200)}\n\0`, 'stomp_too_large', 'header count'],
  ['too long a header name', `SEND\n${'n'.repeat(300)}:b\n\n\0`, 'stomp_invalid_header', '256'],
  ['a header that is not UTF-8', 'SEND\nx:\xff\xfe\n\n\0', 'stomp_invalid_frame', 'UTF-8'],
  ['a body where none may be', 'BEGIN\ntransaction:a\n\nbody\0', 'stomp_invalid_frame', 'body'],
  ['a second CONNECT', 'CONNECT\naccept-version:1.2\n\n\0', 'stomp_connected', 'CONNECT'],
  ['a frame for servers', 'MESSAGE\nsubscription:1\n\n\0', 'stomp_server_frame', 'MESSAGE'],
  // SEND
  ['SEND without destination', 'SEND\ntype:a\n\n\0', 'stomp_missing_header', "'destination'"],
  ['SEND to elsewhere', 'SEND\ndestination:/queue/x\ntype:a\n\n\0', 'stomp_destination', '/queue/x'],
  ['SEND without type', 'SEND\ndestination:/topic/events\n\n\0', 'stomp_missing_header', "'type'"],
  ['SEND with an empty type', 'SEND\ndestination:/topic/events\ntype:\n\n\0', 'event_type', "'type'"],
  [
    'SEND with a type of other characters',
    'SEND\ndestination:/topic/events\ntype:a b\n\n\0',
    'event_type',
    "not 'a b'",
  ],
  ['SEND with too long a type', `SEND\ndestination:/topic/events\ntype:${'t'.repeat(129)}\n\n\0`, 'event_type', '128'],
  ...['org', 'source', 'source-kind', 'time', 'message-id', 'subscription', 'ack', 'position', 'redelivered'].map(
    (name): [string, string, string, string] => [
      `SEND with the reserved attribute ${name}`,
      `SEND\ndestination:/topic/events\ntype:a\n${name}:x\n\n\0`,
      'event_reserved',
      `'${name}'`,
    ],
  ),
  [
    'an event beyond the limit',
    `SEND\ndestination:/topic/events\ntype:a\nx:${'y'.repeat(4000)}\n\n${'z'.repeat(100)}\0`,
    'event_too_large',
    '4096',
  ],
  [
    'SEND with a time that is none',
    'SEND\ndestination:/topic/events\ntype:a\nat:soon\n\n\0',
    'stomp_header_value',
    "'at'",
  ],
  [
    'SEND for others',
    'SEND\ndestination:/topic/events\ntype:a\non-behalf:default/x\n\n\0',
    'stomp_relays_only',
    'on-behalf',
  ],
  [
    'SEND that says for whom of others',
    'SEND\ndestination:/topic/events\ntype:a\non-behalf-kind:user\n\n\0',
    'stomp_relays_only',
    'on-behalf-kind',
  ],
  [
    'SEND of a type that is denied',
    'SEND\ndestination:/topic/events\ntype:temp.high\n\n\0',
    'event_publish_denied',
    "`muster event access grant publish 'temp.high' --client narrow`",
    'default/narrow',
  ],
  [
    'SEND of a type that nobody may publish',
    'SEND\ndestination:/topic/events\ntype:push.start\n\n\0',
    'event_publish_denied',
    'Choose another type: nobody publishes what Muster itself tells (approval.*, audit.*, auth.*, event.*,',
    'default/narrow',
  ],
  [
    'SEND in no transaction',
    'SEND\ndestination:/topic/events\ntype:a\ntransaction:t\n\n\0',
    'stomp_transaction_missing',
    "'t'",
  ],
  [
    'a hold of somebody who is no relay',
    'SEND\ndestination:/muster/hold\nsubscription:1\nafter:0\n\n\0',
    'stomp_relays_only',
    '/muster/hold',
  ],
  [
    'a release of somebody who is no relay',
    'SEND\ndestination:/muster/release\nsubscription:1\n\n\0',
    'stomp_relays_only',
    '/muster/release',
  ],
  ['a login for others', 'SEND\ndestination:/muster/login\nrequest:1\n\n{}\0', 'stomp_relays_only', '/muster/login'],
  // SUBSCRIBE
  ['SUBSCRIBE without id', 'SUBSCRIBE\ndestination:/topic/events\n\n\0', 'stomp_missing_header', "'id'"],
  ['SUBSCRIBE without destination', 'SUBSCRIBE\nid:9\n\n\0', 'stomp_missing_header', "'destination'"],
  ['SUBSCRIBE to elsewhere', 'SUBSCRIBE\nid:9\ndestination:/topic/other\n\n\0', 'stomp_destination', '/topic/other'],
  [
    'SUBSCRIBE with an id that is in use',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\n\n\0'.repeat(2),
    'stomp_subscription_exists',
    "'9'",
  ],
  [
    'a selector that is none',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nselector:a = \n\n\0',
    'event_selector',
    'character',
  ],
  [
    'an unescaped quote in a selector (S-5)',
    "SUBSCRIBE\nid:9\ndestination:/topic/events\nselector:a = 'x'y'\n\n\0",
    'event_selector',
    'character 7',
  ],
  [
    'too long a selector (S-4)',
    `SUBSCRIBE\nid:9\ndestination:/topic/events\nselector:${'a = 1 OR '.repeat(500)}a = 1\n\n\0`,
    'event_selector',
    '4072',
  ],
  [
    'an ack mode that does not exist',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nack:maybe\n\n\0',
    'stomp_header_value',
    'client-individual',
  ],
  [
    'a slow policy that does not exist',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nslow:block\n\n\0',
    'stomp_header_value',
    'drop-oldest',
  ],
  [
    'a start that is none',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nfrom:yesterday\n\n\0',
    'stomp_header_value',
    "'from'",
  ],
  [
    'durable without acknowledgements',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\ndurable:d\n\n\0',
    'stomp_header_value',
    'ack:client',
  ],
  [
    'durable with a bad name',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\ndurable:a b\nack:client\n\n\0',
    'stomp_header_value',
    "'durable'",
  ],
  [
    'a policy for dropping where nothing is dropped',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nfrom:first\nslow:drop-oldest\n\n\0',
    'stomp_header_value',
    "'slow'",
  ],
  [
    'SUBSCRIBE for others',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\non-behalf:default/x\n\n\0',
    'stomp_relays_only',
    'on-behalf',
  ],
  [
    'SUBSCRIBE to types that are denied',
    "SUBSCRIBE\nid:9\ndestination:/topic/events\nselector:type IN ('secret.a', 'other') AND x = 1\n\n\0",
    'event_subscribe_denied',
    "type 'secret.a', 'other'. Ask an admin for it: `muster event access grant subscribe 'secret.a' --client narrow`",
    'default/narrow',
  ],
  [
    'SUBSCRIBE of one who may follow nothing',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\n\n\0',
    'event_subscribe_denied',
    '*',
    'default/nothing',
  ],
  ['UNSUBSCRIBE of what is not subscribed', 'UNSUBSCRIBE\nid:9\n\n\0', 'stomp_subscription_missing', "'9'"],
  [
    'UNSUBSCRIBE that names a durable subscription where there is none',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nfrom:first\n\n\0UNSUBSCRIBE\nid:9\ndurable:d\n\n\0',
    'stomp_header_value',
    'is not durable',
  ],
  ['UNSUBSCRIBE without id', 'UNSUBSCRIBE\n\n\0', 'stomp_missing_header', "'id'"],
  // acknowledgements and transactions
  ['ACK without id', 'ACK\n\n\0', 'stomp_missing_header', "'id'"],
  ['ACK of nothing', 'ACK\nid:nothing\n\n\0', 'stomp_acknowledgement', "'id'"],
  [
    'ACK of what was never delivered',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\nack:client\n\n\0ACK\nid:1-99999\n\n\0',
    'stomp_acknowledgement',
    "'id'",
  ],
  [
    'NACK of what needs no acknowledgement',
    'SUBSCRIBE\nid:9\ndestination:/topic/events\n\n\0NACK\nid:1-1\n\n\0',
    'stomp_acknowledgement',
    "'id'",
  ],
  ['BEGIN without name', 'BEGIN\n\n\0', 'stomp_missing_header', "'transaction'"],
  ['BEGIN twice', 'BEGIN\ntransaction:t\n\n\0BEGIN\ntransaction:t\n\n\0', 'stomp_transaction_exists', "'t'"],
  [
    'too many transactions',
    Array.from({ length: 17 }, (_, n) => `BEGIN\ntransaction:t${n}\n\n\0`).join(''),
    'stomp_too_many',
    '16',
  ],
  [
    'too much in transactions',
    `BEGIN\ntransaction:t\n\n\0${'SEND\ndestination:/topic/events\ntype:a\ntransaction:t\n\n\0'.repeat(1001)}`,
    'stomp_too_many',
    '1000',
  ],
  ['COMMIT of nothing', 'COMMIT\ntransaction:t\n\n\0', 'stomp_transaction_missing', "'t'"],
  ['ABORT of nothing', 'ABORT\ntransaction:t\n\n\0', 'stomp_transaction_missing', "'t'"],
];

describe('whatever is wrong is answered with an ERROR that names it, and disturbs nobody', () => {
  test.for(SENT)('%s', async ([, text, code, names, login = 'default/client']) => {
    const client = await given.client(login);
    client.write(text);
    const error = await client.error();
    expect(header(error, 'code')).toBe(code);
    expect(header(error, 'message')).toContain(names);
    bystander.publish('still.there');
    expect(typesOf(await bystander.messages(1))).toEqual(['still.there']);
    expect(bystander.frames).toEqual([]);
    expect(given.root.subscriptions().subscriptions).toBe(subscriptions);
  });

  /** Before anybody is logged in. */
  const CONNECTS: readonly [wrong: string, text: string, code: string, names: string][] = [
    ['another frame first', 'SEND\ndestination:/topic/events\ntype:a\n\n\0', 'stomp_not_connected', 'SEND'],
    [
      'another frame with a body first',
      'SEND\ndestination:/topic/events\ntype:a\n\nbody\0',
      'stomp_not_connected',
      'SEND',
    ],
    ['another large frame first', `SEND\nx:${'y'.repeat(9000)}\n\n\0`, 'stomp_not_connected', 'SEND'],
    ['a CONNECT with a body', 'CONNECT\naccept-version:1.2\n\nbody\0', 'stomp_invalid_frame', 'body'],
    ['HTTP', 'GET / HTTP/1.1\r\n\r\n', 'stomp_not_stomp', 'GET'],
    [
      'no version in common',
      'CONNECT\naccept-version:2.0,3.1\nlogin:a/b\npasscode:secret\n\n\0',
      'stomp_version',
      '2.0,3.1',
    ],
    ['no login', 'CONNECT\naccept-version:1.2\npasscode:secret\n\n\0', 'stomp_missing_header', "'login'"],
    ['no passcode', 'CONNECT\naccept-version:1.2\nlogin:a/b\n\n\0', 'stomp_missing_header', "'passcode'"],
    [
      'a heart-beat that is none',
      'CONNECT\naccept-version:1.2\nlogin:a/b\npasscode:secret\nheart-beat:often\n\n\0',
      'stomp_header_value',
      "'heart-beat'",
    ],
    [
      'rights that are none',
      'CONNECT\naccept-version:1.2\nlogin:a/b\npasscode:secret\nrights:all\n\n\0',
      'stomp_header_value',
      'must be follow',
    ],
    [
      'the wrong passcode',
      'CONNECT\naccept-version:1.2\nlogin:default/a\npasscode:wrong\n\n\0',
      'login_refused',
      'login refused',
    ],
    ['too much before the login', `CONNECT\nx:${'y'.repeat(9000)}`, 'stomp_too_large', '8192'],
  ];

  test.for(CONNECTS)('at CONNECT: %s', async ([, text, code, names]) => {
    const client = given.raw();
    client.write(text);
    const error = await client.error();
    expect(header(error, 'code')).toBe(code);
    expect(header(error, 'message')).toContain(names);
    expect(client.frames).toHaveLength(1);
  });

  /** What relays do wrong is their clients' doing, mostly, and must not disturb all the others. */
  const RELAYED: typeof CONNECTS = [
    [
      'SEND of a relay for somebody of another organization',
      'SEND\ndestination:/topic/events\ntype:a\non-behalf:other/x\n\n\0',
      'stomp_header_value',
      'default/NAME',
    ],
    ['a login that is no JSON', 'SEND\ndestination:/muster/login\nrequest:1\n\n{\0', 'stomp_invalid_frame', 'login'],
    [
      'a hold without position',
      'SEND\ndestination:/muster/hold\nsubscription:1\nafter:x\n\n\0',
      'stomp_header_value',
      "'after'",
    ],
    ['a release of nothing', 'SEND\ndestination:/muster/release\n\n\0', 'stomp_missing_header', "'subscription'"],
    ['a login without number', 'SEND\ndestination:/muster/login\n\n{}\0', 'stomp_missing_header', "'request'"],
  ];

  test.for(RELAYED)('a relay is told, and stays: %s', async ([, text, code, names]) => {
    const relay = await given.client('default/relay');
    relay.write(text);
    const [refusal] = await relay.messages(1);
    expect(refusal === undefined ? null : header(refusal, 'subscription')).toBe('/temp-queue/refused');
    expect(refusal === undefined ? null : header(refusal, 'code')).toBe(code);
    expect(refusal === undefined ? null : header(refusal, 'message')).toContain(names);
    await relay.barrier();
  });

  test('an ERROR says which frame it is about, when that has a receipt', async () => {
    const client = await given.client();
    client.send('SUBSCRIBE', [
      ['destination', '/topic/events'],
      ['receipt', 'r:7'],
    ]);
    expect(header(await client.error(), 'receipt-id')).toBe('r:7');
  });

  test('nothing that follows a refused frame is done', async () => {
    const client = await given.client();
    const before = given.log.last();
    client.write('SEND\ndestination:/nowhere\n\n\0SEND\ndestination:/topic/events\ntype:late\n\n\0');
    await client.error();
    expect(given.log.last()).toBe(before);
  });

  test('what a refused client published before stays published', async () => {
    const client = await given.client();
    client.write('SEND\ndestination:/topic/events\ntype:before\n\n\0SEND\ndestination:/nowhere\n\n\0');
    await client.error();
    expect(typesOf(await bystander.messages(1))).toEqual(['before']);
  });

  test('protocol errors and refused selectors are counted', async () => {
    const { protocolErrors, selectorsRefused } = given.root.metrics;
    const client = await given.client();
    client.write('SUBSCRIBE\nid:1\ndestination:/topic/events\nselector:=\n\n\0');
    await client.error();
    expect(given.root.metrics.protocolErrors).toBe(protocolErrors + 1);
    expect(given.root.metrics.selectorsRefused).toBe(selectorsRefused + 1);
  });

  test('an event of exactly the limit is published', async () => {
    const client = await given.client();
    const type = 'type:exact\n';
    client.publish('exact', [], 'x'.repeat(4096 - type.length));
    expect(typesOf(await bystander.messages(1))).toEqual(['exact']);
    expect(EVERY_TYPE.open).toEqual(['*']);
  });

  test('a type that is granted may be published and followed, by who may do little else', async () => {
    const client = await given.client('default/narrow');
    await client.subscribe('1');
    client.publish('door.open');
    bystander.publish('secret.a');
    bystander.publish('temp.low');
    bystander.publish('other');
    expect(typesOf(await client.messages(2))).toEqual(['door.open', 'temp.low']);
    await bystander.messages(4);
    await client.barrier();
    expect(client.frames).toEqual([]);
  });
});
