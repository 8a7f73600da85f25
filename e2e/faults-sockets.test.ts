import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { hostileNode, hostilePeer } from './support/hostile.js';
import { forgetPeak, peakMib, residentMib } from './support/memory.js';
import { COMMAND, frame, greeting, MORE, RawConnection } from './support/raw-zmtp.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * Strangers, and a node that was admitted, who try to exhaust the server through its sockets for nodes. All the while a
 * command runs on two nodes; a node that misses its heartbeats would be crashed.
 */

/** docs/guarantees.md */
const MOST_GROWTH_MIB = 64;
const MIB = 1024 * 1024;
/** Descriptors of the server: those it needs itself, and some two hundred for others. */
const DESCRIPTORS = 600;
const IDLE = 900;
/** Another host, as far as the server can tell. */
const STRANGER = '127.0.0.2';

let cluster: Cluster;
let held: HeldCommand;
let job: string;
const open: RawConnection[] = [];

const heartbeatPort = (): number => cluster.ports[1] ?? 0;
const commandPort = (): number => cluster.ports[2] ?? 0;

beforeAll(async () => {
  const limited = async (dir: string) => ({
    through: ['sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$@"`, 'sh'],
    dir,
    seen: dir,
  });
  cluster = await Cluster.start({ disk: limited });
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents({ a: { commands }, b: { commands } });
  job = await cluster.startJob({ command: 'held', nodes: ['a', 'b'] });
  await cluster.nodeCountIn(job, 'running', 2);
});
afterAll(() => cluster.stop());
neverHarmed(() => cluster);

async function running(): Promise<string[]> {
  return [...((await cluster.job(job)).nodes.running ?? [])].sort();
}

async function subscriber(from?: string): Promise<RawConnection> {
  const connection = await RawConnection.subscriber(heartbeatPort(), from);
  open.push(connection);
  return connection;
}

/** Attacks, and sees that HTTP is answered beside it. */
async function beside(attack: Promise<void>): Promise<void> {
  let over = false;
  const attacking = attack.finally(() => {
    over = true;
  });
  let answers = 0;
  while (!over) {
    expect((await fetch(`${cluster.url}/_status`)).status).toBe(200);
    answers += 1;
  }
  await attacking;
  expect(answers).toBeGreaterThan(0);
}

let before = 0;

describe('attacks', () => {
  beforeEach(() => {
    before = residentMib(cluster.server.pid);
    forgetPeak(cluster.server.pid);
  });

  afterEach(async () => {
    for (const connection of open.splice(0)) connection.close();
    expect(peakMib(cluster.server.pid) - before).toBeLessThan(MOST_GROWTH_MIB);
    expect(await running()).toEqual(['a', 'b']);
  });

  describe('on the heartbeat socket', () => {
    test.each([
      ['a message', 0, Buffer.from([1])],
      ['a command', COMMAND, Buffer.from('\x09SUBSCRIBE', 'latin1')],
    ])('a subscription of 16 MiB as %s is refused by its length', async (_, flags, name) => {
      const subscription = Buffer.concat([name, Buffer.alloc(16 * MIB, 'x')]);
      await beside(
        (async () => {
          const connection = await subscriber();
          await connection.send(frame(flags, subscription));
          await connection.ended;
        })(),
      );
    });

    test('frames that always announce more are refused', async () => {
      const part = frame(MORE, Buffer.concat([Buffer.from([1]), Buffer.alloc(200, 'x')]));
      const parts = Buffer.concat(Array.from({ length: 4096 }, () => part));
      await beside(
        (async () => {
          for (let n = 0; n < 100; n++) {
            const connection = await subscriber();
            await connection.send(parts);
            await connection.ended;
          }
        })(),
      );
    });

    test('subscriptions to many topics are refused', async () => {
      await beside(
        (async () => {
          for (let n = 0; n < 100; n++) {
            const connection = await subscriber();
            const topics = Array.from({ length: 1000 }, (_, topic) => frame(0, Buffer.from(`\x01${n}-${topic}`)));
            await connection.send(Buffer.concat(topics));
            await connection.ended;
          }
        })(),
      );
    });

    test('subscribing and unsubscribing without end is refused', async () => {
      const both = Buffer.concat([frame(COMMAND, command('SUBSCRIBE')), frame(COMMAND, command('CANCEL'))]);
      const many = Buffer.concat(Array.from({ length: 10_000 }, () => both));
      await beside(
        (async () => {
          const connection = await subscriber();
          await connection.send(many);
          await connection.ended;
        })(),
      );
    });

    test('a subscriber that says nothing of the kind gets the heartbeat', async () => {
      const connection = await subscriber();
      await connection.send(frame(0, Buffer.from([1])));
      const greeted = connection.received;
      await until('the heartbeat comes', () => connection.received > greeted + 1000);
    });
  });

  describe('on the command socket', () => {
    test('a command of 16 MiB before the handshake is refused by its length', async () => {
      await beside(
        (async () => {
          const connection = new RawConnection(commandPort());
          open.push(connection);
          await connection.send(greeting('CURVE'));
          await connection.send(frame(COMMAND, Buffer.alloc(16 * MIB)));
          await connection.ended;
        })(),
      );
    });

    test('a message of 3,000 frames from an admitted node costs it its connection', async () => {
      const peer = await hostilePeer(await hostileNode(cluster.api, 'hostile'), true);
      const cut = new Promise<void>((resolve) => peer.events.on('disconnect', () => resolve()));
      const part = Buffer.alloc(60_000, 'x');
      await beside(
        (async () => {
          await peer.send(Array.from({ length: 3000 }, () => part));
          await cut;
        })(),
      );
      peer.close();
    });
  });

  describe('idle connections', () => {
    test.each([
      ['heartbeat', heartbeatPort],
      ['command', commandPort],
    ])(
      'to the %s socket, more than there are descriptors, leave some to HTTP and to nodes elsewhere',
      async (name, port) => {
        for (let n = 0; n < IDLE; n++) open.push(new RawConnection(port(), STRANGER));
        await until('those beyond the limit are closed', () => open.filter(({ closed }) => closed).length > IDLE / 2);
        expect((await fetch(`${cluster.url}/_status`)).status).toBe(200);
        await cluster.startAgents({ [`new-${name}`]: { commands: { quick: 'true' } } });
        const quick = await cluster.startJob({ command: 'quick', nodes: [`new-${name}`] });
        expect((await cluster.jobIs(quick, 'complete')).nodes).toEqual({ succeeded: [`new-${name}`] });
      },
    );
  });
});

test('and the command that ran through it all ends as it should', async () => {
  held.release();
  expect([...((await cluster.jobIs(job, 'complete')).nodes.succeeded ?? [])].sort()).toEqual(['a', 'b']);
  expect(held.runs).toEqual(['a', 'b']);
});

function command(name: string): Buffer {
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1')]);
}
