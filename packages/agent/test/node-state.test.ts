import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS } from '@muster/wire';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { commandPolicy } from '../src/command-policy.js';
import { loadAgentConfig, parseAgentConfig } from '../src/config.js';
import { commandEnvironment, refuseEnvironment } from '../src/environment.js';
import { collectFacts, sameFacts } from '../src/facts.js';
import { Journal } from '../src/incarnation.js';
import { decodeJobFile, sweepJobFiles, writeJobFile } from '../src/job-file.js';
import { ENV_VARIABLES, LABELS } from '../src/limits.js';
import { takePidFile } from '../src/lock.js';
import { checkCommand } from '../src/prepare.js';
import { scratch } from './support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

describe('incarnation (Push Jobs §4.5, N11)', () => {
  const lookBack = () => new Journal(place.dir).lookBack();

  it('the first start ever has a new id and says first', async () => {
    expect(await lookBack()).toMatchObject({ start: 'first', interrupted: null });
  });
  it('a clean stop keeps the id', async () => {
    const { incarnation } = await lookBack();
    await new Journal(place.dir).saveIncarnation(incarnation);
    expect(await lookBack()).toMatchObject({ start: 'clean', incarnation });
  });
  it('without a clean stop the id is new and the start says crash', async () => {
    const { incarnation } = await lookBack();
    const next = await lookBack();
    expect(next.start).toBe('crash');
    expect(next.incarnation).not.toBe(incarnation);
  });
  it('the file is gone while the agent runs, so a crash after a clean stop is one', async () => {
    const { incarnation } = await lookBack();
    await new Journal(place.dir).saveIncarnation(incarnation);
    await lookBack();
    expect(existsSync(join(place.dir, 'incarnation'))).toBe(false);
    expect((await lookBack()).start).toBe('crash');
  });
  it('a crash while a command ran names its job', async () => {
    const journal = new Journal(place.dir);
    await journal.lookBack();
    await journal.remember({ jobId: 'j1', run: 'r' });
    expect(await lookBack()).toMatchObject({ start: 'crash', interrupted: { jobId: 'j1', run: 'r' } });
  });
  it('a command that ended is forgotten', async () => {
    const journal = new Journal(place.dir);
    await journal.remember({ jobId: 'j1', run: 'r' });
    await journal.forget();
    await journal.forget();
    expect((await lookBack()).interrupted).toBeNull();
  });
  it('damaged files are treated as a crash', async () => {
    await writeFile(join(place.dir, 'incarnation'), 'not an id');
    await writeFile(join(place.dir, 'running'), '{"job_id": 3');
    expect(await lookBack()).toMatchObject({ start: 'crash', interrupted: null });
  });
});

describe('files of jobs', () => {
  it('FILEDIR-1: a file of a job is there after it, and removed once older than the expiry', async () => {
    const path = await writeJobFile(place.dir, Buffer.from('x'), null);
    const { mtimeMs } = await stat(path);
    await sweepJobFiles(place.dir, 2000, mtimeMs + 2000);
    expect(existsSync(path)).toBe(true);
    await sweepJobFiles(place.dir, 2000, mtimeMs + 2001);
    expect(existsSync(path)).toBe(false);
  });
  it('FILEDIR-2: another file in the directory is left alone', async () => {
    const other = join(place.dir, 'other');
    await writeFile(other, 'x');
    await utimes(other, 1, 1);
    await sweepJobFiles(place.dir, 2000, Date.now());
    expect(existsSync(other)).toBe(true);
  });
  it('a job file is private and never the same twice', async () => {
    const paths = [
      await writeJobFile(place.dir, Buffer.from('x'), null),
      await writeJobFile(place.dir, Buffer.from('y'), null),
    ];
    expect(new Set(paths).size).toBe(2);
    for (const path of paths) expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(paths[0] ?? '', 'utf8')).toBe('x');
  });
  it('a missing directory is swept without complaint', async () => {
    await sweepJobFiles(join(place.dir, 'none'), 1, Date.now());
  });
  it('raw is taken as it is, base64 decoded, anything else refused', () => {
    expect(decodeJobFile('raw:a:b')).toEqual({ bytes: Buffer.from('a:b') });
    expect(decodeJobFile('base64:AP8=')).toEqual({ bytes: Buffer.from([0, 255]) });
    for (const file of ['plain', 'hex:00', 'base64:!', 'base64:AP8'])
      expect(decodeJobFile(file)).toHaveProperty('refused');
    expect(decodeJobFile(`raw:${'x'.repeat(LIMITS.fileBytes)}`)).toHaveProperty('bytes');
    expect(decodeJobFile(`raw:${'x'.repeat(LIMITS.fileBytes + 1)}`)).toHaveProperty('refused');
  });
});

