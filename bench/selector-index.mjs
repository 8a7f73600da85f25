import { compileText, parseSelector, SelectorIndex } from '@muster/selector';
import { Connection } from 'rabbitmq-client';
import { rounded } from './api.mjs';
import { selectorOf, subscriptionsOf } from './emulab.mjs';
import { startRabbitMq } from './rabbitmq.mjs';
import { median } from './server.mjs';

export const about =
  'one event against the subscriptions of N nodes, 10 each, by content; and churn (--nodes, --rounds)';
export const defaults = { nodes: 10_000, rounds: 7 };

const EVENTS = 20_000;
const EVALUATED_EVENTS = 20;
const TARGET_MICROSECONDS = 20;
const TARGET_TIMES_FASTER = 1000;
const TARGET_CHURN = 50_000;

const PEER_NODES = 1000;
const PEER_EVENTS = 200;
const PEER_ROUNDS = 3;
const PEER_TARGET_TIMES_FASTER = 20;

/** The floor evaluates the selector of every subscription on the event. */
export async function* run({ nodes, rounds }) {
  const selectors = selectorsOf(nodes);
  const index = new SelectorIndex();
  const entries = selectors.map((selector) => index.add(parse(selector), selector));
  const details = { subscriptions: index.size, unindexed: index.stats().unindexed };

  const samples = Array.from({ length: rounds }, () => microsecondsToMatch(index, nodes));
  const value = median(samples);
  const floor = microsecondsToEvaluate(selectors, nodes);
  yield {
    figure: 'selector-index',
    value: rounded(value),
    unit: 'µs an event',
    target: TARGET_MICROSECONDS,
    floor: rounded(floor),
    ratio: value / floor,
    samples: samples.map(rounded),
    ...details,
  };
  yield {
    figure: 'selector-index-times-faster',
    value: Math.round(floor / value),
    unit: 'times faster than evaluating all',
    target: TARGET_TIMES_FASTER,
    floor: null,
    ratio: null,
    ...details,
  };
  const churn = Array.from({ length: rounds }, () => pairsPerSecond(index, entries, selectors));
  yield {
    figure: 'selector-index-churn',
    value: Math.round(2 * median(churn)),
    unit: 'subscribes and unsubscribes a second',
    target: TARGET_CHURN,
    floor: null,
    ratio: null,
    pairs: Math.round(median(churn)),
    samples: churn.map(Math.round),
    ...details,
  };
  yield* besideRabbitMq();
}

function selectorsOf(nodes) {
  return subscriptionsOf(nodes).map(selectorOf);
}

/** For one of the subscriptions, and no other. */
function eventFor({ experiment, host, program }) {
  return {
    ___VERSION___: '1.0',
    SITE: '*',
    EXPT: experiment,
    GROUP: '*',
    HOST: host,
    OBJTYPE: 'PROGRAM',
    OBJNAME: program,
    EVENTTYPE: 'START',
    TIMELINE: '*',
    SCHEDULER: '0',
    ___SENDER___: '10.0.0.1',
  };
}

/** Each event is another one, made just before, as when it has come in. */
function microsecondsToMatch(index, nodes) {
  const subscriptions = subscriptionsOf(nodes);
  let matched = 0;
  let took = 0;
  for (let n = 0; n < EVENTS; n += 1) {
    const event = new Map(Object.entries(eventFor(anyOf(subscriptions))));
    const began = performance.now();
    index.match(event, () => {
      matched += 1;
    });
    took += performance.now() - began;
  }
  if (matched !== EVENTS) throw new Error(`${matched} matches of ${EVENTS} events for one subscription each`);
  return (took * 1000) / EVENTS;
}

