import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { forgetPeak, peakMib, residentMib } from './support/memory.js';
import { SmallDisk } from './support/small-disk.js';
import { commandLineOf } from './support/started-process.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * What people and plugins do wrong, each with its clear outcome, while tasks of another queue run through.
 * MUSTER_TEST_FAULT_OUTPUT_MIB=5120 for more output.
 */
const MIB = 1_048_576;
const WRITTEN_MIB = Number(process.env.MUSTER_TEST_FAULT_OUTPUT_MIB ?? 200);
/** `tasks.output_limit`, the default. */
const LIMIT = 10 * MIB;
/** What agent, host and server need more while a plugin floods. */
const GROWTH_MIB = 128;
const DISK_MIB = 16;
const FLOOD_MS = 30_000 + WRITTEN_MIB * 100;

const PROGRAMS = {
  steady: 'echo "$MUSTER_TASK_ID" >> "$DIR/steady"; sleep 0.05',
  flood: 'head -c "$1"M /dev/zero | tr "\\000" x',
  fork: 'setsid sh -c \'echo $$ > "$DIR/session"; sleep 600\' & (setsid sh -c \'echo $$ > "$DIR/forked"; sleep 600\' &) ; wait',
  stubborn: 'trap "" TERM; echo > "$DIR/stubborn"; while :; do sleep 0.1; done',
  binary: 'cat "$DIR/bytes"; cat "$DIR/bytes" >&2',
  full: 'cat /dev/zero > everything; echo > "$DIR/full"; while [ ! -e "$DIR/enough" ]; do sleep 0.05; done; exit 4',
  small: 'echo done',
};
type Plugin = keyof typeof PROGRAMS;

interface Task {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly why: readonly string[];
}

let cluster: Cluster;
let disk: SmallDisk;
const at = (name: string): string => join(cluster.dir, name);
const written = (file: string): boolean => existsSync(file) && readFileSync(file, 'utf8') !== '';

beforeAll(async () => {
  cluster = await Cluster.start();
  const plugins = Object.fromEntries(
    Object.entries(PROGRAMS).map(([name, script]) => {
      writeFileSync(at(`${name}.sh`), `#!/bin/sh\n${script}\n`);
      chmodSync(at(`${name}.sh`), 0o755);
      return [name, { program: at(`${name}.sh`), args: ['{n}'], environment: { DIR: cluster.dir } }];
    }),
  );
  disk = await SmallDisk.mount(cluster.agentDir('small'), DISK_MIB);
  cluster.placeAgent('small', disk);
  const only = (...names: Plugin[]) => Object.fromEntries(names.map((name) => [name, plugins[name]]));
  await cluster.startAgents({
    node: { grace: 0.5, tasks: { max: 4, plugins: only('steady', 'flood', 'fork', 'stubborn', 'binary') } },
    small: { tasks: { max: 2, plugins: only('full', 'small') } },
  });
  for (const plugin of [...Object.keys(PROGRAMS), 'nobody-has-it']) {
    const made = await cluster.api.post('queues', { name: plugin, plugin });
    expect(made.status, made.text).toBe(201);
  }
});
neverHarmed(() => cluster);
afterAll(async () => {
  await cluster.stop();
  await disk.unmount();
});

async function add(queue: string, n = 0): Promise<string> {
  const added = await cluster.api.post(`queues/${queue}/tasks`, { params: { n } });
  expect(added.status, added.text).toBe(201);
  return (added.json as { id: string }).id;
}

const show = async (id: string): Promise<Task> => (await cluster.api.get(`tasks/${id}`)).json as Task;

function ends(id: string, patienceMs?: number): Promise<Task> {
  return until(
    `task ${id} to end`,
    async () => {
      const task = await show(id);
      if (['queued', 'claimed', 'running'].includes(task.status)) throw new Error(JSON.stringify(task));
      return task;
    },
    patienceMs,
  );
}

async function cancel(id: string): Promise<void> {
  expect((await cluster.muster('task', 'cancel', id)).code).toBe(0);
}

/** Tasks of another queue begin and end while `work` is done, each once. */
async function undisturbed<T>(work: () => Promise<T>): Promise<T> {
  let done = false;
  const ids: string[] = [];
  const steady = (async () => {
    do {
      const id = await add('steady');
      ids.push(id);
      expect(await ends(id)).toMatchObject({ status: 'succeeded', reason: null });
    } while (!done);
  })();
  try {
    return await work();
  } finally {
    done = true;
    await steady;
    const ran = readFileSync(at('steady'), 'utf8').trimEnd().split('\n');
    expect(ran.filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted());
  }
}

const output = (id: string, stream: 'stdout' | 'stderr') =>
  cluster.api.get(`tasks/${id}/output/${stream}`, { accept: 'application/octet-stream' });

