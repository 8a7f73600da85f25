import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CliResult } from './support/cluster.js';
import { EventTree } from './support/event-tree.js';
import type { RelayProcess } from './support/relay-process.js';
import { SilentNetwork } from './support/silent-network.js';
import type { StartedProcess } from './support/started-process.js';
import { until } from './support/until.js';

/** A server, a relay below it, and a relay below that one. */
let tree: EventTree;
let upper: RelayProcess;
let lower: RelayProcess;
const watching: StartedProcess[] = [];

beforeAll(async () => {
  tree = await EventTree.start();
  // A relay shows those below it what it may follow itself.
  await tree.cluster.json('group', 'create', 'push_job_readers', '--user', 'admin', '--client', 'relay');
  upper = await tree.relay('upper', tree.port);
  lower = await tree.relay('lower', upper.port);
});
afterEach(async () => {
  for (const watch of watching.splice(0)) if (watch.exit === null) await watch.kill();
});
afterAll(() => tree.stop());

const atLeaf = () => ['--fabric', `stomp://127.0.0.1:${lower.port}`];
const muster = (...args: string[]): Promise<CliResult> => tree.cluster.muster(...args);

interface Shown {
  readonly type: string;
  readonly position: number;
  readonly source: string;
  readonly source_kind: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** `muster event watch`, as soon as it is told that it is subscribed. */
async function watch(...args: string[]): Promise<StartedProcess> {
  const process = tree.cluster.launch('the watch', ['event', 'watch', ...args]);
  watching.push(process);
  await process.logged(/watching /);
  return process;
}

function shown({ stdout }: { readonly stdout: string }): Shown[] {
  const lines = stdout.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Shown);
}

/** At its end. */
async function ended(process: StartedProcess): Promise<Shown[]> {
  const { code } = await process.exited;
  if (code !== 0) throw new Error(`exit ${code}: ${process.log}`);
  return shown(process);
}

describe('an event', () => {
  test('that is published at the server is one line at the end of the tree', async () => {
    const live = await watch("type = 'temp.high' AND celsius > 80", '--count', '1', ...atLeaf());
    await muster('event', 'publish', 'temp.high', '--attr', 'host=db1', '--attr', 'celsius=79');
    const published = await muster(
      ...['event', 'publish', 'temp.high', '--attr', 'host=db 1', '--attr', 'celsius=81', '--body', 'too hot\nhelp'],
    );
    expect([published.code, published.stdout]).toEqual([0, 'published temp.high\n']);
    expect((await live.exited).code).toBe(0);
    expect(live.stdout).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d temp\.high default\/admin \(user\) host="db 1" celsius=81 too hot\\nhelp\n$/,
    );
  });

  test('that is published at the end of the tree comes to the server, with all that was said', async () => {
    const live = await watch("type = 'disk.report'", '--count', '1', '--json');
    const publish = tree.cluster.launch('publish', [
      ...['event', 'publish', 'disk.report', '--attr', 'host=db1', '--body', '-', ...atLeaf()],
    ]);
    publish.write('from standard input');
    publish.closeInput();
    expect((await publish.exited).code).toBe(0);
    expect(await ended(live)).toMatchObject([
      {
        type: 'disk.report',
        source: 'default/admin',
        source_kind: 'user',
        attributes: { host: 'db1' },
        body: 'from standard input',
      },
    ]);
  });

  test('may have a file as its body', async () => {
    const live = await watch("type = 'filed'", '--count', '1', '--json');
    writeFileSync(join(tree.cluster.dir, 'body.txt'), 'from a file');
    await muster('event', 'publish', 'filed', '--body', '@body.txt');
    expect(await ended(live)).toMatchObject([{ body: 'from a file' }]);
  });

  test('of Muster itself is followed like any other', async () => {
    const live = await watch("type LIKE 'auth.%' AND org = 'default'", '--count', '1', '--json');
    await muster('service', 'create', 'mailer', '--key-out', 'mailer.pem');
    expect(await ended(live)).toMatchObject([{ type: 'auth.service.create' }]);
  });
});

