import { header } from '@muster/fabric';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EventTree, LOGIN } from '../event-tree.js';
import { IdleFirewall } from '../idle-firewall.js';
import type { RelayProcess } from '../relay-process.js';
import { until } from '../until.js';
import { confirmed, heard, type Pairs, type Peer } from './peer.js';

const BEAT_MS = 1000;
const IDLE_MS = 2500;

export interface PeerAbilities {
  /** Escapes in headers, as from STOMP 1.1 on. */
  readonly escapes: boolean;
  /** Notices that it hears no more heart-beats. */
  readonly noticesSilence: boolean;
  /** Has its own port, other than that of STOMP over TCP. */
  readonly port?: (tree: EventTree, relay: RelayProcess) => { readonly root: number; readonly relay: number };
}

/** What any STOMP client can do, at a server and at a relay, which are killed and started again under it. */
export function describePeer(name: string, make: (tree: EventTree) => Peer, abilities: PeerAbilities): void {
  let tree: EventTree;
  let relay: RelayProcess;
  let ports: { readonly root: number; readonly relay: number };
  const peers: Peer[] = [];

  beforeAll(async () => {
    tree = await EventTree.start({ flags: ['--stomp-heartbeat', String(BEAT_MS / 1000)] });
    relay = await tree.relay('relay', tree.port, ['--heart-beat', `${BEAT_MS / 1000}s`]);
    ports = abilities.port?.(tree, relay) ?? { root: tree.port, relay: relay.port };
  });
  afterEach(async () => {
    await Promise.all(peers.splice(0).map((peer) => peer.stop()));
    await tree.hangUp();
  });
  afterAll(() => tree.stop());

  /** Connected. */
  async function started(port: number, heartBeatMs = 0): Promise<Peer> {
    const peer = make(tree);
    peers.push(peer);
    peer.obey({ order: 'connect', port, login: LOGIN, passcode: tree.token, heartBeatMs });
    await heard(peer, 'connected');
    return peer;
  }

  async function subscribed(peer: Peer, selector: string, ack = 'auto', more: Pairs = []): Promise<void> {
    peer.obey({ order: 'subscribe', id: '1', ack, headers: [['selector', selector], ['receipt', 'sub'], ...more] });
    await confirmed(peer, 'sub');
  }

  function send(peer: Peer, type: string, more: Pairs = []): void {
    peer.obey({ order: 'send', headers: [['type', type], ...more], body: `body of ${type}` });
  }

  /** When everything that it was told before is done. */
  async function settled(peer: Peer): Promise<void> {
    send(peer, 'settle', [['receipt', 'settled']]);
    await confirmed(peer, 'settled');
  }

  const numbers = (messages: readonly { readonly headers: Record<string, string> }[]) =>
    messages.map(({ headers }) => headers.n);

  describe.each(['root', 'relay'] as const)(`F1: ${name} at the %s`, (place) => {
    test('hears what its selector matches, with attributes and body', async () => {
      const peer = await started(ports[place]);
      await subscribed(peer, "celsius > 80 AND place = 'north'");
      const client = await tree.client(tree.port);
      const note = abilities.escapes ? 'a:b \\ c\nd' : 'plain';
      for (const [celsius, place] of [
        ['79', 'north'],
        ['81', 'south'],
        ['81.5', 'north'],
      ] as const) {
        client.publish(
          'temp',
          [
            ['celsius', celsius],
            ['place', place],
            ['note', note],
          ],
          'the\nbody',
        );
      }
      const [message] = await heard(peer, 'message');
      expect(message).toMatchObject({ headers: { type: 'temp', celsius: '81.5', note }, body: 'the\nbody' });
      await settled(peer);
      expect(peer.happenings.filter(({ event }) => event === 'message')).toHaveLength(1);
    });

    test('publishes, and is told that the event is stored', async () => {
      const client = await tree.client(tree.port);
      await client.subscribe('1', "type = 'told'");
      const peer = await started(ports[place]);
      const note = abilities.escapes ? 'a:b \\ c\nd' : 'plain';
      send(peer, 'told', [
        ['receipt', 'r1'],
        ['note', note],
      ]);
      await confirmed(peer, 'r1');
      const [message] = await client.messages(1);
      if (message === undefined) throw new Error('no message');
      expect([header(message, 'source'), header(message, 'note')]).toEqual([LOGIN, note]);
      expect(Buffer.from(message.body).toString()).toBe('body of told');
    });

    test.each([
      ['client', ['3']],
      ['client-individual', ['1', '3']],
    ])('with ack:%s hears again what it has not acknowledged', async (ack, again) => {
      const type = `work.${place}.${ack}`;
      const durable: Pairs = [['durable', `${place}-${ack}`]];
      const peer = await started(ports[place]);
      await subscribed(peer, `type = '${type}'`, ack, durable);
      for (const n of ['1', '2', '3']) send(peer, type, [['n', n]]);
      const messages = await heard(peer, 'message', 3);
      expect(numbers(messages)).toEqual(['1', '2', '3']);
      peer.obey({ order: 'ack', message: messages[1]?.headers ?? {} });
      await settled(peer);
      peer.obey({ order: 'disconnect' });
      await heard(peer, 'disconnected');
      const next = await started(ports[place]);
      await subscribed(next, `type = '${type}'`, ack, durable);
      send(next, type, [['n', 'new']]);
      expect(numbers(await heard(next, 'message', again.length + 1))).toEqual([...again, 'new']);
    });

    test('refuses a message, which comes again and is marked', async () => {
      const type = `refused.${place}`;
      const peer = await started(ports[place]);
      await subscribed(peer, `type = '${type}'`, 'client-individual', [['durable', type]]);
      send(peer, type, [['n', '1']]);
      const [first] = await heard(peer, 'message');
      peer.obey({ order: 'nack', message: first?.headers ?? {} });
      const [, second] = await heard(peer, 'message', 2);
      expect(second?.headers).toMatchObject({ n: '1', redelivered: 'true' });
    });

    test('publishes what it commits, and not what it aborts', async () => {
      const client = await tree.client(tree.port);
      await client.subscribe('1', "type LIKE 'transaction.%'");
      const peer = await started(ports[place]);
      for (const [transaction, end] of [
        ['t1', 'abort'],
        ['t2', 'commit'],
      ] as const) {
        peer.obey({ order: 'begin', transaction });
        send(peer, `transaction.${end}`, [['transaction', transaction]]);
        send(peer, `transaction.${end}`, [['transaction', transaction]]);
        peer.obey({ order: end, transaction });
      }
      send(peer, 'transaction.after');
      const types = (await client.messages(3)).map((each) => header(each, 'type'));
      expect(types).toEqual(['transaction.commit', 'transaction.commit', 'transaction.after']);
    });

    test('connects again when the process was killed and started again, and goes on hearing events', async () => {
      const peer = await started(ports[place]);
      await subscribed(peer, "type = 'hello'");
      send(peer, 'hello', [['n', 'before']]);
      await heard(peer, 'message');
      if (place === 'root') {
        await tree.cluster.killServer();
        await tree.cluster.restartServer();
        await relay.serving();
      } else {
        await relay.kill();
        await relay.restart();
      }
      await confirmed(peer, 'sub', 2);
      send(peer, 'hello', [['n', 'after']]);
      expect(numbers(await heard(peer, 'message', 2))).toEqual(['before', 'after']);
    });

    test('is told what is wrong with its selector', async () => {
      const peer = await started(ports[place]);
      peer.obey({ order: 'subscribe', id: '1', ack: 'auto', headers: [['selector', 'celsius >']] });
      const [error] = await heard(peer, 'error');
      expect(error?.headers.message).toMatch(/invalid selector at character/);
    });
  });

  test(`F1: ${name} is kept connected by heart-beats behind a path that forgets what is idle, to the root and to a relay`, async () => {
    const paths = await Promise.all([ports.root, ports.relay].map((port) => IdleFirewall.open(port, IDLE_MS)));
    const kept = await Promise.all(paths.map(({ port }) => started(port, BEAT_MS)));
    await Promise.all(kept.map((peer) => subscribed(peer, "type = 'late'")));
    const silent = await IdleFirewall.open(tree.port, IDLE_MS);
    await tree.client(silent.port);
    await until('a silent connection to be forgotten', () => silent.forgotten === 1);
    (await tree.client(tree.port)).publish('late');
    await Promise.all(kept.map((peer) => heard(peer, 'message')));
    expect(paths.map(({ forgotten }) => forgotten)).toEqual([0, 0]);
    await Promise.all(kept.map((peer) => abilities.noticesSilence && heard(peer, 'beat', 2)));
    for (const path of abilities.noticesSilence ? paths : []) path.restart();
    await Promise.all(kept.map((peer) => abilities.noticesSilence && heard(peer, 'silent')));
    await Promise.all([...paths, silent].map((path) => path.close()));
  });
}
