import {
  answersTopic,
  correlationEventKey,
  eventTopology,
  jobEventKey,
  jobTopic,
  namesOf,
  ordersTopology,
  organizationTopology,
  type Topology,
  workerTopology,
} from '@muster/broker';
import { describe, expect, test } from 'vitest';
import { EVENTS, ORGANIZATION, P, SITE, SUBMISSION, SUBMIT, TOPOLOGIES, WORKER } from './portals.js';

const ALT = `${P}AllTenants.alt.Exchange`;
const DEAD = `${P}AllTenants.dead.Exchange`;
const DAY_MS = 86_400_000;

const ALL: readonly Topology[] = [...TOPOLOGIES, ordersTopology()];

describe('§5.1: what stands in the broker', () => {
  test.each<[what: string, topology: Topology, exchanges: object[], queues: object[], bindings: string[][]]>([
    [
      'the site: alternate and dead-letter',
      SITE,
      [
        { name: DEAD, type: 'fanout' },
        { name: ALT, type: 'fanout' },
      ],
      [
        { name: `${P}AllTenants.dead.Queue`, kind: 'quorum' },
        { name: `${P}AllTenants.alt.Queue`, kind: 'quorum', deadLetter: DEAD },
      ],
      [
        [DEAD, `${P}AllTenants.dead.Queue`, ''],
        [ALT, `${P}AllTenants.alt.Queue`, ''],
      ],
    ],
    [
      'an organization: submit, command, recovery and event exchanges, the recovery queue',
      ORGANIZATION,
      [
        { name: `${P}portals.submit.Exchange`, type: 'direct', alternate: ALT },
        { name: `${P}portals.cmd.Exchange`, type: 'topic', alternate: ALT },
        { name: `${P}portals.recovery.Exchange`, type: 'fanout', alternate: ALT },
        { name: `${P}portals.event.Exchange`, type: 'topic', alternate: ALT },
      ],
      [{ name: `${P}portals.recovery.Queue`, kind: 'quorum', deadLetter: DEAD }],
      [[`${P}portals.recovery.Exchange`, `${P}portals.recovery.Queue`, '']],
    ],
    [
      'a submission queue, bound by its whole name',
      SUBMIT,
      [],
      [{ name: SUBMISSION, kind: 'quorum', deadLetter: DEAD }],
      [[`${P}portals.submit.Exchange`, SUBMISSION, SUBMISSION]],
    ],
    [
      'the event topic, bounded',
      EVENTS,
      [],
      [{ name: `${P}portals.event.Topic`, kind: 'classic', most: 100_000, messageMs: 7 * DAY_MS }],
      [[`${P}portals.event.Exchange`, `${P}portals.event.Topic`, `${P}event.subscriber.#`]],
    ],
    [
      'the command topic of a worker, for all workers and for it alone',
      WORKER,
      [],
      [{ name: `${P}portals.cmd.Topic.rack7`, kind: 'classic', deadLetter: DEAD, unusedMs: DAY_MS }],
      [
        [`${P}portals.cmd.Exchange`, `${P}portals.cmd.Topic.rack7`, `${P}cmd.worker`],
        [`${P}portals.cmd.Exchange`, `${P}portals.cmd.Topic.rack7`, `${P}cmd.worker.wid.w-065.#`],
      ],
    ],
    [
      'orders of workers to the server, and the answers',
      ordersTopology(),
      [{ name: `${P}AllTenants.answers.Exchange`, type: 'topic' }],
      [{ name: `${P}AllTenants.tasks.Queue`, kind: 'quorum', deadLetter: DEAD }],
      [],
    ],
  ])('%s', (_, topology, exchanges, queues, bindings) => {
    expect(topology.exchanges).toEqual(exchanges);
    expect(topology.queues).toEqual(queues);
    expect(topology.bindings.map(({ exchange, queue, key }) => [exchange, queue, key])).toEqual(bindings);
  });

  test('the command topic of a job, and the answers to a process', () => {
    expect(jobTopic('portals', 'j-007')).toEqual({
      name: `${P}portals.cmd.Topic.j-007`,
      exchange: `${P}portals.cmd.Exchange`,
      keys: [`${P}cmd.worker.jid.j-007.#`],
    });
    expect(answersTopic('p1')).toEqual({
      name: `${P}AllTenants.answers.Topic.p1`,
      exchange: `${P}AllTenants.answers.Exchange`,
      keys: ['p1'],
    });
  });

  test('events are published by the correlation and by the job', () => {
    expect(correlationEventKey('c')).toBe(`${P}event.subscriber.cid.c`);
    expect(jobEventKey('j-007')).toBe(`${P}event.subscriber.jid.j-007`);
  });
});

describe('§5.2: flags', () => {
  test('submission and recovery queues are quorum queues', () => {
    const kinds = new Map(ALL.flatMap(({ queues }) => queues).map(({ name, kind }) => [name, kind]));
    expect([kinds.get(SUBMISSION), kinds.get(namesOf('portals').recoveryQueue)]).toEqual(['quorum', 'quorum']);
  });

  test('correction 1: what is rejected goes from queues to the dead-letter exchange, which stands on no exchange', () => {
    const without = ALL.flatMap(({ queues }) => queues).filter(({ deadLetter }) => deadLetter === undefined);
    // Of the dead letters themselves, and of the events, which nobody rejects.
    expect(without.map(({ name }) => name)).toEqual([`${P}AllTenants.dead.Queue`, `${P}portals.event.Topic`]);
    for (const exchange of ALL.flatMap(({ exchanges }) => exchanges)) expect(exchange).not.toHaveProperty('deadLetter');
  });

  test('every exchange of an organization has the alternate exchange, and those of the site have none', () => {
    expect(new Set(ORGANIZATION.exchanges.map(({ alternate }) => alternate))).toEqual(new Set([ALT]));
    for (const exchange of SITE.exchanges) expect(exchange).not.toHaveProperty('alternate');
  });

  test('no message on a submission, recovery or site queue is lost by time or number', () => {
    for (const queue of [...SITE.queues, ...ORGANIZATION.queues, ...SUBMIT.queues]) {
      expect(Object.keys(queue).filter((key) => ['most', 'messageMs', 'unusedMs'].includes(key))).toEqual([]);
    }
  });

  test('organizations share nothing but what is of the site', () => {
    const own = (organization: string) =>
      [organizationTopology(organization), eventTopology(organization), workerTopology(organization, 'w', 'u')].flatMap(
        ({ exchanges, queues }) => [...exchanges, ...queues].map(({ name }) => name),
      );
    const other = new Set(own('other'));
    expect(own('portals').filter((name) => other.has(name))).toEqual([]);
  });
});
