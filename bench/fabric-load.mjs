/** A load generator of the fabric in a process of its own: does what its parent tells, see `fabric-driver.mjs`. */
import { Churner } from './fabric-churner.mjs';
import { Publisher } from './fabric-publisher.mjs';
import { Reader } from './fabric-reader.mjs';
import { protocols } from './fabric-wire.mjs';

/** Connections that are being opened: servers bound those that have not logged in. */
const AT_A_TIME = 100;
/** What a server says that has no time to log somebody in. */
const BUSY = /stomp_opening_timeout|too_busy/;
const ATTEMPTS = 8;
const BEAT_MS = 20_000;
const PATIENCE_MS = 60_000;

const progress = { received: 0 };
const MOST_LATENCIES = 4_000_000;
/** Events whose arrival at the root is remembered. */
const REMEMBERED = 1 << 20;

/** Milliseconds of events, as many as there is room for. */
class Latencies {
  #values = new Float64Array(MOST_LATENCIES);
  #count = 0;

  add(ms) {
    if (this.#count < MOST_LATENCIES) this.#values[this.#count++] = ms;
  }

  clear() {
    this.#count = 0;
  }

  shares(shares) {
    const sorted = this.#values.slice(0, this.#count).sort();
    return shares.map((share) => sorted[Math.floor(share * sorted.length)] ?? null);
  }
}

const latencies = { leaf: new Latencies(), root: new Latencies(), between: new Latencies() };
const arrivedAtRoot = new Float64Array(REMEMBERED);
const watchers = {
  root(now, published, seq) {
    latencies.root.add(now - published);
    arrivedAtRoot[seq % REMEMBERED] = now;
  },
  leaf(now, published, seq) {
    latencies.leaf.add(now - published);
    // Whoever is nearer is not always read first.
    latencies.between.add(Math.max(0, now - Math.max(published, arrivedAtRoot[seq % REMEMBERED])));
  },
};
let readers = [];
let publisher = null;
let churner = null;

const commands = {
  /**
   * {protocol, credentials, size, groups: [{attributes, fanout}], publish: port, clients: [{port, lanes, watch}]}
   * `watch`: `root` or `leaf`, to measure latencies there.
   */
  async prepare({ protocol: name, credentials, size, groups, publish, clients }) {
    const protocol = protocols[name];
    const events = groups.map(({ attributes, fanout }) => ({ ...protocol.event(attributes, size), fanout }));
    const bodySizes = events.map(({ bodySize }) => bodySize);
    const reader = ({ lanes, watch }) => new Reader(protocol, bodySizes, lanes, progress, watchers[watch] ?? null);
    readers = clients.map(reader);
    await openAll(clients, async (client, index) => {
      // Of an attempt before there may be a failed connection.
      if (readers[index].failure !== null) readers[index] = reader(client);
      await readers[index].open(client.port, credentials);
    });
    if (credentials.heartBeatMs > 0) {
      setInterval(() => {
        for (const { socket } of readers) socket.write('\n');
      }, BEAT_MS).unref();
    }
    if (publish === undefined) return;
    publisher = new Publisher(protocol, events, readers, progress);
    await publisher.open(publish, credentials);
    for (const { socket } of readers) socket.on('data', () => publisher.advance());
  },

  flood({ window }) {
    publisher.flood(window);
  },

  pace({ rate }) {
    publisher.pace(rate);
  },

  /** So far. */
  counts() {
    check();
    return { received: progress.received, events: publisher?.events ?? 0, atMs: performance.now() };
  },

  /** Forgets the latencies so far. */
  forget() {
    for (const each of Object.values(latencies)) each.clear();
  },

  /** By place: of each share of the events the longest. */
  latencies({ shares }) {
    return Object.fromEntries(Object.entries(latencies).map(([place, each]) => [place, each.shares(shares)]));
  },

  /** Publishes no more and waits until everything has come; fails if anything is missing, twice or out of order. */
  async settle() {
    publisher.stop();
    const end = performance.now() + PATIENCE_MS;
    while (!readers.every((reader) => reader.complete(publisher.published))) {
      check();
      if (performance.now() > end) throw new Error(`${publisher.expected - progress.received} events did not come`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    check();
  },

  /** {port, credentials, connections: [[selector]]} */
  async subscribeAll({ port, credentials, connections }) {
    churner = new Churner(port, credentials, connections);
    await churner.open();
  },

  churn() {
    churner.start();
  },

  churned() {
    return { pairs: churner.pairs, atMs: performance.now() };
  },

  /** Until every subscription is there again. */
  async rest() {
    await churner.rest();
  },

  close() {
    publisher?.close();
    for (const reader of readers) reader.close();
    churner?.close();
    [readers, publisher, churner] = [[], null, null];
    progress.received = 0;
  },
};

/** A server that is too busy does not log all in in time: those are opened again, with fewer at a time. */
async function openAll(clients, open) {
  const waiting = clients.map((client, index) => ({ client, index, attempts: 0 }));
  let atATime = AT_A_TIME;
  const opener = async (_, number) => {
    while (waiting.length > 0 && number < atATime) {
      const next = waiting.shift();
      try {
        await open(next.client, next.index);
      } catch (error) {
        next.attempts += 1;
        if (!BUSY.test(error.message) || next.attempts === ATTEMPTS) throw error;
        waiting.push(next);
        atATime = Math.ceil(atATime / 2);
      }
    }
  };
  while (waiting.length > 0) await Promise.all(Array.from({ length: AT_A_TIME }, opener));
}

process.on('message', async ({ id, command, options }) => {
  try {
    process.send({ id, result: await commands[command](options) });
  } catch (error) {
    process.send({ id, error: error.message });
  }
});
process.on('disconnect', () => process.exit());

function check() {
  const failed = [publisher, ...readers].find((each) => each !== null && each.failure !== null);
  if (failed !== undefined) throw new Error(failed.failure);
}
