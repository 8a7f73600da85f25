import { readFileSync } from 'node:fs';
import type { Actor } from '@muster/platform/auth';
import { compileText, parseSelector } from '@muster/selector';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { INTERVAL, ORG, type TestAgent } from '../../nodes/test/support/nodes-fixture.js';
import { type Directory, openDirectory } from '../../platform/test/support/directory.js';
import { loggedEvents, type ShownEvent } from '../../platform/test/support/event-log.js';
import { ME, newKey, sharedKey } from '../../platform/test/support/personas.js';
import { type OwnedFixture, startOwned } from '../../push/test/support/ownership-fixture.js';
import { type PushServer, startPushServer } from '../../push/test/support/push-server.js';
import { LAYERS } from '../src/layers.js';

/** Every change of state is an event, stored with it, and is what docs/reference/events.md says. */

function expectDocumented(events: readonly ShownEvent[]): void {
  expect(events).not.toEqual([]);
  for (const event of events) {
    const schema = LAYERS.flatMap(({ events }) => events)
      .map(({ schemas }) => schemas[event.type])
      .find(Boolean);
    if (schema === undefined) throw new Error(`${event.type} is not documented`);
    // On the wire everything is text.
    const attributes = Value.Convert(schema.attributes, event.attributes);
    const strict = Type.Object(schema.attributes.properties, { additionalProperties: false });
    expect([event.type, [...Value.Errors(strict, attributes)]]).toEqual([event.type, []]);
    expect([event.type, [...Value.Errors(schema.data, event.data)]]).toEqual([event.type, []]);
  }
}

const ANN: Actor = { name: 'ann', kind: 'user' };

const brief = ({ type, attributes }: ShownEvent): string =>
  [type, ...Object.entries(attributes).map(([name, value]) => `${name}=${value}`)].join(' ');

describe('a node', () => {
  let fixture: OwnedFixture;
  let agent: TestAgent;
  let seen = 0;
  beforeEach(async () => {
    fixture = await startOwned();
    agent = await fixture.agent('web1');
    seen = 0;
  });
  afterEach(async () => {
    expectDocumented(await loggedEvents(fixture.store));
    await fixture.close();
  });

  /** What was told since the last call. */
  async function told(): Promise<string[]> {
    await fixture.stored();
    const events = (await loggedEvents(fixture.store)).slice(seen);
    seen += events.length;
    return events.map(brief);
  }

  test('tells that it is known, which key and protocol it has, that it is up, and who owns it', async () => {
    agent.configure();
    expect(await told()).toEqual(['node.created node=web1', 'node.key node=web1']);
    agent.beat();
    expect(await told()).toEqual([
      'node.protocol node=web1 dialect=native',
      'node.restarted node=web1',
      'node.up node=web1 owner=rehab',
    ]);
    agent.settle();
    expect(await told()).toEqual(['node.owner node=web1 owner=idle from=rehab']);
  });

  test('tells that a job has it, and that it is down, and whose it was', async () => {
    await agent.becomeIdle();
    await told();
    fixture.jobs.live.add('j1');
    fixture.owners.claim(ORG.id, 'j1', ['web1']);
    expect(await told()).toEqual(['node.owner node=web1 owner=job from=idle job=j1']);
    fixture.clock.advance(10 * INTERVAL);
    expect(await told()).toEqual(['node.down node=web1 job=j1']);
  });

  test('tells that a job has handed it back', async () => {
    await agent.becomeIdle();
    fixture.jobs.live.add('j1');
    fixture.owners.claim(ORG.id, 'j1', ['web1']);
    await told();
    fixture.owners.release(ORG.id, 'j1', 'web1', 'idle', 'done');
    expect(await told()).toEqual(['node.owner node=web1 owner=idle from=job job=j1']);
  });

  test('tells facts that are new, and no others', async () => {
    await agent.becomeIdle();
    await told();
    const facts = { type: 'facts', facts: { os: 'linux', cpus: 8 }, labels: { role: 'web' } } as const;
    agent.send(facts);
    agent.send(facts);
    expect(await told()).toEqual(['node.facts node=web1']);
    expect((await loggedEvents(fixture.store)).at(-1)?.data).toEqual({ facts: facts.facts, labels: facts.labels });
  });

  test('tells what differs of its facts, and keeps it as the history of the node', async () => {
    await agent.becomeIdle();
    const report = (facts: object, role: string) =>
      agent.send({ type: 'facts', facts: { os: 'linux', ...facts }, labels: { role } });
    report({ kernel: '6.1', uptime: 5 }, 'web');
    report({ kernel: '6.1', uptime: 6 }, 'web');
    await told();
    report({ kernel: '6.2', uptime: 7, rack: 'b4' }, 'db');
    expect(await told()).toEqual(['node.facts node=web1', 'node.facts_changed node=web1']);
    const changes = [
      { name: 'kernel', of: 'fact', from: '6.1', to: '6.2' },
      { name: 'rack', of: 'fact', from: null, to: 'b4' },
      { name: 'role', of: 'label', from: 'web', to: 'db' },
    ];
    expect((await loggedEvents(fixture.store)).at(-1)?.data).toEqual({ changes, omitted: 0 });
    const history = await fixture.nodes.inventory.history(agent.view, 0, 10);
    expect(history).toMatchObject([{ changes, omitted: 0 }]);
    expect(await fixture.nodes.inventory.history(agent.view, history[0]?.position ?? 0, 10)).toEqual([]);
  });

  test('tells that its agent was restarted, and how the one before ended', async () => {
    await agent.becomeIdle();
    await told();
    agent.incarnation = 'incarnation-2';
    agent.beat();
    expect(await told()).toEqual(['node.owner node=web1 owner=rehab from=idle', 'node.restarted node=web1 end=crash']);
  });

  test('tells that it was deleted', async () => {
    agent.configure();
    await told();
    await fixture.nodes.organizationRemoved(ORG.id);
    expect(await told()).toEqual(['node.removed node=web1']);
  });

  test('of which nothing changes tells nothing', async () => {
    await agent.becomeIdle();
    await told();
    agent.beat();
    expect(await told()).toEqual([]);
  });
});