function microsecondsToEvaluate(selectors, nodes) {
  const subscriptions = subscriptionsOf(nodes);
  const predicates = selectors.map((selector) => compileText(parse(selector)));
  let matched = 0;
  const began = performance.now();
  for (let n = 0; n < EVALUATED_EVENTS; n += 1) {
    const event = new Map(Object.entries(eventFor(anyOf(subscriptions))));
    for (const predicate of predicates) if (predicate(event)) matched += 1;
  }
  const took = performance.now() - began;
  if (matched !== EVALUATED_EVENTS) throw new Error(`${matched} matches of ${EVALUATED_EVENTS} events`);
  return (took * 1000) / EVALUATED_EVENTS;
}

/** Every subscription once, in any order; the text is parsed each time. */
function pairsPerSecond(index, entries, selectors) {
  const order = shuffled(entries.length);
  const began = performance.now();
  for (const n of order) {
    index.remove(entries[n]);
    entries[n] = index.add(parse(selectors[n]), selectors[n]);
  }
  return (entries.length / (performance.now() - began)) * 1000;
}

/**
 * The peer routes messages through a headers exchange with 10,000 bindings to one queue. What one binding costs is taken
 * off, so that only the matching is compared. A binding knows no OR: it names the host, and one type of event.
 */
async function* besideRabbitMq() {
  const rabbitMq = await startRabbitMq();
  if (rabbitMq === null) {
    console.error('selector-index: no RabbitMQ is installed (Debian: apt-get install rabbitmq-server)');
    return;
  }
  const connection = new Connection({ url: rabbitMq.url });
  const publisher = connection.createPublisher({ confirm: true });
  try {
    const subscriptions = subscriptionsOf(PEER_NODES);
    await bind(connection, 'one', subscriptions.slice(0, 1));
    await bind(connection, 'all', subscriptions);
    const index = new SelectorIndex();
    for (const selector of selectorsOf(PEER_NODES)) index.add(parse(selector), selector);
    const peers = [];
    const samples = [];
    for (let round = 0; round < PEER_ROUNDS; round += 1) {
      const whole = await microsecondsToRoute(publisher, 'all', subscriptions);
      peers.push(whole - (await microsecondsToRoute(publisher, 'one', subscriptions.slice(0, 1))));
      samples.push(microsecondsToMatch(index, PEER_NODES));
    }
    const [value, peer] = [median(samples), median(peers)];
    yield {
      figure: 'selector-index-rabbitmq',
      value: rounded(value),
      unit: 'µs an event',
      target: rounded(peer / PEER_TARGET_TIMES_FASTER),
      peer: rounded(peer),
      ratio: value / peer,
      samples: samples.map(rounded),
      peer_samples: peers.map(rounded),
      subscriptions: subscriptions.length,
    };
  } finally {
    await publisher.close();
    await connection.close();
    await rabbitMq.stop();
  }
}

/** A headers exchange, bound to a queue of the same name once for each subscription. */
async function bind(connection, name, subscriptions) {
  await connection.exchangeDeclare({ exchange: name, type: 'headers' });
  // It keeps one message at a time: what is measured is the routing.
  await connection.queueDeclare({ queue: name, arguments: { 'x-max-length': 1 } });
  for (const { experiment, host, program } of subscriptions) {
    const headers = { EXPT: experiment, HOST: host, OBJNAME: program, EVENTTYPE: 'START', SCHEDULER: '0' };
    await connection.queueBind({ exchange: name, queue: name, arguments: { 'x-match': 'all', ...headers } });
  }
}

/** Until all of them are confirmed, ten on the way at a time. */
async function microsecondsToRoute(publisher, exchange, subscriptions) {
  let left = PEER_EVENTS;
  const began = performance.now();
  const sender = async () => {
    while (left > 0) {
      left -= 1;
      await publisher.send({ exchange, headers: eventFor(anyOf(subscriptions)), mandatory: true }, '');
    }
  };
  await Promise.all(Array.from({ length: 10 }, sender));
  return ((performance.now() - began) * 1000) / PEER_EVENTS;
}

function parse(selector) {
  return parseSelector(selector, { sugar: false });
}

function anyOf(list) {
  return list[Math.floor(Math.random() * list.length)];
}

function shuffled(length) {
  const order = Array.from({ length }, (_, n) => n);
  for (let last = length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