describe('the environment of a command', () => {
  const request = {
    inherited: {},
    job: {},
    overwritable: undefined,
    account: null,
    nodeName: 'n',
    jobId: 'j',
    filePath: null,
    run: 'r',
  };

  it('the names of the job override what the requester set', () => {
    const env = commandEnvironment({
      ...request,
      job: { CHEF_PUSH_NODE_NAME: 'x', MUSTER_JOB_ID: 'x', MUSTER_RUN: 'x' },
    });
    expect(env).toMatchObject({ CHEF_PUSH_NODE_NAME: 'n', MUSTER_JOB_ID: 'j', MUSTER_RUN: 'r' });
  });
  it('a forged file name does not survive when there is no file', () => {
    const env = commandEnvironment({ ...request, job: { CHEF_PUSH_JOB_FILE: '/etc/shadow', MUSTER_JOB_FILE: '/x' } });
    expect(Object.keys(env)).not.toContain('CHEF_PUSH_JOB_FILE');
    expect(Object.keys(env)).not.toContain('MUSTER_JOB_FILE');
  });
  it('with allowed_overwritable_env_vars other variables are renamed', () => {
    const env = commandEnvironment({ ...request, job: { PATH: 'p', LANG: 'l' }, overwritable: ['LANG'] });
    expect(env).toMatchObject({ LANG: 'l', CHEF_PUSH_ENV_PATH: 'p' });
    expect(env).not.toHaveProperty('PATH');
  });
  it("the agent's own settings are not passed on", () => {
    const env = commandEnvironment({ ...request, inherited: { MUSTER_TOKEN: 'secret', LANG: 'C' } });
    expect(env).toMatchObject({ LANG: 'C' });
    expect(env).not.toHaveProperty('MUSTER_TOKEN');
  });
  it('names and values that no process can have are refused', () => {
    for (const env of [{ '': 'x' }, { 'A=B': 'x' }, { 'A\0': 'x' }, { A: 'x\0' }])
      expect(refuseEnvironment(env)).not.toBeNull();
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`V${n}`, 'x']));
    expect(refuseEnvironment(many(ENV_VARIABLES))).toBeNull();
    expect(refuseEnvironment(many(ENV_VARIABLES + 1))).not.toBeNull();
  });
});

describe('what prepare is refused for', () => {
  const anything = commandPolicy(parseAgentConfig({ allow_any: true }));
  const refusal = async (options: Parameters<typeof checkCommand>[2]) => {
    const check = await checkCommand(anything, 'true', options);
    return 'refused' in check ? check.refused : null;
  };

  it('nothing, when all is well', async () => expect(await refusal({ user: 'nobody', dir: '/tmp' })).toBeNull());
  it('an unknown user', async () => expect(await refusal({ user: 'nosuchuser' })).toContain('does not exist'));
  it('a missing directory', async () => expect(await refusal({ dir: '/no/such' })).toContain('does not exist'));
  it('a directory that is a file', async () =>
    expect(await refusal({ dir: '/etc/passwd' })).toContain('not a directory'));
  it('a file without prefix', async () => expect(await refusal({ file: 'x' })).toContain('invalid file'));
});

