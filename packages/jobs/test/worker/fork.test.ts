import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localConnection } from '../../src/systems/local/local.js';
import { ForkScheduler } from '../../src/systems/schedulers/fork.js';
import { newApp, openWorkers, type WorkerFixture } from '../support/worker-fixture.js';

/** As an app has it; not a template string of ours. */
const macro = (id: string): string => '$' + `{${id}}`;

const argument = {
  visible: true,
  required: true,
  order: 0,
  validator: null,
  enquote: true,
  minCardinality: 1,
  maxCardinality: 1,
  label: '',
  description: '',
  argument: '',
  showArgument: false,
  repeatArgument: false,
  ontology: [],
} as const;

describe('a job on this machine, by fork', () => {
  let fixture: WorkerFixture;

  beforeEach(async () => {
    fixture = await openWorkers();
    const here = fixture.systems.get('hpc1');
    const connection = localConnection(here.system, systemClock);
    Object.assign(here, { connection, scheduler: new ForkScheduler('hpc1', connection, systemClock) });
    mkdirSync(join(fixture.systems.get('store').system.root, 'in'), { recursive: true });
  });

  afterEach(() => fixture.close());

  const stored = (path: string): string => join(fixture.systems.get('store').system.root, path);

  test('stages an input, runs a real program with its values, and archives what it made', async () => {
    writeFileSync(stored('in/a b.txt'), 'one two\n');
    const template = `tr a-z A-Z <${macro('query')} >out.txt\nprintf '%s' "${macro('word')}" >word.txt\n`;
    fixture.apps.set(
      'wc-1.0',
      newApp({
        program: { kind: 'template', text: template },
        inputs: [{ ...argument, id: 'query', default: [], fileTypes: [] }],
        parameters: [{ ...argument, id: 'word', type: 'string', default: [], enumValues: [] }],
      }),
    );
    await fixture.process();
    await fixture.submit('j1', {
      inputs: { query: 'agave://store/in/a%20b.txt' },
      parameters: { word: '$(touch owned)' },
      archive: true,
      archiveSystem: 'store',
      archivePath: 'kept',
    });
    const job = await fixture.status('j1', 'FINISHED');
    expect(job).toMatchObject({ exitCode: 0, remoteOutcome: 'FINISHED' });
    expect(readFileSync(stored('kept/out.txt'), 'utf8')).toBe('ONE TWO\n');
    expect(readFileSync(stored('kept/word.txt'), 'utf8')).toBe('$(touch owned)');
    for (const name of ['a b.txt', 'owned', '.muster-exit']) expect(existsSync(stored(`kept/${name}`))).toBe(false);
    await fixture.until(() => !existsSync(job.workPath ?? ''), 'the end of the work directory');
  });

  test('a program that fails fails its job with its exit code', async () => {
    fixture.apps.set('wc-1.0', newApp({ program: { kind: 'command', argv: ['/bin/sh', '-c', 'exit 3'] } }));
    await fixture.process();
    await fixture.submit('j1');
    const job = await fixture.status('j1', 'FAILED');
    expect(job).toMatchObject({ exitCode: 3, condition: 'JOB_REMOTE_OUTCOME_ERROR' });
    // Which is told once.
    const history = await fixture.history('j1');
    expect(history.filter((line) => line.endsWith('Job completed execution: exit code 3'))).toHaveLength(1);
    expect(job.lastMessage).toBe('APPS_USER_APP_FAILURE Failure indicated with user application return code: 3');
  });

  test('stop ends the process', async () => {
    const program = { kind: 'command', argv: ['/bin/sh', '-c', 'echo $$ >pid; exec sleep 1000'] } as const;
    fixture.apps.set('wc-1.0', newApp({ program }));
    await fixture.process();
    await fixture.submit('j1');
    const { workPath } = await fixture.status('j1', 'RUNNING');
    const file = join(workPath ?? '', 'pid');
    await fixture.until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
    const pid = Number(readFileSync(file, 'utf8'));
    await fixture.want('j1', 'stop');
    await fixture.until(async () => (await fixture.read('j1')).remoteEnded !== null, 'the end of the process');
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
