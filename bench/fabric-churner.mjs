import { Connection } from './fabric-reader.mjs';
import { stomp } from './fabric-wire.mjs';

/** Pairs of UNSUBSCRIBE and SUBSCRIBE that are answered by one receipt. */
const BATCH = 50;

/** Connections with many subscriptions each, which they end and begin again as fast as the server takes it. */
export class Churner {
  pairs = 0;
  #port;
  #credentials;
  #clients;
  #going = false;

  /** @param connections the selectors of each */
  constructor(port, credentials, connections) {
    this.#port = port;
    this.#credentials = credentials;
    this.#clients = connections.map((selectors) => ({
      connection: new Connection(stomp),
      first: selectors.map(subscribe).join(''),
      batches: batchesOf(selectors),
    }));
  }

  async open() {
    for (const { connection, first } of this.#clients) {
      await connection.open(this.#port, this.#credentials);
      await connection.ask(`${first}${RECEIPT}`, isReceipt);
    }
  }

  start() {
    this.#going = true;
    for (const client of this.#clients) client.done = this.#churn(client);
    // Whoever fails is heard of by `rest`.
    for (const { done } of this.#clients) done.catch(() => undefined);
  }

  async rest() {
    this.#going = false;
    await Promise.all(this.#clients.map(({ done }) => done));
  }

  close() {
    for (const { connection } of this.#clients) connection.close();
  }

  async #churn({ connection, batches }) {
    for (let next = 0; this.#going; next = (next + 1) % batches.length) {
      const { pairs, bytes } = batches[next];
      await connection.ask(bytes, isReceipt);
      this.pairs += pairs;
    }
  }
}

/** An empty transaction is the cheapest that gets a receipt. */
const RECEIPT = 'BEGIN\ntransaction:t\n\n\0ABORT\ntransaction:t\nreceipt:r\n\n\0';

function isReceipt(text) {
  return text.startsWith('RECEIPT');
}

function batchesOf(selectors) {
  const batches = [];
  for (let from = 0; from < selectors.length; from += BATCH) {
    const some = selectors.slice(from, from + BATCH);
    const frames = some.map((selector, n) => `UNSUBSCRIBE\nid:${from + n}\n\n\0${subscribe(selector, from + n)}`);
    batches.push({ pairs: some.length, bytes: Buffer.from(frames.join('') + RECEIPT, 'latin1') });
  }
  return batches;
}

function subscribe(selector, id) {
  return `SUBSCRIBE\nid:${id}\ndestination:/topic/events\nselector:${selector}\n\n\0`;
}