describe('what was missed', () => {
  test('is replayed at the end of the tree, in order, and then it goes on live', async () => {
    for (const n of ['1', '2']) await muster('event', 'publish', 'replayed', '--attr', `n=${n}`);
    const replay = await watch("type = 'replayed'", '--from', '-1h', '--count', '3', '--json', ...atLeaf());
    await muster('event', 'publish', 'replayed', '--attr', 'n=3');
    const events = await ended(replay);
    expect(events.map(({ attributes }) => attributes.n)).toEqual(['1', '2', '3']);
    const [, second] = events;
    const rest = await watch("type = 'replayed'", '--from', String(second?.position), '--count', '1', '--json');
    expect((await ended(rest)).map(({ attributes }) => attributes.n)).toEqual(['3']);
  });

  test('by a durable watch comes to the next one of that name', async () => {
    const durable = ["type = 'mail'", '--durable', 'mailer', '--count', '1', '--json', ...atLeaf()];
    const first = await watch(...durable);
    await muster('event', 'publish', 'mail', '--attr', 'n=1');
    await muster('event', 'publish', 'mail', '--attr', 'n=2');
    expect(await ended(first)).toMatchObject([{ attributes: { n: '1' } }]);
    expect(await ended(await watch(...durable))).toMatchObject([{ attributes: { n: '2' } }]);
  });

  test('by a durable watch is shown once, also when the server never heard that it was', async () => {
    const network = await SilentNetwork.open();
    network.leadTo(tree.port);
    try {
      const watching = await watch(
        "type = 'once'",
        '--durable',
        'once',
        '--json',
        '--fabric',
        `stomp://127.0.0.1:${network.port}`,
      );
      network.deafen();
      await muster('event', 'publish', 'once', '--attr', 'n=1');
      await until('it to be shown', async () => shown(watching).length === 1);
      network.reset();
      await watching.logged(/connected again/);
      await muster('event', 'publish', 'once', '--attr', 'n=2');
      await until('the next', async () => shown(watching).length > 1);
      expect(shown(watching).map(({ attributes }) => attributes.n)).toEqual(['1', '2']);
      await watching.kill('SIGINT');
      const after = await watch("type = 'once'", '--durable', 'once', '--json', '--count', '1');
      await muster('event', 'publish', 'once', '--attr', 'n=3');
      expect(await ended(after)).toMatchObject([{ attributes: { n: '3' } }]);
    } finally {
      await network.close();
    }
  });

  test('by two durable watches of one name comes to the later one; the one before ends and says why', async () => {
    const durable = ["type = 'one.reader'", '--durable', 'one-reader', '--count', '1', '--json'];
    const before = await watch(...durable);
    const after = await watch(...durable, ...atLeaf());
    expect((await before.exited).code).toBe(5);
    expect(before.stderr).toContain("the durable subscription 'one-reader' was taken over by another connection");
    expect(before.stderr).toContain('Let one connection at a time follow it, or give each a name of its own.');
    expect(before.stderr).not.toContain('connecting again');
    await muster('event', 'publish', 'one.reader');
    expect(await ended(after)).toMatchObject([{ type: 'one.reader' }]);
  });
});

describe('a future event', () => {
  test('is listed, comes when it is due, and never when it was cancelled', async () => {
    const live = await watch("type IN ('soon', 'never')", '--count', '1', '--json', ...atLeaf());
    const never = await tree.cluster.json<{ scheduled: string }>('event', 'publish', 'never', '--at', '+10m');
    expect((await muster('event', 'scheduled', 'list')).stdout).toContain(never.scheduled);
    expect((await muster('event', 'scheduled', 'cancel', never.scheduled)).code).toBe(0);
    const soon = await muster('event', 'publish', 'soon', '--at', '+1s', ...atLeaf());
    expect(soon.stdout).toMatch(/^scheduled soon: \w+\n$/);
    expect(await ended(live)).toMatchObject([{ type: 'soon' }]);
  });
});

describe('a command', () => {
  test('exits with the error code of its completion', async () => {
    const commands = await watch("type = 'restart'", '--count', '1', '--json', ...atLeaf());
    const request = tree.cluster.launch('request', ['event', 'publish', 'restart', '--wait', '--timeout', '60s']);
    const [command] = await ended(commands);
    const token = command?.attributes.token ?? '';
    const answer = await muster('event', 'complete', token, '--error', '7', '--body', 'no such service', ...atLeaf());
    expect([answer.code, answer.stdout]).toEqual([0, `completed ${token} with error code 7\n`]);
    expect((await request.exited).code).toBe(7);
    expect(request.stdout).toContain('no such service');
  });

  test('that nobody answers exits 124 after its time', async () => {
    const request = await muster('event', 'publish', 'restart', '--wait', '--timeout', '1s');
    expect([request.code, request.stderr]).toEqual([124, expect.stringContaining('no completion came within 1 s')]);
  });
});

