import { createPublicKey } from 'node:crypto';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { doctor, startAgent } from '@muster/agent';
import { ManualClock, systemClock } from '@muster/base';
import { fingerprintOf, generateKeyPair } from '@muster/signing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { groupOf } from '../src/execution/cgroup.js';
import { ENROL_TOKEN_BYTES } from '../src/limits.js';
import { scratch, silent } from './support/agent.js';
import { FakeServer } from './support/fake-server.js';

let server: FakeServer;
let otherKey: string;
let place: Awaited<ReturnType<typeof scratch>>;

beforeAll(async () => {
  otherKey = (await generateKeyPair()).publicKey;
});
beforeEach(async () => {
  place = await scratch();
  server = await FakeServer.start();
});
afterEach(async () => {
  await server.stop();
  await place.dispose();
});

const around = { clock: systemClock, logger: silent, random: () => 0.5 };
const options = () => ({ server: server.url, org: 'acme', name: 'node1', dataDir: place.dir });
const enrolments = () => server.requests.filter((line) => line.endsWith('/enroll')).length;
const publicKey = async () =>
  createPublicKey(await readFile(join(place.dir, 'client.pem'))).export({ type: 'spki', format: 'pem' });

describe('enrolment', () => {
  it('makes its own key, private to it, registers it and connects', async () => {
    const agent = await startAgent({ ...options(), enroll: 'token' }, around);
    await server.message('ready');
    expect((await stat(join(place.dir, 'client.pem'))).mode & 0o777).toBe(0o600);
    expect(server.nodeKey).toBe(await publicKey());
    await agent.stop();
  });
  it('takes its token from a file, which need not be there once it has enrolled', async () => {
    const enrollFile = join(place.dir, 'token');
    await writeFile(enrollFile, 'token\n', { mode: 0o600 });
    await (await startAgent({ ...options(), enrollFile }, around)).stop();
    expect(enrolments()).toBe(1);
    await rm(enrollFile);
    await (await startAgent({ ...options(), enrollFile }, around)).stop();
    expect(enrolments()).toBe(1);
  });
  it('without the file says how to enrol, and names a file that holds no token', async () => {
    const enrollFile = join(place.dir, 'token');
    await expect(startAgent({ ...options(), enrollFile }, around)).rejects.toMatchObject({ code: 'not_enrolled' });
    for (const text of ['', 'two tokens', 'x'.repeat(ENROL_TOKEN_BYTES + 1)]) {
      await writeFile(enrollFile, text);
      await expect(startAgent({ ...options(), enrollFile }, around)).rejects.toThrow(/does not hold one token/);
    }
    expect(enrolments()).toBe(0);
  });
  it('once enrolled ignores the token', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    await (await startAgent({ ...options(), enroll: 'other' }, around)).stop();
    expect(enrolments()).toBe(1);
  });
  it('an attempt that was refused may be repeated, with the same key', async () => {
    server.refuse = { status: 401, error: 'the token is unknown, used up or expired' };
    await expect(startAgent({ ...options(), enroll: 'bad' }, around)).rejects.toThrow(/token is unknown/);
    const first = await publicKey();
    server.refuse = null;
    const agent = await startAgent({ ...options(), enroll: 'good' }, around);
    expect(server.nodeKey).toBe(first);
    await agent.stop();
  });
  it('removed by an admin it enrols again with a new key, and keeps the old one aside', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    const old = await readFile(join(place.dir, 'client.pem'), 'utf8');
    server.removed = true;
    const agent = await startAgent({ ...options(), enroll: 'other' }, around);
    const from = server.received.length;
    await server.message('ready', () => true, from);
    expect(await readFile(join(place.dir, 'client.pem'), 'utf8')).not.toBe(old);
    expect(server.nodeKey).toBe(await publicKey());
    expect(await readFile(join(place.dir, 'client.pem.old'), 'utf8')).toBe(old);
    expect((await stat(join(place.dir, 'client.pem'))).mode & 0o777).toBe(0o600);
    await agent.stop();
    await (await startAgent({ ...options(), enroll: 'other' }, around)).stop();
    expect(enrolments()).toBe(2);
  });
  it('a lost answer to enrolling again is asked for again, with the same new key', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    server.removed = true;
    server.loseEnrolment = true;
    const stop = new AbortController();
    stop.abort();
    const broken = startAgent({ ...options(), enroll: 'other', signal: stop.signal }, around);
    await expect(broken).rejects.toMatchObject({ code: 'server_unreachable' });
    const registered = server.nodeKey;
    const agent = await startAgent({ ...options(), enroll: 'other' }, around);
    expect(await publicKey()).toBe(registered);
    expect(server.nodeKey).toBe(registered);
    await agent.stop();
  });
  it.each([
    ['refused for another key', () => (server.nodeKey = otherKey)],
    ['refused by something before the server', () => (server.refuse = { status: 401, error: 'who are you?' })],
    ['not answered', () => server.stop()],
  ])('a key that is %s is not given up', async (_, happens) => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    const before = await readdir(place.dir);
    const key = await publicKey();
    await happens();
    await (await startAgent({ ...options(), enroll: 'other' }, around)).stop();
    expect(await publicKey()).toBe(key);
    expect(await readdir(place.dir)).toEqual(before);
  });
  it('a refusal to enrol it again leaves its key in place', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    const key = await publicKey();
    server.removed = true;
    server.refuseEnrolment = { status: 401, error: 'the token is unknown, used up or expired' };
    await expect(startAgent({ ...options(), enroll: 'bad' }, around)).rejects.toThrow(/token is unknown/);
    expect(await publicKey()).toBe(key);
  });
  it.each([429, 502, 503, 504])('a server that cannot enrol it just now (%i) is asked again', async (status) => {
    server.refuseEnrolment = { status, error: 'the database cannot be used now' };
    const clock = new ManualClock(Date.now());
    const warned: string[] = [];
    const logger = { ...silent, warn: (text: string) => warned.push(text) } as unknown as typeof silent;
    const starting = startAgent({ ...options(), enroll: 'token' }, { ...around, clock, logger });
    await expect.poll(() => warned).toEqual([expect.stringContaining('the database cannot be used now')]);
    server.refuseEnrolment = null;
    clock.advance(60_000);
    const agent = await starting;
    expect(server.nodeKey).toBe(await publicKey());
    expect(enrolments()).toBe(2);
    await agent.stop();
  });
  it('an unreachable server is waited for, until told to stop', async () => {
    const stop = new AbortController();
    const clock = new ManualClock(Date.now());
    const unreachable = { ...options(), server: 'http://127.0.0.1:1', enroll: 't', signal: stop.signal };
    const starting = startAgent(unreachable, { ...around, clock });
    stop.abort();
    await expect(starting).rejects.toThrow(/cannot reach/);
  });
});

