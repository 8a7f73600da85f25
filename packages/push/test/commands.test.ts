import type { NodeCommands } from '@muster/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { type Fixture, ORG, startNodes } from '../../nodes/test/support/nodes-fixture.js';
import { loggedEvents } from '../../platform/test/support/event-log.js';
import { Forecasts, type Wish } from '../src/commands/forecast.js';
import { ToldCommands } from '../src/commands/told-commands.js';
import { clearPush } from '../src/repository/organization.js';
import { type PushServer, startPushServer } from './support/push-server.js';

const NOTHING: NodeCommands = {
  list: [],
  omitted: 0,
  any: false,
  scripts: 'none',
  uploads: false,
  fetches: false,
};
const allowing = (...list: (string | [name: string, pattern: string])[]): NodeCommands => ({
  ...NOTHING,
  list: list.map((entry) =>
    typeof entry === 'string' ? { name: entry, pattern: null } : { name: entry[0], pattern: entry[1] },
  ),
});

describe('what nodes tell of what they allow', () => {
  let fixture: Fixture;
  let told: ToldCommands;
  const before = async ({ nodes, store }: { nodes: Fixture['nodes']; store: Fixture['store'] }) => {
    told = new ToldCommands({ store, nodes: nodes.registry });
    await told.load();
  };
  afterEach(() => fixture.close());

  test('is stored, told as an event when it changes, and there after a restart', async () => {
    fixture = await startNodes({ before });
    const agent = await fixture.agent('web1');
    await agent.comeUp();
    agent.send({ type: 'commands', commands: allowing('chef-client', 'uptime') });
    agent.send({ type: 'commands', commands: allowing('chef-client', 'uptime') });
    agent.send({ type: 'commands', commands: allowing('chef-client', ['deploy', 'deploy (\\w+)']) });
    await fixture.stored();
    const events = (await loggedEvents(fixture.store)).filter(({ type }) => type === 'node.commands');
    expect(events.map(({ data }) => data)).toEqual([
      { commands: 2, added: ['chef-client', 'uptime'], removed: [], any: false, scripts: 'none' },
      { commands: 2, added: ['deploy'], removed: ['uptime'], any: false, scripts: 'none' },
    ]);
    fixture = await fixture.restart(before);
    const view = fixture.nodes.registry.get(ORG.id, 'web1');
    if (view === undefined) throw new Error('web1 is not known');
    expect(told.of(view)?.list.map(({ name }) => name)).toEqual(['chef-client', 'deploy']);
    expect(fixture.nodes.inventory.search(ORG.id, 'command:chef-client').map(({ name }) => name)).toEqual(['web1']);
    expect(fixture.nodes.inventory.search(ORG.id, "command = 'uptime'")).toEqual([]);
  });

  test('is taken back when the owner has nothing told any more, and goes with the node and the organization', async () => {
    fixture = await startNodes({ before });
    const rows = () => fixture.store.read.selectFrom('push_node_commands').select(['node', 'commands']).execute();
    for (const name of ['web1', 'web2']) {
      const agent = await fixture.agent(name);
      await agent.comeUp();
      agent.send({ type: 'commands', commands: allowing('a') });
      if (name === 'web2') agent.send({ type: 'commands', commands: null });
    }
    await fixture.stored();
    expect(await rows()).toEqual([
      { node: 'web1', commands: JSON.stringify(allowing('a')) },
      { node: 'web2', commands: 'null' },
    ]);
    await fixture.nodes.inventory.remove(ORG, 'web1', false, {} as never);
    expect((await rows()).map(({ node }) => node)).toEqual(['web2']);
    await fixture.store.transact((trx) => clearPush(trx, ORG.id, 10));
    expect(await rows()).toEqual([]);
  });
});