describe('a file that names its process', () => {
  it('is taken once', async () => {
    const path = join(place.dir, 'agent.pid');
    const lock = await takePidFile(path);
    expect(await takePidFile(path)).toBeNull();
    await lock?.release();
    expect(await takePidFile(path)).not.toBeNull();
  });
  it('left by a process that is gone is replaced, also when its number is in use again', async () => {
    const path = join(place.dir, 'agent.pid');
    const child = execFile('true');
    await new Promise((resolve) => child.once('exit', resolve));
    await writeFile(path, `${child.pid} 12345\n`);
    expect(await takePidFile(path)).not.toBeNull();
    await writeFile(path, `${process.pid} 1\n`);
    expect(await takePidFile(path)).not.toBeNull();
  });
  it('left by a zombie is replaced', async () => {
    // The inner process ends once its parent has become a program that collects no children.
    const go = join(place.dir, 'go');
    const script = `until [ -e ${go} ]; do sleep 0.02; done & echo $!; exec sleep 60`;
    const parent = execFile('sh', ['-c', script]);
    const pid = await new Promise<number>((resolve) => parent.stdout?.once('data', (data) => resolve(Number(data))));
    const stat = () => readFile(`/proc/${pid}/stat`, 'latin1');
    const name = () => readFile(`/proc/${parent.pid}/comm`, 'latin1');
    await vi.waitFor(async () => expect(await name()).toBe('sleep\n'), 10_000);
    await writeFile(go, '');
    await vi.waitFor(async () => expect(await stat()).toContain(') Z '), 10_000);
    const start = (await stat()).split(') ')[1]?.split(' ')[19];
    const path = join(place.dir, 'agent.pid');
    await writeFile(path, `${pid} ${start}\n`);
    expect(await takePidFile(path)).not.toBeNull();
    parent.kill('SIGKILL');
  });
});

describe('configuration file', () => {
  const load = async (text: string) => {
    const file = join(place.dir, 'agent.yaml');
    await writeFile(file, text);
    return loadAgentConfig(file);
  };

  it('is JSON or YAML, with defaults filled in', async () => {
    expect(await load('{"commands": {"hello": "echo hello"}}')).toMatchObject({
      commands: { hello: 'echo hello' },
      allow_any: false,
    });
    expect(await load('labels:\n  env: prod\n  weight: 3\n')).toMatchObject({
      labels: { env: 'prod', weight: 3 },
      grace: 5,
    });
    expect(await load('')).toMatchObject({ commands: {} });
  });
  it('an unknown key is an error that names it', async () => {
    await expect(load('comands: {}')).rejects.toThrow("unknown key 'comands'");
  });
  it('a wrong value is an error with its path', async () => {
    await expect(load('grace: soon')).rejects.toThrow(/grace/);
    await expect(load('labels: {a: [1]}')).rejects.toThrow(/labels/);
    await expect(load('[1]')).rejects.toThrow(/object/);
    await expect(load('a: [')).rejects.toThrow(/configuration/);
    await expect(loadAgentConfig(join(place.dir, 'none'))).rejects.toThrow(/ENOENT/);
  });
  it('durations may have a unit; numbers are seconds', async () => {
    const config = await load('grace: 500ms\nfile_dir_expiry: 7d');
    expect([config.grace, config.file_dir_expiry]).toEqual([0.5, 604_800]);
    expect((await load('grace: 20')).grace).toBe(20);
  });
  it('a duration that cannot be is told with its key and what it may be', async () => {
    const forms = '(such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds)';
    await expect(load('grace: soon')).rejects.toThrow(
      `grace: expected a duration from 0s to 365d ${forms}, got 'soon'`,
    );
    await expect(load('file_dir_expiry: 50ms')).rejects.toThrow(
      `file_dir_expiry: expected a duration from 100ms to 365d ${forms}, got '50ms'`,
    );
    await expect(load('grace: [5s]')).rejects.toThrow(`365d ${forms}, got a value of type object`);
    await expect(load('grace: -1')).rejects.toThrow('got -1');
  });
  it('has a limit on labels', () => {
    const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, n]));
    expect(() => parseAgentConfig({ labels: labels(LABELS) })).not.toThrow();
    expect(() => parseAgentConfig({ labels: labels(LABELS + 1) })).toThrow(/labels/);
  });
});

describe('facts', () => {
  it('name the machine', () => {
    expect(collectFacts()).toMatchObject({
      hostname: expect.stringMatching(/^[^.]+$/),
      fqdn: expect.any(String),
      ip: expect.stringMatching(/[.:]/),
      os: expect.any(String),
      arch: process.arch,
      kernel: expect.any(String),
      cpus: expect.any(Number),
      memory: expect.any(Number),
      uptime: expect.any(Number),
      agent_version: expect.any(String),
    });
  });
  it('that only grew older are the same', () => {
    const facts = collectFacts();
    expect(sameFacts(facts, { ...facts, uptime: 0 })).toBe(true);
    expect(sameFacts(facts, { ...facts, cpus: 1000 })).toBe(false);
  });
});

it('a directory for job files is made where it is missing', async () => {
  await mkdir(join(place.dir, 'a'));
  expect(existsSync(await writeJobFile(join(place.dir, 'a', 'b', 'c'), Buffer.from('x'), null))).toBe(true);
});