describe('starting', () => {
  it('without a server, without a key, or with a bad URL is refused with what to do', async () => {
    await expect(startAgent({ dataDir: place.dir }, around)).rejects.toThrow(/--server/);
    await expect(startAgent({ ...options(), server: 'ftp://x' }, around)).rejects.toThrow(/http/);
    await expect(startAgent({ ...options(), key: '/none.pem' }, around)).rejects.toThrow(/key: ENOENT/);
  });
  it('for the first time without a token says how to enrol', async () => {
    const path = join(place.dir, 'client.pem');
    await expect(startAgent(options(), around)).rejects.toMatchObject({
      message: `this node has not enrolled: there is no key at ${path}`,
      fix: expect.stringMatching(/`muster token create` .+ --enroll-file FILE/),
    });
  });
  it('with a file where its data directory should be is refused by the name of the setting', async () => {
    const dataDir = join(place.dir, 'file');
    await writeFile(dataDir, '');
    const starting = startAgent({ ...options(), dataDir }, around);
    await expect(starting).rejects.toThrow(
      /^configuration: data_dir \(--data-dir\): .+ cannot use .+file: it is not a/,
    );
  });
});

describe('doctor', () => {
  it('finds nothing wrong with a node that can work', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    const { ok, checks, paragraph } = await doctor(options(), systemClock);
    expect(checks.filter((check) => !check.ok)).toEqual([]);
    expect(ok).toBe(true);
    expect(checks.map(({ name }) => name)).toEqual([
      'configuration',
      'commands',
      'key',
      'server',
      'clock',
      'discovery',
      'server key',
      'command channel',
      'heartbeat',
    ]);
    expect(paragraph).toContain('node1');
    expect(checks[1]?.detail).toMatch(/a kill reaches (every process|all processes but those that leave)/);
  });
  it('names limits that cannot be kept, and the agent does not start with them', async () => {
    const usable = await groupOf('self')
      .then((group) => group.read('cgroup.controllers'))
      .catch(() => '');
    // Of a machine that has the controllers, the group is shared with who runs the tests.
    const config = join(place.dir, 'agent.yaml');
    await writeFile(config, 'limits: { pids: 100 }');
    await expect(startAgent({ ...options(), config, enroll: 'token' }, around)).rejects.toThrow(
      /limits are set for commands, and cannot be kept here/,
    );
    const { checks } = await doctor({ ...options(), config }, systemClock);
    expect(checks[1]).toMatchObject({ name: 'commands', ok: usable.includes('pids') });
  });
  it('says what the program for facts tells, or why it tells none', async () => {
    const program = join(place.dir, 'facts');
    const config = join(place.dir, 'agent.yaml');
    await writeFile(config, `facts: { program: ${program} }`);
    const facts = async (text: string) => {
      await writeFile(program, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const { checks, paragraph } = await doctor({ ...options(), config }, systemClock);
      return { ...checks.find(({ name }) => name === 'facts'), paragraph };
    };
    expect(await facts(`echo '{"rack":"r7","slot":3}'`)).toMatchObject({
      ok: true,
      warning: false,
      detail: `${program} tells rack, slot`,
    });
    expect(await facts('echo no disk >&2; exit 3')).toMatchObject({
      ok: true,
      warning: true,
      detail: `${program} tells no facts: it ended with exit code 3: no disk`,
      // There is no key here.
      paragraph: expect.stringMatching(/not available as it is\. key: .* Besides, mend this: facts: .*: no disk\.$/),
    });
  });
  it('names a missing key', async () => {
    expect(await doctor(options(), systemClock)).toMatchObject({
      ok: false,
      paragraph: expect.stringMatching(/ key: this node has not enrolled: .+ with --key\.$/),
    });
  });
  it('names a key that others can read, an unreachable server, a clock that is wrong', async () => {
    const key = join(place.dir, 'open.pem');
    await writeFile(key, (await generateKeyPair()).privateKey, { mode: 0o644 });
    const away = await doctor({ ...options(), key, server: 'http://127.0.0.1:1' }, systemClock);
    expect(away.paragraph).toMatch(/chmod 600/);
    expect(away.paragraph).toMatch(/ECONNREFUSED/);
    const late = await doctor({ ...options(), key }, new ManualClock(Date.now() + 1_000_000));
    expect(late.paragraph).toMatch(/clock is \d+ s/);
  });
  it('tells the words of a server that refuses', async () => {
    const key = join(place.dir, 'key.pem');
    await writeFile(key, (await generateKeyPair()).privateKey, { mode: 0o600 });
    const { paragraph } = await doctor({ ...options(), key }, systemClock);
    expect(paragraph).toContain('Failed to authenticate');
  });
  it('says of a server with another key that refuses the node that it is not the known one, before it says how to enrol', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    const { publicKey } = await generateKeyPair();
    await writeFile(join(options().dataDir, 'server.pub'), publicKey);
    server.removed = true;
    server.saysKey = fingerprintOf(publicKey);
    expect((await doctor(options(), systemClock)).paragraph).toMatch(/discovery: .*enrol again/);
    server.saysKey = 'e'.repeat(64);
    const { ok, checks, paragraph } = await doctor(options(), systemClock);
    expect([ok, checks.at(-1)?.name]).toEqual([false, 'server key']);
    expect(paragraph).toMatch(
      /its key is e{64}; the node knows .+ not the server that the node knows.+server\.pub and enrol/,
    );
  });
  it('names a command channel that refuses', async () => {
    await (await startAgent({ ...options(), enroll: 'token' }, around)).stop();
    server.admitting = false;
    const { paragraph } = await doctor(options(), systemClock);
    expect(paragraph).toMatch(/command channel: .*refuses/);
  });
});