describe('a push job', () => {
  let server: PushServer;
  beforeEach(async () => {
    server = await startPushServer();
    server.nodes.enter(server.org.id, 'GOOD', 'succeed');
    server.nodes.enter(server.org.id, 'RUN', 'run');
    server.nodes.enter(server.org.id, 'NO', 'refuse');
  });
  afterEach(async () => {
    expectDocumented(await loggedEvents(server.test.store));
    await server.close();
  });

  const JOB = { command: 'sleep 2', run_timeout: 4, env: { A: 'b' }, dir: '/' };
  async function told(id: string): Promise<string[]> {
    const events = await loggedEvents(server.test.store);
    return events
      .filter(({ attributes }) => attributes.job === id)
      .map((event) => brief(event).replace(` job=${id}`, ''));
  }

  test('tells what its feed shows, and the phases between', async () => {
    const id = await server.start({ ...JOB, nodes: ['GOOD'] });
    await server.finish(id);
    expect(await told(id)).toEqual([
      'push.start seq=1 user=admin',
      'push.job status=voting phase=voting',
      'push.quorum_vote seq=2 node=GOOD status=success node_status=ready',
      'push.quorum_succeeded seq=3',
      'push.run_start seq=4 node=GOOD',
      'push.run_complete seq=5 node=GOOD status=success node_status=succeeded exit_code=0',
      'push.job_complete seq=6 status=complete user=admin command=sleep 2 succeeded=1 failed=0',
    ]);
  });

  test('tells of every node that changed without an event in the feed', async () => {
    const id = await server.start({ ...JOB, nodes: ['GOOD', 'NO'] });
    await server.finish(id);
    expect(await told(id)).toEqual([
      'push.start seq=1 user=admin',
      'push.job status=voting phase=voting',
      'push.quorum_vote seq=2 node=GOOD status=success node_status=ready',
      'push.quorum_vote seq=3 node=NO status=failure node_status=nacked reason=not allowed',
      'push.job status=voting phase=aborting',
      'push.job_node node=GOOD status=was_ready reason=not started\\c the quorum failed',
      'push.job_complete seq=4 status=quorum_failed user=admin command=sleep 2 succeeded=0 failed=2',
    ]);
  });

  test('says at its end what whoever is paged by the selectors of the guide wants to know', async () => {
    for (const name of ['BAD', 'BAD2', 'BAD3']) server.nodes.enter(server.org.id, name, 'fail');
    const jobs = new Map([
      ['good', { command: 'sleep 2', nodes: ['GOOD'] }],
      ['one failed', { command: 'chef-client -o web', nodes: ['GOOD', 'BAD'] }],
      ['many failed', { command: 'chef-client -o web', nodes: ['BAD', 'BAD2', 'BAD3'] }],
      ['no quorum', { command: `sleep ${'2'.repeat(300)}`, nodes: ['NO'] }],
    ]);
    const names = new Map<string, string>();
    for (const [name, job] of jobs) {
      const id = await server.start({ ...JOB, ...job });
      await server.finish(id);
      names.set(id, name);
    }
    const ended = (await loggedEvents(server.test.store)).filter(({ type }) => type === 'push.job_complete');
    expect(ended.map(({ attributes: { status, succeeded, failed } }) => [status, succeeded, failed])).toEqual([
      ['complete', '1', '0'],
      ['complete', '1', '1'],
      ['complete', '0', '3'],
      ['quorum_failed', '0', '1'],
    ]);
    expect(ended.at(-1)?.attributes.command).toBe(`sleep ${'2'.repeat(194)}`);
    const guide = readFileSync(new URL('../../../docs/guide/notifications.md', import.meta.url), 'utf8');
    const paged = (user: string) =>
      [...guide.matchAll(/\| `(type = 'push\.job_complete'.*)` \|/g)].map(([, selector = '']) => {
        const matches = compileText(parseSelector(selector.replace("'deploy'", `'${user}'`), { sugar: false }));
        const chosen = ended.filter((event) =>
          matches({ get: (name) => ({ type: event.type, ...event.attributes })[name] }),
        );
        return chosen.map(({ attributes }) => names.get(attributes.job ?? ''));
      });
    const failed = ['one failed', 'many failed', 'no quorum'];
    expect(paged('admin')).toEqual([failed, failed, ['many failed']]);
    expect(paged('deploy')).toEqual([failed, [], ['many failed']]);
  });

  test('shows in its feed nothing but what is numbered', async () => {
    const id = await server.start({ ...JOB, nodes: ['GOOD', 'NO'] });
    const shown = await server.events(id);
    expect(shown.map(({ event }) => event)).toEqual(['start', 'quorum_vote', 'quorum_vote', 'job_complete']);
    const events = (await loggedEvents(server.test.store)).filter(({ attributes }) => attributes.job === id);
    const numbered = events.filter(({ attributes }) => attributes.seq !== undefined);
    expect(shown.map(({ data: { timestamp: _, ...data } }) => data)).toEqual(numbered.map(({ data }) => data));
  });
});