test('a watch that verifies signatures shows what is signed with its key, through both relays, and tells of the rest', async () => {
  const file = (name: string, text: string) => writeFileSync(join(tree.cluster.dir, name), text);
  file('good.key', 'correct horse battery staple\n');
  file('bad.key', 'another\n');
  const live = await watch("type = 'signed'", '--verify', 'good.key', '--count', '1', '--json', ...atLeaf());
  await muster('event', 'publish', 'signed', '--attr', 'n=1');
  await muster('event', 'publish', 'signed', '--attr', 'n=2', '--sign', 'bad.key');
  await muster('event', 'publish', 'signed', '--attr', 'n=3', '--attr', 'text=a:b c', '--sign', 'good.key');
  expect(await ended(live)).toMatchObject([{ attributes: { n: '3' } }]);
  expect(live.stderr.match(/not shown: event \d+ \(signed of default\/admin\)/g)).toHaveLength(2);
});

describe('a watch', () => {
  test('ends with exit code 0 by Ctrl-C', async () => {
    const live = await watch();
    live.signal('SIGINT');
    expect(await live.exited).toEqual({ code: 0, signal: null });
  });

  test('connects again by itself when its relay comes back, and says so', async () => {
    const live = await watch("type = 'after'", '--count', '1', '--json', ...atLeaf());
    await lower.kill();
    await live.logged(/connecting again in \d+ s/);
    await lower.restart();
    await live.logged(/connected again to stomp/);
    await muster('event', 'publish', 'after');
    expect(await ended(live)).toMatchObject([{ type: 'after' }]);
  });

  test.each([
    [['type = AND'], 2, '  type = AND\n         ^\nerror: invalid selector at character 7'],
    [['', '--count', '0'], 2, '--count must be a whole number'],
    [['', '--from', 'yesterday'], 2, '--from must be first, a position, '],
    [['', '--verify', 'missing.key'], 2, 'cannot read'],
    [['', '--fabric', 'http://localhost'], 2, 'invalid address'],
    [['', '--fabric', 'stomp://127.0.0.1:1'], 5, 'cannot connect to stomp://127.0.0.1:1'],
  ])('%j exits %i and says why', async (args, code, said) => {
    const refused = await muster('event', 'watch', ...args);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(said)]);
    expect(refused.stderr).not.toContain('connecting again');
  });
});

test.each([
  [['no type!'], 2, 'type'],
  [['x', '--attr', 'novalue'], 2, '--attr must be NAME=VALUE'],
  [['x', '--attr', 'source=me'], 2, 'a name of the protocol'],
  [['x', '--at', 'tomorrow'], 2, '--at must be +10m, or a time'],
  [['x', '--at', '+1m', '--wait'], 2, 'give either --wait or --at'],
  [['x', '--body', '@large.txt'], 2, 'beyond the limit of 4096 bytes'],
  [['push.start'], 3, "may not publish events of type 'push.start'"],
])('publish %j exits %i and says why', async (args, code, said) => {
  writeFileSync(join(tree.cluster.dir, 'large.txt'), 'y'.repeat(5000));
  const refused = await muster('event', 'publish', ...args);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(said)]);
});

describe('who may not follow everything', () => {
  beforeAll(() => muster('service', 'create', 'stranger', '--key-out', 'stranger.pem'));

  const watchAs = (...args: string[]) => {
    const settings = { MUSTER_URL: tree.cluster.url, MUSTER_USER: 'stranger', MUSTER_KEY: 'stranger.pem' };
    const process = tree.cluster.launch('the watch', ['event', 'watch', ...args], {
      MUSTER_CONFIG: undefined,
      ...settings,
    });
    watching.push(process);
    return process;
  };
  const NOTE = 'events that you may not follow are not shown';

  test.each([
    ['at the server', () => []],
    ['at the end of the tree', atLeaf],
  ])('is told so, unless nothing is missing: %s', async (_, where) => {
    const [some, all] = [
      watchAs('celsius > 80', ...where()),
      watchAs("type = 'temp.high'", '--count', '1', ...where()),
    ];
    await some.logged(new RegExp(NOTE));
    await all.logged(/watching /);
    await muster('event', 'publish', 'temp.high');
    expect((await all.exited).code).toBe(0);
    expect(all.stderr).not.toContain(NOTE);
  });

  test('is refused what they may not follow at all', async () => {
    const refused = watchAs("type LIKE 'auth.%'");
    expect((await refused.exited).code).toBe(3);
    expect(refused.stderr).toContain("'default/stranger' may not follow events of type 'auth.*'");
  });
});

