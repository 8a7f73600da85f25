import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Aspects } from '../src/aspects.js';
import { explain } from '../src/why.js';
import { type Fixture, INTERVAL, ORG, startNodes, type TestAgent } from './support/nodes-fixture.js';

const rules = { intervalMs: INTERVAL, offlineThreshold: 3, onlineThreshold: 2 };
let aspects: Aspects;
let fixture: Fixture;
let agent: TestAgent;

beforeEach(async () => {
  aspects = new Aspects();
  fixture = await startNodes();
  agent = await fixture.agent('web1');
});
afterEach(() => fixture.close());

const why = () => explain(agent.view, aspects, rules, fixture.clock.now());

describe('why a node is not available', () => {
  test('never seen', () => {
    fixture.nodes.nodeCreated(ORG, 'web1');
    expect(why()).toMatchObject({ node_name: 'web1', available: false });
    expect(why().explanation).toMatch(/^web1 has never been seen/);
  });

  test('configured, but not heard', () => {
    agent.configure();
    fixture.clock.advance(INTERVAL * 20);
    expect(why().explanation).toMatch(/fetched its configuration 20 s ago, but no heartbeat has come since/);
  });

  test('without a key that is good', () => {
    agent.configure();
    const { available, explanation } = explain(agent.view, aspects, rules, fixture.clock.now(), true);
    expect(available).toBe(false);
    expect(explanation).toMatch(/^web1 is down: it has no key\..*muster key revoked.*muster node add-key web1\./);
  });

  test('up, and no layer above has anything against it', async () => {
    await agent.comeUp();
    expect(why()).toEqual({ node_name: 'web1', available: true, explanation: 'web1 is up.' });
  });

  test('heartbeat late by n', async () => {
    await agent.comeUp();
    fixture.clock.advance(INTERVAL * 2);
    expect(why().explanation).toMatch(/late by 2 of 3 intervals/);
  });

  test('down since n intervals', async () => {
    await agent.comeUp();
    fixture.clock.advance(INTERVAL * 7);
    expect(why().explanation).toMatch(/^web1 is down: its last heartbeat came 7 s ago, 7 intervals have been missed/);
  });

  test('coming back', async () => {
    await agent.comeUp();
    fixture.clock.advance(INTERVAL * 7);
    agent.beat();
    expect(why().explanation).toMatch(/heartbeats have come back and it is up after 2 intervals in a row/);
  });

  test('CURVE refused', () => {
    const key = Buffer.alloc(32, 'k');
    agent.configure(key);
    fixture.clock.advance(120_000);
    fixture.transport.handlers?.admits(key);
    expect(why().explanation).toMatch(/CURVE refused 1 of its connections: its admission expired/);
  });

  test('clock skew, in messages and in requests', () => {
    agent.configure();
    agent.send({ type: 'ready', start: null }, fixture.clock.now() - 400_000);
    expect(why().explanation).toMatch(/a message in its name was dropped: its clock is skewed/);
    fixture.nodes.nodeRefused(ORG.name, 'web1', 'clock_skew');
    expect(why().explanation).toMatch(/a request of it was refused: its clock differs/);
  });

  test('key mismatch', () => {
    agent.configure();
    agent.session.key.fill(0);
    agent.beat();
    expect(why().explanation).toMatch(/not signed with the session’s key/);
    fixture.nodes.nodeRefused(ORG.name, 'web1', 'invalid_signature');
    expect(why().explanation).toMatch(/signed with another key than the one registered/);
  });

  test('without an agent: nothing is said of what only an agent can mend', () => {
    agent.configure();
    agent.session.key.fill(0);
    agent.beat();
    expect(why().explanation).toMatch(/the agent must fetch its configuration again/);
    agent.view.via = 'ssh';
    expect(why().explanation).not.toMatch(/configuration again/);
  });
});