describe('a change of identity', () => {
  let directory: Directory;
  let seen = 0;
  beforeEach(async () => {
    directory = await openDirectory();
    seen = 0;
    await told();
  });
  afterEach(async () => {
    expectDocumented(await loggedEvents(directory.store));
    await directory.close();
  });

  async function told(): Promise<string[]> {
    const events = (await loggedEvents(directory.store)).slice(seen);
    seen += events.length;
    const organizations = await directory.store.read.selectFrom('organizations').selectAll().execute();
    const name = (id: string) => organizations.find((one) => one.id === id)?.name;
    return events.map((event) => `${name(event.orgId)}: ${brief(event)}`);
  }

  test('is told in its organization', async () => {
    const { auth, organization } = directory;
    await directory.addClient('service', 'relay');
    expect(await told()).toEqual(['default: auth.service.create actor=me actor_kind=user target=relay']);
    await auth.groups.put(organization, 'ops', { users: [], clients: ['relay'], groups: [] }, ME);
    expect(await told()).toEqual(['default: auth.group.set actor=me actor_kind=user target=ops']);
  });

  test('is told once it is stored, and not when it is refused', async () => {
    await directory.addUser('ann');
    await told();
    await expect(directory.addUser('ann')).rejects.toMatchObject({ code: 'user_exists' });
    expect(await told()).toEqual([]);
  });

  test('of a user is told wherever it is a member, and nowhere else', async () => {
    const { auth } = directory;
    const other = await auth.organizations.create('other', ME);
    await auth.organizations.create('third', ME);
    await directory.addUser('ann');
    await auth.organizations.addMember(other, 'ann', ME);
    await told();
    const key = await auth.principals.addKey(null, 'user', 'ann', newKey(), ANN);
    expect((await told()).sort()).toEqual([
      'default: auth.key.add actor=ann actor_kind=user target=ann',
      'other: auth.key.add actor=ann actor_kind=user target=ann',
    ]);
    await auth.principals.removeKey(null, 'user', 'ann', key.fingerprint, ANN);
    const { id } = await auth.tokens.createAccessToken(
      { bearer: { organization: null, name: 'ann' }, ttlSeconds: 9 },
      ME,
    );
    await told();
    await auth.tokens.removeUserToken(null, id, ME);
    expect((await told()).sort()).toEqual([
      `default: auth.access_token.delete actor=me actor_kind=user target=${id}`,
      `other: auth.access_token.delete actor=me actor_kind=user target=${id}`,
    ]);
  });

  test('that deletes a user is told where it was a member', async () => {
    const { publicKey } = sharedKey();
    await directory.auth.principals.createUser(
      { name: 'root', publicKey, serverAdmin: true, organization: null, groups: [] },
      ME,
    );
    await directory.addUser('ann');
    await told();
    await directory.auth.principals.removeUser('ann', ME);
    expect(await told()).toEqual(['default: auth.user.delete actor=me actor_kind=user target=ann']);
  });

  test('that deletes an organization takes its events with it', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    expect(await told()).toEqual(['other: auth.organization.create actor=me actor_kind=user target=other']);
    await directory.auth.organizations.remove(other, ME);
    // In bounded steps, which go on after the answer.
    await directory.auth.remnants.clear();
    expect((await loggedEvents(directory.store)).filter(({ orgId }) => orgId === other.id)).toEqual([]);
  });
});
