import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Harness } from './conformance/suite.js';
import { P, SUBMISSION, TOPOLOGIES } from './portals.js';
import { RABBITMQ_URL, rabbitmq } from './rabbitmq.js';
import { type OwnVhost, ownVhost } from './vhost.js';

/** What RabbitMQ itself says of what was declared (sheet §5.1, §5.2). */

let vhost: OwnVhost;
let harness: Harness;
beforeAll(async () => {
  vhost = await ownVhost(RABBITMQ_URL);
  harness = await rabbitmq(vhost.url);
  const broker = await harness.open('topology');
  for (const topology of TOPOLOGIES) await broker.declare(topology);
});
afterAll(async () => {
  await harness?.drop();
  await vhost?.drop();
});

type Row = Readonly<Record<string, unknown>>;

async function listed(what: string, ...columns: string[]): Promise<readonly Row[]> {
  const name = new URL(vhost.url).pathname.slice(1);
  const args = ['-q', what, '-p', name, '--formatter', 'json', ...columns];
  return JSON.parse((await promisify(execFile)('rabbitmqctl', args)).stdout) as Row[];
}

const sorted = <T>(of: readonly T[]): T[] => of.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

describe('declared at RabbitMQ', () => {
  test('§5.2: queues are durable, for all, and stay; dead letters go from them', async () => {
    const rows = await listed('list_queues', 'name', 'type', 'durable', 'exclusive', 'auto_delete', 'arguments');
    const kept = { durable: true, exclusive: false, auto_delete: false };
    const dead = { 'x-dead-letter-exchange': `${P}AllTenants.dead.Exchange` };
    const expected: readonly [name: string, type: string, args: object][] = [
      [`${P}AllTenants.dead.Queue`, 'quorum', {}],
      [`${P}AllTenants.alt.Queue`, 'quorum', dead],
      [`${P}portals.recovery.Queue`, 'quorum', dead],
      [SUBMISSION, 'quorum', dead],
      [`${P}portals.event.Topic`, 'classic', { 'x-max-length': 100_000 }],
      [`${P}portals.cmd.Topic.rack7`, 'classic', dead],
    ];
    expect(rows).toHaveLength(expected.length);
    for (const [name, type, args] of expected) {
      const row = rows.find((one) => one.name === name) ?? expect.fail(`no queue ${name}`);
      const { arguments: given, exclusive, ...flags } = row;
      // Of quorum queues, which never are, RabbitMQ says nothing.
      expect({ ...flags, exclusive: exclusive === true }).toEqual({ name, type, ...kept });
      expect(argumentsOf(given)).toMatchObject(args);
    }
    const lone = rows.filter(({ arguments: given }) => !('x-dead-letter-exchange' in argumentsOf(given)));
    expect(lone.map(({ name }) => name).toSorted()).toEqual([`${P}AllTenants.dead.Queue`, `${P}portals.event.Topic`]);
  });

  test('§5.2: exchanges are durable, stay, and have the alternate exchange, and no dead-letter one', async () => {
    const rows = await listed('list_exchanges', 'name', 'type', 'durable', 'auto_delete', 'arguments');
    const own = rows.filter(({ name }) => String(name).startsWith(P));
    const seen = own.map(({ arguments: given, ...flags }) => ({ ...flags, args: argumentsOf(given) }));
    const kept = { durable: true, auto_delete: false };
    const alternate = { 'alternate-exchange': `${P}AllTenants.alt.Exchange` };
    expect(sorted(seen)).toEqual(
      sorted([
        { name: `${P}AllTenants.dead.Exchange`, type: 'fanout', ...kept, args: {} },
        { name: `${P}AllTenants.alt.Exchange`, type: 'fanout', ...kept, args: {} },
        { name: `${P}portals.submit.Exchange`, type: 'direct', ...kept, args: alternate },
        { name: `${P}portals.cmd.Exchange`, type: 'topic', ...kept, args: alternate },
        { name: `${P}portals.recovery.Exchange`, type: 'fanout', ...kept, args: alternate },
        { name: `${P}portals.event.Exchange`, type: 'topic', ...kept, args: alternate },
      ]),
    );
  });

  test('§5.1: bindings are those of the sheet', async () => {
    const rows = await listed('list_bindings', 'source_name', 'destination_name', 'routing_key');
    const seen = rows.filter(({ source_name: source }) => source !== '').map((row) => Object.values(row));
    const expected = TOPOLOGIES.flatMap(({ bindings }) => bindings).map(({ exchange, queue, key }) => [
      exchange,
      queue,
      key,
    ]);
    expect(sorted(seen)).toEqual(sorted(expected));
  });
});

/** As `rabbitmqctl` prints them: an object, or a list of names, types and values. */
function argumentsOf(given: unknown): Record<string, unknown> {
  if (!Array.isArray(given)) return given as Record<string, unknown>;
  return Object.fromEntries(given.map(([name, , value]: [string, string, unknown]) => [name, value]));
}