describe('whether a node would take a command', () => {
  const UPGRADE = { command: 'muster-agent-upgrade 1.2.3', uploads: true };
  const asks = (wish: Partial<Wish>): Wish => ({
    ...{ command: null, script: false, uploads: false, fetch: false, variables: false, user: false, dir: false },
    ...{ file: false, secrets: [] },
    ...wish,
  });
  const foreseen = (commands: NodeCommands | null, wish: Partial<Wish>, via: 'agent' | 'ssh' = 'agent') =>
    new Forecasts(asks(wish)).of(commands, via);

  test.each<[string, NodeCommands, Partial<Wish>, 'yes' | 'no' | 'perhaps']>([
    ['listed', allowing('a'), { command: 'a' }, 'yes'],
    ['not listed', allowing('a'), { command: 'b' }, 'no'],
    ['anything', { ...NOTHING, any: true }, { command: 'b' }, 'yes'],
    ['of a pattern, which means the whole command', allowing(['d', 'deploy (\\w+)']), { command: 'deploy x' }, 'yes'],
    ['of which a pattern is a part', allowing(['d', 'deploy']), { command: 'deploy x' }, 'no'],
    ['a pattern that this server does not know', allowing(['d', '(?=a)a']), { command: 'a' }, 'perhaps'],
    ['a pattern that would take long elsewhere', allowing(['d', '(a+)+b']), { command: 'a'.repeat(1000) }, 'no'],
    ['when not all entries were told', { ...allowing('a'), omitted: 1 }, { command: 'b' }, 'perhaps'],
    ['built in', NOTHING, { command: 'sleep 5' }, 'yes'],
    ['built in, with arguments that it does not take', NOTHING, { command: 'sleep well' }, 'no'],
    ['a script', NOTHING, { script: true }, 'no'],
    ['any script', { ...NOTHING, scripts: 'any' }, { script: true }, 'yes'],
    ['a script that must be signed', { ...NOTHING, scripts: 'signed' }, { script: true }, 'perhaps'],
    ['files without a place for them', allowing('a'), { command: 'a', uploads: true }, 'no'],
    ['files', { ...allowing('a'), uploads: true }, { command: 'a', uploads: true }, 'perhaps'],
    ['an upgrade of the agent', allowing(['u', 'muster-agent-upgrade \\S+']), UPGRADE, 'perhaps'],
    ['an upgrade where only commands may be anything', { ...NOTHING, any: true, uploads: true }, UPGRADE, 'no'],
    ['a file to fetch', NOTHING, { fetch: true }, 'no'],
    ['with variables', allowing('a'), { command: 'a', variables: true }, 'perhaps'],
    ['as a user', allowing('a'), { command: 'a', user: true }, 'perhaps'],
    ['as a user, and not listed', allowing('a'), { command: 'b', user: true }, 'no'],
    ['in a directory', allowing('a'), { command: 'a', dir: true }, 'perhaps'],
  ])('%s', (_, commands, wish, expected) => {
    expect(foreseen(commands, wish).says).toBe(expected);
  });

  test('what is built in belongs to agents: over ssh it is taken only where it is listed', () => {
    const wish = { command: 'sleep 5' };
    const said = (commands: NodeCommands) => foreseen(commands, wish, 'ssh').says;
    expect([said(NOTHING), said({ ...NOTHING, any: true }), said(allowing('sleep 5'))]).toEqual(['no', 'no', 'yes']);
  });

  test('another user needs an agent', () => {
    const said = (wish: Partial<Wish>) => foreseen(allowing('a'), { command: 'a', ...wish }, 'ssh');
    expect(said({ user: true })).toEqual({
      says: 'no',
      why: 'only agents run commands as another user, and there is none',
    });
    expect(said({ dir: true }).says).toBe('perhaps');
  });

  test.each<[string, Partial<Wish>]>([
    ['a file', { file: true }],
    ['secrets', { secrets: ['db'] }],
  ])('%s for the command need an agent, also where nothing is told', (what, wish) => {
    const asked = { command: 'a', ...wish };
    const refusal = { says: 'no', why: `only agents hand ${what} to a command, and there is none` };
    expect([foreseen(allowing('a'), asked, 'ssh'), foreseen(null, asked, 'ssh')]).toEqual([refusal, refusal]);
    expect(foreseen(allowing('a'), asked)).toEqual({ says: 'yes' });
  });

  test.each<[string, NodeCommands | null, Partial<Wish>, string]>([
    [
      'a user',
      allowing('a'),
      { command: 'a', user: true },
      'decided there: whether there is that user, and commands may run as it',
    ],
    ['a directory', allowing('a'), { command: 'a', dir: true }, 'decided there: whether there is that directory'],
    [
      'all of it',
      allowing('a'),
      { command: 'a', variables: true, user: true, dir: true },
      'decided there: which variables may be set (allow_env); whether there is that user, and commands may run as it; whether there is that directory',
    ],
    ['nothing is told', null, { command: 'a' }, 'what is allowed there is not told'],
    ['not all is told', { ...NOTHING, omitted: 1 }, { command: 'a' }, 'more is allowed there than is told'],
    ['not listed', allowing('a'), { command: 'b' }, 'this command is not among those allowed there'],
    [
      'an upgrade',
      allowing(['u', 'muster-agent-upgrade \\S+']),
      UPGRADE,
      'whether its signature is trusted is decided there',
    ],
  ])('why: %s', (_, commands, wish, why) => {
    expect(foreseen(commands, wish)).toMatchObject({ why });
  });

  test('lists of hostile nodes are looked at for a bounded time', () => {
    const patterns = Array.from({ length: 256 }, (_, i): [string, string] => [`p${i}`, `(?:a{900}){1,2}${i}b`]);
    const forecasts = new Forecasts(asks({ command: 'a'.repeat(1024) }));
    const found = Array.from({ length: 20 }, (_, i) => forecasts.of(allowing(...patterns, `own${i}`), 'agent').says);
    expect(new Set(found)).toEqual(new Set(['perhaps']));
  });
});