test('a program logs in with a token, too', async () => {
  const env = { MUSTER_URL: tree.cluster.url, MUSTER_TOKEN: tree.token };
  const launch = (more: object) =>
    tree.cluster.launch('publish', ['event', 'publish', 'x'], { MUSTER_CONFIG: undefined, ...env, ...more });
  expect((await launch({ MUSTER_USER: 'admin' }).exited).code).toBe(0);
  const nameless = launch({});
  expect((await nameless.exited).code).toBe(2);
  expect(nameless.stderr).toContain('MUSTER_USER');
});

describe('a program on a node', () => {
  const unix = () => ['--fabric', `unix:${join(tree.cluster.agentDir('web1'), 'events.sock')}`];

  beforeAll(async () => {
    const events = { socket: 'events.sock', upstream: `stomp://127.0.0.1:${lower.port}` };
    await tree.cluster.startAgents({ web1: { events }, web2: { events: { socket: 'events.sock' } } });
    for (const name of ['web1', 'web2']) await tree.cluster.agent(name).logged(/clients are taken/);
  });

  test('publishes through the socket of its agent as the node, without any settings', async () => {
    const live = await watch("source = 'default/web1'", '--count', '1', '--json');
    const publish = tree.cluster.launch('publish', ['event', 'publish', 'temp.high', ...unix()], {
      MUSTER_CONFIG: undefined,
    });
    expect((await publish.exited).code).toBe(0);
    expect(await ended(live)).toMatchObject([{ type: 'temp.high', source: 'default/web1', source_kind: 'node' }]);
  });

  test('is given commands, and answers them', async () => {
    const commands = await watch("type = 'restart' AND node = 'web1'", '--count', '1', '--json', ...unix());
    const request = tree.cluster.launch('request', [
      ...['event', 'publish', 'restart', '--attr', 'node=web1', '--wait', '--timeout', '60s'],
    ]);
    const [command] = await ended(commands);
    await muster('event', 'complete', command?.attributes.token ?? '', ...unix());
    expect((await request.exited).code).toBe(0);
    expect(request.stdout).toContain('default/web1');
  });

  test('is not needed to follow what Muster does with the node', async () => {
    const live = await watch("type LIKE 'push.%' AND org = 'default'", '--count', '1', '--json', ...atLeaf());
    await muster('push', 'start', 'name:web1', '--detach', '--', 'true');
    expect(await ended(live)).toMatchObject([{ type: expect.stringMatching(/^push\./), source: expect.any(String) }]);
  });

  test('reaches the server itself when its agent knows no relay', async () => {
    const live = await watch("source = 'default/web2'", '--count', '1', '--json', ...atLeaf());
    const socket = join(tree.cluster.agentDir('web2'), 'events.sock');
    const published = await muster('event', 'publish', 'here', '--fabric', `unix:${socket}`);
    expect(published.code).toBe(0);
    expect(await ended(live)).toMatchObject([{ type: 'here' }]);
  });

  test('hears that its socket is gone when the agent was stopped', async () => {
    await tree.cluster.agent('web2').kill('SIGTERM');
    const socket = join(tree.cluster.agentDir('web2'), 'events.sock');
    const refused = await muster('event', 'publish', 'here', '--fabric', `unix:${socket}`);
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('ENOENT')]);
  });
});

test('muster relay status shows both relays', async () => {
  const run = tree.cluster.launch('status', ['relay', 'status', '--json'], { XDG_RUNTIME_DIR: tree.cluster.dir });
  expect((await run.exited).code).toBe(0);
  const relays = JSON.parse(run.stdout) as { upstream: { url: string; state: string } }[];
  expect(relays.map(({ upstream }) => upstream.state)).toEqual(['serving', 'serving']);
});
