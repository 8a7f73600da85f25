import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Files } from '../../src/systems/types.js';
import { runningAt, takeoverSuite } from '../suites/takeover.js';
import { openWorkers, type Process, type WorkerFixture } from '../support/worker-fixture.js';

takeoverSuite(openWorkers);

/** With RabbitMQ it keeps its messages, and nobody else gets them, as long as the broker sees it. */
describe('a worker that the database alone has lost sight of', () => {
  let fixture: WorkerFixture;

  beforeEach(async () => {
    fixture = await openWorkers();
  });

  afterEach(() => fixture.close());

  test('cannot write when it comes back: what its successor did stands', async () => {
    const first = await runningAt(fixture);
    first.reach = 'away';
    await fixture.process('w2');
    await fixture.pass(20_000);
    await fixture.until(async () => (await fixture.read('j1')).epoch === 2, 'take-over');
    const taken = await fixture.read('j1');
    first.reach = 'whole';
    fixture.scheduler.set('j1', { state: 'ended', code: 0, condition: null, detail: '' });
    await fixture.pass(5_000);
    const job = await fixture.status('j1', 'FINISHED');
    expect(job).toMatchObject({ epoch: 2, worker: taken.worker });
    const statuses = (await fixture.history('j1')).map((line) => line.split(':')[0]);
    expect(statuses.filter((status) => status === 'CLEANING_UP')).toHaveLength(1);
    expect(first.logged.map(({ message }) => message)).toContain(
      'the lease of the worker is lost: its jobs are taken over by others',
    );
  });

  test('is replaced as soon by one whose clock is behind, by which its lease goes on', async () => {
    const first = await runningAt(fixture);
    first.reach = 'away';
    await fixture.process('w2', { skewMs: -140_000 });
    await fixture.pass(20_000);
    await fixture.until(async () => (await fixture.read('j1')).epoch === 2, 'take-over');
  });

  test('cannot submit when its lease has ended while it was about to', async () => {
    let submitting: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (submitting = resolve));
    const paces = { restarts: { limit: 50, windowMs: 300_000 }, starts: { limit: 9, windowMs: 1 } };
    const first = await fixture.process('w1', {
      paces: { ...paces, launches: { limit: 0, windowMs: 1 }, delayMs: [15_000, 15_000] },
    });
    await fixture.submit('j1');
    // It waits for its turn to launch.
    await fixture.status('j1', 'SUBMITTING');
    first.reach = 'away';
    fixture.scheduler.state = { state: 'running' };
    fixture.scheduler.onSubmit = () => submitting();
    await fixture.process('w2');
    await fixture.pass(30_000);
    await held;
    await fixture.status('j1', 'RUNNING');
    expect(fixture.scheduler.submits).toHaveLength(1);
    expect((await fixture.read('j1')).epoch).toBe(2);
  });

  describe('while it transfers files', () => {
    const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
    const CONTENT = Buffer.alloc(5_000, 'n');
    /** As many files as are transferred at the same time. */
    const AT_ONCE = 4;
    const root = (name: string): string => fixture.systems.get(name).system.root;
    const work = (): string => join(root('hpc1'), 'work/jdoe/job-j1-demo');

    /** The first reads of a system get nothing until the test gives them something. */
    function gated(system: string) {
      const streams: PassThrough[] = [];
      const reads: string[] = [];
      fixture.systems.add(system, {}, (files: Files) =>
        Object.assign(Object.create(files) as Files, {
          ...{ stat: files.stat.bind(files), list: files.list.bind(files), write: files.write.bind(files) },
          ...{ makeDirectory: files.makeDirectory.bind(files), remove: files.remove.bind(files) },
          read: async (path: string, part?: Parameters<Files['read']>[1]) => {
            if (!NAMES.includes(basename(path))) return files.read(path, part);
            reads.push(basename(path));
            if (streams.length === AT_ONCE) return files.read(path, part);
            const stream = new PassThrough();
            streams.push(stream);
            return stream;
          },
        }),
      );
      return { streams, reads };
    }

    function filled(directory: string): void {
      mkdirSync(directory, { recursive: true });
      for (const name of NAMES) writeFileSync(join(directory, name), CONTENT);
    }

    /** It loses its lease with transfers under way; then they go on, as far as it goes. */
    async function takenOver({ streams, reads }: ReturnType<typeof gated>, first: Process): Promise<void> {
      await fixture.until(() => streams.length === AT_ONCE, 'the transfers');
      first.reach = 'away';
      await fixture.process('w2');
      await fixture.pass(20_000);
      await fixture.status('j1', 'FINISHED');
      first.reach = 'whole';
      for (const stream of streams) {
        expect(stream.destroyed).toBe(true);
        stream.write(Buffer.alloc(CONTENT.length, 'o'));
      }
      await fixture.pass(5_000);
      // The first one began no other file.
      expect(reads.toSorted()).toEqual([...NAMES, ...reads.slice(0, AT_ONCE)].toSorted());
      expect(await fixture.read('j1')).toMatchObject({ status: 'FINISHED', epoch: 2 });
    }

    /** What the second one wrote, whole, and nothing besides. */
    function isWhole(directory: string): void {
      expect(
        readdirSync(directory)
          .filter((name) => !name.startsWith('demo'))
          .toSorted(),
      ).toEqual(NAMES);
      for (const name of NAMES) expect(readFileSync(join(directory, name)).equals(CONTENT)).toBe(true);
    }

    test('of inputs stops: its successor brings them, and it writes nothing more', async () => {
      const gate = gated('store');
      filled(join(root('store'), 'in'));
      const first = await fixture.process('w1');
      await fixture.submit('j1', { inputs: { query: 'agave://store/in' } });
      await fixture.status('j1', 'STAGING_INPUTS');
      await takenOver(gate, first);
      isWhole(join(work(), 'in'));
    });

    test('of outputs stops: its successor archives them, and it writes nothing more', async () => {
      const gate = gated('hpc1');
      filled(work());
      const given = { archive: true, archiveSystem: 'store', archivePath: 'kept', workPath: work() };
      const job = await fixture.fixture.job('j1', 'ARCHIVING', { ...given, remoteOutcome: 'FINISHED', exitCode: 0 });
      const first = await fixture.process('w1');
      await fixture.publish(job);
      await takenOver(gate, first);
      isWhole(join(root('store'), 'kept'));
    });
  });
});