describe('over HTTP', () => {
  let server: PushServer;
  afterEach(() => server.close());

  const post = async (body: object, query = '') => {
    const response = await server.send({ method: 'POST', path: `jobs/preview${query}`, body });
    return {
      status: response.status,
      link: response.headers.get('link'),
      answer: (await response.json()) as Record<string, unknown>,
    };
  };

  test('a preview tells who would refuse and why, and asks nobody', async () => {
    server = await startPushServer();
    for (const name of ['idle', 'other', 'silent', 'busy', 'off']) {
      server.nodes.enter(server.org.id, name, name === 'off' ? 'down' : 'run');
    }
    for (const name of ['idle', 'other', 'silent', 'busy']) {
      server.nodes.play(name, { type: 'aborted', jobId: null, from: 'ready', settled: true });
    }
    for (const [name, command] of Object.entries({ idle: 'deploy', other: 'uptime', busy: 'deploy' })) {
      server.nodes.play(name, { type: 'commands', commands: allowing(command) });
    }
    const job = await server.start({ command: 'deploy', nodes: ['busy'] });
    const asked = server.nodes.sent.length;
    const nodes = ['idle', 'other', 'silent', 'busy', 'off', 'nobody'];
    const { status, answer } = await post({ nodes, command: 'deploy' });
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      count: 6,
      refusals: [
        { node_name: 'busy', why: 'busy', reason: `busy with job ${job}` },
        { node_name: 'nobody', why: 'unknown' },
        { node_name: 'off', why: 'down' },
        { node_name: 'other', why: 'not_allowed', reason: 'this command is not among those allowed there' },
      ],
      uncertain: ['silent'],
      doubts: [{ node_name: 'silent', reason: 'what is allowed there is not told' }],
    });
    expect(server.nodes.sent.slice(asked).filter(({ node }) => node !== 'busy')).toEqual([]);
  });

  test('a preview says whether the quorum would be reached: by counts, shares, and with those that are waited for', async () => {
    server = await startPushServer();
    for (const name of ['idle', 'other', 'silent', 'busy', 'off']) {
      server.nodes.enter(server.org.id, name, name === 'off' ? 'down' : 'run');
    }
    for (const name of ['idle', 'other', 'silent', 'busy']) {
      server.nodes.play(name, { type: 'aborted', jobId: null, from: 'ready', settled: true });
    }
    for (const [name, command] of Object.entries({ idle: 'deploy', other: 'uptime', busy: 'deploy' })) {
      server.nodes.play(name, { type: 'commands', commands: allowing(command) });
    }
    await server.start({ command: 'deploy', nodes: ['busy'] });
    const nodes = ['idle', 'other', 'silent', 'busy', 'off', 'nobody'];
    const judged = async (more: object) => (await post({ nodes, command: 'deploy', ...more })).answer.quorum;
    const counts = { asked: 2, uncertain: 1, no_right: 0, unknown: 1, down: 1, rehab: 0, busy: 1, not_allowed: 1 };
    expect((await post({ nodes, command: 'deploy' })).answer).toMatchObject({ count: 6, counts });
    expect(await judged({})).toEqual({ needed: 6, least: 1, most: 2, verdict: 'unreachable', waits: false });
    expect(await judged({ quorum: 1 })).toEqual({ needed: 1, least: 1, most: 2, verdict: 'reachable', waits: false });
    expect(await judged({ quorum: '20%' })).toEqual({ needed: 2, least: 1, most: 2, verdict: 'perhaps', waits: false });
    expect(await judged({ quorum: 0.5 })).toMatchObject({ needed: 3, verdict: 'unreachable' });
    expect(await judged({ quorum: 0.5, when_busy: 'wait' })).toMatchObject({
      needed: 3,
      most: 3,
      verdict: 'perhaps',
      waits: true,
    });
    expect(await judged({ quorum: 7 })).toMatchObject({ needed: 7, verdict: 'unreachable' });
    expect(await judged({ quorum: 0 })).toMatchObject({ needed: 0, verdict: 'reachable' });
    expect(await judged({ quorum: 'default' })).toMatchObject({ needed: 6 });

    const first = await post({ nodes, command: 'deploy' }, '?limit=2');
    expect(first.answer).toMatchObject({ count: 6, nodes: ['busy', 'idle'], uncertain: [], counts });
    expect(first.answer.refusals).toMatchObject([{ node_name: 'busy' }]);
    expect(first.link).toContain('limit=2&after=idle');
    const rest = await post({ nodes, command: 'deploy' }, '?limit=4&after=idle');
    expect(rest.answer).toMatchObject({ nodes: ['nobody', 'off', 'other', 'silent'], uncertain: ['silent'], counts });
    expect([rest.link, (rest.answer.refusals as unknown[]).length]).toEqual([null, 3]);
  });

  test('a preview is refused by the policy of the server as the job would be', async () => {
    server = await startPushServer({ commands: { allow: ['uptime'] } });
    server.nodes.enter(server.org.id, 'web1', 'run');
    expect((await post({ nodes: ['web1'], command: 'uptime' })).status).toBe(200);
    expect(await post({ nodes: ['web1'], command: 'deploy' })).toMatchObject({ status: 400 });
    expect(await post({ nodes: ['web1'], script: true })).toMatchObject({ status: 400 });
    expect(await post({ nodes: ['web1'], command: 'uptime', batches: [0] })).toMatchObject({ status: 400 });
    const secret = await post({ nodes: ['web1'], command: 'uptime', secrets: { nosuch: '' } });
    expect(secret).toMatchObject({ status: 404, answer: { error: expect.stringContaining('nosuch') } });
  });

  test('commands are counted by the nodes that allow them', async () => {
    server = await startPushServer();
    for (const name of ['web1', 'web2', 'web3', 'old']) server.nodes.enter(server.org.id, name, 'run', { tier: name });
    server.nodes.play('web1', { type: 'commands', commands: allowing('chef-client', ['d', 'deploy (\\w+)']) });
    server.nodes.play('web2', { type: 'commands', commands: allowing('chef-client', ['d', 'deploy (\\w+)']) });
    server.nodes.play('web3', { type: 'commands', commands: { ...allowing('chef-client'), any: true } });
    const get = async (query: string) => {
      const response = await server.send({ path: `commands${query}` });
      expect(response.status).toBe(200);
      return (await response.json()) as Record<string, unknown>;
    };
    expect(await get('')).toEqual({
      commands: [
        { name: 'chef-client', pattern: null, nodes: 3 },
        { name: 'd', pattern: 'deploy (\\w+)', nodes: 2 },
      ],
      more: 0,
      nodes: 4,
      told: 3,
      any: 1,
    });
    expect(await get('?search=DEPLOY&q=name:web1')).toMatchObject({ commands: [{ name: 'd', nodes: 1 }], nodes: 1 });
    expect(await get('?limit=1')).toMatchObject({ commands: [{ name: 'chef-client' }], more: 1 });
    const refused = await server.send({ path: 'commands', as: 'outside user' });
    expect(refused.status).toBe(403);
  });
});
