import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { allowedRoot } from '../../src/systems/config.js';
import { SystemHelpers } from '../../src/systems/helpers.js';

const { username } = userInfo();
const ALLOWED = { roots: ['/scratch/jobs', '/data'], user: username };

describe('roots of execution systems', () => {
  it.each([
    ['/scratch/jobs', '/scratch/jobs'],
    ['/scratch/jobs/lab', '/scratch/jobs'],
    ['/data/a/b', '/data'],
  ])('%s is allowed below %s', (root, within) => {
    expect(allowedRoot(ALLOWED, root)).toEqual({ within });
  });

  it.each([
    '/scratch',
    '/scratch/jobsandmore',
    '/',
    '/etc',
    'data',
    '/data/../etc',
    '/data/./a',
    '/data//a',
    '/data/',
    '',
  ])('%j is not, and it is said what is', (root) => {
    expect(allowedRoot(ALLOWED, root)).toEqual({
      refused: `'${root}' is not below /scratch/jobs, /data: see systems.roots in agent.yaml`,
    });
  });

  it('none is unless the owner says so', () => {
    const refused = expect.stringContaining('its owner allows them with systems in agent.yaml');
    expect(allowedRoot(undefined, '/scratch/jobs')).toEqual({ refused });
  });

  it.each([
    [{ roots: ['/scratch/jobs'] }, 'systems'],
    [{ user: 'jobs', roots: [] }, 'systems.roots'],
    [{ user: 'jobs', roots: ['/'] }, 'systems.roots.0'],
    [{ user: 'jobs', roots: ['scratch'] }, 'systems.roots.0'],
    [{ user: 'jobs', roots: ['/scratch/../etc'] }, 'systems.roots.0'],
    [{ user: '', roots: ['/scratch'] }, 'systems.user'],
    [{ user: 'jobs', roots: ['/scratch'], root: '/' }, 'systems'],
  ])('a configuration %j is refused by name', (systems, key) => {
    expect(() => parseAgentConfig({ systems })).toThrow(key);
  });
});

/** Says who it is and with what it was started, then gives back what it gets. */
const ECHO = `
import { Socket } from 'node:net';
import { userInfo } from 'node:os';
const connection = new Socket({ fd: 3 });
connection.write(JSON.stringify([userInfo().username, ...process.argv.slice(2), process.env.SECRET ?? null]));
connection.pipe(connection);
connection.on('close', () => process.exit());
`;

describe('a helper', () => {
  let dir: string;
  let helpers: SystemHelpers;
  let near: Promise<Socket>;
  let connects: string[];
  let refused: Promise<readonly [string, string]>;
  let unreachable: boolean;
  const open: Duplex[] = [];
  const closers: (() => void)[] = [];
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'muster-helpers-'));
    const main = join(dir, 'echo.mjs');
    await writeFile(main, ECHO);
    connects = [];
    unreachable = false;
    let arrived: (socket: Socket) => void;
    near = new Promise((resolve) => {
      arrived = resolve;
    });
    let said: (what: readonly [string, string]) => void;
    refused = new Promise((resolve) => {
      said = resolve;
    });
    const server = createServer((socket) => {
      open.push(socket);
      arrived(socket);
    });
    const path = join(dir, 'server');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    closers.push(() => server.close());
    helpers = new SystemHelpers({
      main,
      logger: pino({ level: 'silent' }),
      calls: {
        async connect(session) {
          connects.push(session);
          if (unreachable) throw new Error('the server is away');
          const { connect } = await import('node:net');
          const far = connect(path);
          open.push(far);
          return far;
        },
        refuse: async (session, reason) => said([session, reason]),
      },
    });
    process.env.SECRET = 'of the agent';
  });
  afterEach(async () => {
    delete process.env.SECRET;
    helpers.stop();
    for (const one of open.splice(0)) one.destroy();
    for (const close of closers.splice(0)) close();
    await rm(dir, { recursive: true });
  });

  const order = (session: string, root = '/data/lab') =>
    ({ type: 'system_open', session, system: 'lab', root }) as const;
  const read = (socket: Socket): Promise<string> =>
    new Promise((resolve) => socket.once('data', (piece) => resolve(String(piece))));

  it('runs as the user of the owner, and its bytes are passed on both ways', async () => {
    helpers.open(order('s1'), ALLOWED);
    // Asked for again, as after a break of the channel: it is on its way.
    helpers.open(order('s1'), ALLOWED);
    const socket = await near;
    expect(JSON.parse(await read(socket))).toEqual([username, 'lab', '/data/lab', '/data', null]);
    socket.write('there and back');
    expect(await read(socket)).toBe('there and back');
    expect(connects).toEqual(['s1']);
  });

  it('ends with the connection, and the connection with the agent', async () => {
    helpers.open(order('s1'), ALLOWED);
    const socket = await near;
    await read(socket);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    helpers.stop();
    await closed;
  });

  it('is forgotten when the server is not reached, so that it may be asked for again', async () => {
    unreachable = true;
    helpers.open(order('s1'), ALLOWED);
    await expect.poll(() => connects).toEqual(['s1']);
    unreachable = false;
    await expect
      .poll(() => {
        helpers.open(order('s1'), ALLOWED);
        return connects.length;
      })
      .toBe(2);
    await near;
  });

  it.each([
    ['of a node whose owner allows none', undefined, '/data/lab', 'its owner allows them with systems in agent.yaml'],
    ['elsewhere', ALLOWED, '/etc', "'/etc' is not below /scratch/jobs, /data"],
    ['of a user who is not there', { ...ALLOWED, user: 'muster-nobody' }, '/data', "user 'muster-nobody'"],
  ])('%s is refused, and the server is told why', async (_, config, root, why) => {
    helpers.open(order('s1', root), config);
    expect(await refused).toEqual(['s1', expect.stringContaining(why)]);
    expect(connects).toEqual([]);
  });
});