describe('what people hand in', () => {
  test('a queue whose plugin no node has waits, and says so', async () => {
    const id = await add('nobody-has-it');
    const { why } = (await cluster.api.get('queues/nobody-has-it')).json as { why: readonly string[] };
    expect(why).toEqual([expect.stringContaining("No node that is up has the plugin 'nobody-has-it'")]);
    expect(await show(id)).toMatchObject({ status: 'queued', why });
    await cancel(id);
    expect(await show(id)).toMatchObject({ status: 'cancelled' });
  });

  test('20 MB of parameters are refused, in a body and in a line, and the lines before are added', async () => {
    await undisturbed(async () => {
      const text = 'x'.repeat(20 * MIB);
      const refused = await cluster.api.post('queues/steady/tasks', { params: { text } });
      expect([refused.status, refused.headers['x-muster-error']]).toEqual([413, 'body_too_large']);
      writeFileSync(at('long.jsonl'), `{"n":1}\n{"text":"${text}"}\n{"n":3}\n`);
      const added = await cluster.muster('task', 'add', 'nobody-has-it', '--from', at('long.jsonl'));
      expect([added.code, added.stderr]).toEqual([1, expect.stringMatching(/line 2: .* more than 2097152 characters/)]);
    });
    const waiting = await cluster.json<readonly Task[]>('task', 'list', 'queue:nobody-has-it AND status:queued');
    expect(waiting).toMatchObject([{ params: { n: 1 } }]);
    await cancel(waiting[0]?.id ?? '');
  });

  test.each([[[1, 2]], ['text'], [7], [null], [true]])(
    'parameters that are no object are refused: %j',
    async (params) => {
      const refused = await cluster.api.post('queues/steady/tasks', [{ params: { n: 1 } }, { params }]);
      expect([refused.status, refused.headers['x-muster-error']]).toEqual([400, 'invalid_params']);
      expect(refused.text).toContain('tasks.1: they are not an object');
    },
  );
});

describe('a plugin that', () => {
  test(
    `floods ${WRITTEN_MIB} MiB of output succeeds; the beginning and the end are kept, the reader is told the rest`,
    async () => {
      await undisturbed(async () => {
        const processes = () => [cluster.server.pid, cluster.agent('node').pid, ...hosts()];
        await ends(await add('flood', 0));
        const before = new Map(processes().map((pid) => [pid, residentMib(pid)]));
        for (const pid of before.keys()) forgetPeak(pid);
        const id = await add('flood', WRITTEN_MIB);
        expect(await ends(id, FLOOD_MS)).toMatchObject({
          status: 'succeeded',
          reason: expect.stringMatching(/^output limit reached: kept .* of stdout$/),
        });
        const growth = [...before].map(([pid, mib]) => peakMib(pid) - mib);
        expect(growth.filter((mib) => mib > GROWTH_MIB)).toEqual([]);
        const { text, headers } = await output(id, 'stdout');
        expect(text.length).toBeLessThanOrEqual(LIMIT);
        expect(text.length).toBeGreaterThan(LIMIT * 0.9);
        expect(Number(headers['x-muster-dropped-bytes'])).toBe(WRITTEN_MIB * MIB - text.length);
      });
    },
    FLOOD_MS + 30_000,
  );

  test('forks away, into sessions of their own and without a parent, leaves nothing behind when it is cancelled', async () => {
    await undisturbed(async () => {
      const id = await add('fork');
      const pids = await until('it to have forked', () => {
        const files = [at('session'), at('forked')];
        return files.every(written) && files.map((file) => Number(readFileSync(file, 'utf8')));
      });
      expect(cluster.commands()).toEqual(expect.arrayContaining(pids));
      await cancel(id);
      expect(await ends(id)).toMatchObject({ status: 'cancelled', reason: 'cancelled by admin' });
      expect(cluster.commands().filter((pid) => pids.includes(pid))).toEqual([]);
    });
  });

  test('ignores TERM is killed when its grace is over, and has ended terminated', async () => {
    await undisturbed(async () => {
      const id = await add('stubborn');
      await until('it to ignore TERM', () => existsSync(at('stubborn')));
      await cancel(id);
      expect(await ends(id)).toMatchObject({ status: 'terminated', reason: 'cancelled by admin' });
    });
  });

  test('prints what is no text: every byte of it is there', async () => {
    const bytes = Buffer.concat([
      Buffer.from(Array.from({ length: 256 }, (_, n) => n)),
      Buffer.from([0xff, 0xc0, 0x80]),
    ]);
    writeFileSync(at('bytes'), bytes);
    await undisturbed(async () => {
      const id = await add('binary');
      expect(await ends(id)).toMatchObject({ status: 'succeeded', reason: null });
      for (const stream of ['stdout', 'stderr'] as const) expect(await read(id, stream)).toEqual(bytes);
    });
  });

  test('fills the disk of its node fails; others on that node meanwhile say why, and run when there is space again', async () => {
    await undisturbed(async () => {
      const id = await add('full');
      await until('the disk to be full', () => existsSync(at('full')));
      const other = await add('small');
      const said = await ends(other);
      writeFileSync(at('enough'), '');
      expect(said).toMatchObject({ status: 'failed', reason: expect.stringContaining('no space left on device') });
      expect(await ends(id)).toMatchObject({ status: 'failed', reason: 'exit status 4' });
      expect((await output(id, 'stderr')).text).toContain('No space left on device');
      expect(await ends(await add('small'))).toMatchObject({ status: 'succeeded' });
    });
  });
});

/** Processes that run tasks. */
function hosts(): number[] {
  return cluster.commands().filter((pid) => commandLineOf(pid).includes('/tasks/host/main.js'));
}

/** Byte for byte. */
async function read(id: string, stream: 'stdout' | 'stderr'): Promise<Buffer> {
  const path = cluster.api.path(`tasks/${id}/output/${stream}`);
  const headers = cluster.api.headers('GET', path, '', { accept: 'application/octet-stream' });
  return Buffer.from(await (await fetch(new URL(path, cluster.url), { headers })).arrayBuffer());
}
