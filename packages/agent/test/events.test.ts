import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, MusterError, systemClock } from '@muster/base';
import { type Client, connect } from '@muster/fabric/client';
import { generateKeyPair, isLoginTimely, readLoginSignature, verifyLogin } from '@muster/signing';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RootFixture } from '../../fabric/test/support/root-fixture.js';
import { parseAgentConfig } from '../src/config.js';
import { type LocalEvents, startLocalEvents } from '../src/events.js';
import type { AgentSettings } from '../src/settings.js';

let pair: { readonly privateKey: string; readonly publicKey: string };
let root: RootFixture;
let dir: string;
let socket: string;
let local: LocalEvents | null = null;
let known = true;
const errors: object[] = [];
const clients: Client[] = [];

const logger = {
  debug() {},
  info() {},
  warn() {},
  error: (...[details]: [object, string?]) => void errors.push(details),
};
/** The pause after a refusal, with `random` as below, is over at once. */
const hasty: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms === 45_000 ? 1 : ms, run) };

beforeAll(async () => {
  pair = await generateKeyPair();
});
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'muster-agent-'));
  socket = join(dir, 'events.sock');
  known = true;
  root = await RootFixture.start();
  const { authority } = root;
  const granted = authority.login.bind(authority);
  authority.login = async (login, passcode) => {
    const signed = readLoginSignature(passcode);
    if (signed === null) return granted(login, passcode);
    const valid = isLoginTimely(signed, Date.now()) && verifyLogin(login, signed, pair.publicKey);
    if (!known || !valid) throw new MusterError('login_refused');
    return granted(login, 'secret');
  };
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await local?.stop();
  local = null;
  errors.length = 0;
  await root.end();
  rmSync(dir, { recursive: true, force: true });
});

async function start(events: object | undefined): Promise<LocalEvents | null> {
  const server = new URL('http://127.0.0.1:9');
  const settings: AgentSettings = {
    config: parseAgentConfig(events === undefined ? {} : { events }),
    ...{ server, org: 'default', name: 'web1', dataDir: dir, keyFile: '', fileDir: dir, ca: null },
  };
  const identity = { server, org: 'default', name: 'web1', ca: null, key: createPrivateKey(pair.privateKey) };
  local = await startLocalEvents(settings, identity, { clock: hasty, logger, random: () => 0.5 });
  return local;
}

const upstream = () => `stomp://127.0.0.1:${root.port}`;
const listens = () => statSync(socket, { throwIfNoEntry: false })?.isSocket() === true;

async function program(): Promise<Client> {
  await root.until(listens);
  const client = connect({ url: `unix:${socket}` });
  clients.push(client);
  await client.ready();
  return client;
}

describe('the socket for programs on a node', () => {
  test('is not there unless it is configured', async () => {
    expect(await start(undefined)).toBeNull();
  });

  test('lets them publish as the node, which logs in with its key', async () => {
    const watcher = await root.client('default/watcher');
    await watcher.subscribe('1', "type = 'temp.high'");
    await start({ socket: 'events.sock', upstream: upstream() });
    await (await program()).publish({ type: 'temp.high', attributes: [['celsius', '81']] });
    const [event] = await watcher.messages(1);
    expect(Object.fromEntries(event?.headers ?? [])).toMatchObject({ source: 'default/web1', celsius: '81' });
  });

  test('lets them answer commands', async () => {
    const operator = await root.client('default/operator');
    await operator.subscribe('1', "type = 'complete' AND token = 't'");
    await start({ socket: 'events.sock', upstream: upstream() });
    const client = await program();
    const commands = client.subscribe({ selector: "type = 'restart' AND node = 'web1'" });
    await commands.ready;
    operator.publish('restart', [
      ['node', 'web1'],
      ['token', 't'],
    ]);
    const { value: command } = await commands.next();
    if (command === undefined) throw new Error('no command came');
    await client.complete(command, 3);
    const [completion] = await operator.messages(1);
    expect(Object.fromEntries(completion?.headers ?? [])).toMatchObject({ source: 'default/web1', error: '3' });
  });

  test('goes on for all others when a program publishes what the node may not', async () => {
    root.authority.set('default/web1', { publish: { granted: ['temp.*'], restricted: [], open: [] } });
    await start({ socket: 'events.sock', upstream: upstream() });
    const [wrong, other] = [await program(), await program()];
    const events = other.subscribe();
    await events.ready;
    await expect(wrong.publish({ type: 'door.open' })).rejects.toMatchObject({ code: 'event_publish_denied' });
    await other.publish({ type: 'temp.high' });
    expect((await events.next()).value?.type).toBe('temp.high');
  });

  test('is for the user of the agent alone', async () => {
    await start({ socket, upstream: upstream() });
    await program();
    expect(statSync(socket).mode & 0o777).toBe(0o600);
  });

  test('comes when the server takes the node, if it did not at first', async () => {
    known = false;
    await start({ socket, upstream: upstream() });
    await root.until(() => errors.length > 1);
    expect(listens()).toBe(false);
    known = true;
    await (await program()).publish({ type: 'temp.high' });
  });

  test('is refused in a line that says why, without a stack', async () => {
    known = false;
    await start({ socket, upstream: upstream() });
    await root.until(() => errors.length > 0);
    const reason = expect.stringMatching(/^upstream stomp:.+ does not take this relay: ./);
    expect(errors[0]).toEqual({ code: 'upstream_refused', reason });
  });

  test('is gone when the agent stops', async () => {
    await start({ socket, upstream: upstream() });
    await program();
    await local?.stop();
    expect(listens()).toBe(false);
  });

  test.each([
    [{ socket: 'a', group: 'no-such-group' }, "there is no group 'no-such-group'"],
    [{ socket: 'a', upstream: 'http://localhost' }, 'invalid address http://localhost'],
    [{ socket: 'x'.repeat(107) }, 'invalid address stomp+unix:'],
    [{}, 'events'],
    [{ socket: 'a', mode: 1 }, 'events'],
  ])('is refused as %j', async (events, reason) => {
    const refused = start(events);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_configuration' });
    await expect(refused).rejects.toThrow(reason);
  });
});
