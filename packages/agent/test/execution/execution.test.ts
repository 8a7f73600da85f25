import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock, systemClock } from '@muster/base';
import type { CommandOptions } from '@muster/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { commandPolicy } from '../../src/execution/command-policy.js';
import { Execution, type ExecutionRequest, type Outcome } from '../../src/execution/execution.js';
import type { OutputBytes } from '../../src/execution/output.js';
import { membersOf } from '../../src/execution/process-tree.js';
import { filePolicy } from '../../src/files/policy.js';
import { systemHost } from '../../src/host.js';
import { ownVariables } from '../../src/push/variables.js';
import { scratch, silent } from '../support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
const running: Execution[] = [];

beforeEach(async () => {
  place = await scratch();
  await chmod(place.dir, 0o755);
});
afterEach(async () => {
  for (const execution of running.splice(0)) execution.kill();
  await place.dispose();
});

interface Ran {
  readonly execution: Execution;
  readonly ended: Promise<{ readonly result: Outcome; readonly bytes: OutputBytes | null }>;
  /** Everything written to stdout up to now; stored as a server would. */
  stdout(): string;
}

function run(
  command: string,
  options: CommandOptions = {},
  config: Record<string, unknown> = { allow_any: true },
  clock = systemClock as typeof systemClock | ManualClock,
  storing = { now: true },
  secrets: ExecutionRequest['secrets'] = async () => new Map(),
): Ran {
  const parsed = parseAgentConfig({ grace: 0.2, ...config });
  let settle: (value: { result: Outcome; bytes: OutputBytes | null }) => void;
  const ended = new Promise<{ result: Outcome; bytes: OutputBytes | null }>((resolve) => {
    settle = resolve;
  });
  const execution = new Execution(
    { command, capture: true, options, own: ownVariables('node1', 'j1'), outputLimit: 1_000_000, secrets },
    {
      policy: commandPolicy(parsed),
      files: filePolicy(parseAgentConfig({}), 'acme'),
      fileDir: join(place.dir, 'files'),
      graceMs: parsed.grace * 1000,
      environment: parsed.environment,
    },
    {
      clock,
      random: () => 0.4,
      logger: silent,
      facts: () => ({ hostname: 'h' }),
      processes: systemHost.processes,
    },
    (result, bytes) => settle({ result, bytes }),
  );
  running.push(execution);
  let text = '';
  execution.output.onReadable = () => {
    if (!storing.now) return;
    for (let piece = execution.output.take(32_768); piece !== null; piece = execution.output.take(32_768)) {
      if (piece.stream === 'stdout') text += Buffer.from(piece.data).toString();
      execution.output.stored(piece.stream, piece.offset + piece.data.length);
    }
  };
  execution.start();
  return { execution, ended, stdout: () => text };
}

/** A zombie is gone, whoever has yet to collect it. */
async function isAlive(pid: number): Promise<boolean> {
  const state = (await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')).split(') ')[1]?.[0];
  return state !== undefined && state !== 'Z';
}

const says = (ran: Ran, text: string) => expect.poll(() => ran.stdout()).toContain(text);

describe('running a command (sheet §6.6)', () => {
  it('exit status 0 succeeded, with its output', async () => {
    const ran = run('printf hello');
    expect((await ran.ended).result).toMatchObject({ outcome: 'succeeded', exitCode: 0, signal: null, reason: null });
    expect(ran.stdout()).toBe('hello');
    expect((await ran.ended).bytes).toEqual({ stdout: 5, stderr: 0 });
  });
  it('another exit status failed, and a signal is named', async () => {
    expect((await run('exit 7').ended).result).toMatchObject({
      outcome: 'failed',
      exitCode: 7,
      reason: 'exit status 7',
    });
    expect((await run('kill -KILL $$').ended).result).toMatchObject({
      outcome: 'failed',
      exitCode: null,
      signal: 'SIGKILL',
    });
  });
  it('a program that cannot be launched fails at once with the reason', async () => {
    const config = { commands: { x: '/no/such/program' } };
    expect((await run('x', {}, config).ended).result).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('no such program'),
    });
  });
  it('a command whose permission was withdrawn since prepare fails and is not run', async () => {
    expect((await run('x', {}, {}).ended).result).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('not allowed'),
    });
  });
  it('has the directory, the environment and the file of the job', async () => {
    const options = { dir: '/tmp', env: { COLOR: 'blue', CHEF_PUSH_JOB_ID: 'forged' }, file: 'raw:content' };
    const script = 'pwd; echo $COLOR $CHEF_PUSH_JOB_ID $MUSTER_NODE_NAME; cat "$CHEF_PUSH_JOB_FILE"';
    const ran = run(script, options, { allow_any: true, allow_env: ['COLOR', 'CHEF_PUSH_JOB_ID'] });
    await ran.ended;
    expect(ran.stdout()).toBe('/tmp\nblue j1 node1\ncontent');
  });
  it('as another user: uid, gid, supplementary groups, home, and a file only it can read', async () => {
    const script = 'id -un; id -Gn; echo $HOME; cat $MUSTER_JOB_FILE; stat -c %a:%U $MUSTER_JOB_FILE';
    const ran = run(script, { user: 'nobody', file: 'base64:c2VjcmV0Cg==' });
    expect((await ran.ended).result.outcome).toBe('succeeded');
    expect(ran.stdout()).toBe('nobody\nnogroup\n/nonexistent\nsecret\n600:nobody\n');
  });
  it('a daemon it leaves behind lives on and does not hold the result', async () => {
    const ran = run('sleep 60 & echo $!');
    expect((await ran.ended).result.outcome).toBe('succeeded');
    const daemon = Number(ran.stdout());
    expect(() => process.kill(daemon, 0)).not.toThrow();
    process.kill(daemon, 'SIGKILL');
  });
});

describe('its secrets', () => {
  const VALUE = 'hunter2-hunter2';
  const given = (values: Record<string, string>) => async () => new Map(Object.entries(values));
  const left = () => readdir(join(place.dir, 'files')).catch(() => []);
  const start = (script: string, options: CommandOptions, secrets: ExecutionRequest['secrets']) =>
    run(script, options, { allow_any: true, allow_env: ['DB_FILE'] }, systemClock, { now: true }, secrets);

  it('are files that only its user reads, hidden in what it writes, and gone when it has ended', async () => {
    const options = { user: 'nobody', secrets: { db: 'DB_FILE', token: '' } };
    const script =
      'stat -c %a:%U "$MUSTER_SECRETS" "$MUSTER_SECRETS/token" "$DB_FILE"; cat "$DB_FILE" >&2; cat "$DB_FILE"; printf " hunter2-"; sleep 0.1; printf "hunter2 hunter2-"';
    const ran = start(script, options, given({ db: `${VALUE}\n`, token: 'token-token' }));
    expect(await ran.ended).toMatchObject({ result: { outcome: 'succeeded' }, bytes: { stderr: 4 } });
    expect(ran.stdout()).toBe('700:nobody\n600:nobody\n600:nobody\n***\n *** hunter2-');
    expect(await left()).toEqual([]);
  });

  it('may be in the file that came with it: of that they are hidden, and nothing else, and it goes with them', async () => {
    const options = { user: 'nobody', secretFile: ['token'] };
    const file = `TOKEN=${VALUE}\nHOST=web1\n`;
    const ran = start(
      'stat -c %a:%U "$MUSTER_JOB_FILE"; cat "$MUSTER_JOB_FILE"; ls -A "$MUSTER_SECRETS"',
      options,
      async (names) => {
        expect(names).toEqual(['.job-file', '.token']);
        return new Map([
          ['.job-file', file],
          ['.token', VALUE],
        ]);
      },
    );
    expect(await ran.ended).toMatchObject({ result: { outcome: 'succeeded' } });
    expect(ran.stdout()).toBe('600:nobody\nTOKEN=***\nHOST=web1\n.job-file\n');
    expect(await left()).toEqual([]);
  });

  it('are gone when it was killed, or could not be run', async () => {
    const ran = start('cat "$MUSTER_SECRETS/db"; echo here; sleep 600', { secrets: { db: '' } }, given({ db: VALUE }));
    await says(ran, 'here');
    expect(await left()).toHaveLength(1);
    ran.execution.kill();
    await ran.ended;
    expect(await left()).toEqual([]);
    const missing = { commands: { x: '/no/such/program' } };
    const other = run('x', { secrets: { db: '' } }, missing, systemClock, { now: true }, given({ db: VALUE }));
    expect((await other.ended).result.reason).toContain('no such program');
    expect(await left()).toEqual([]);
  });

  it('that are not given end it before it has begun, as does a variable that the node does not allow', async () => {
    const refused = async () => {
      throw new Error('the server does not give the secrets of the job: no');
    };
    const ran = start('echo ran', { secrets: { db: '' } }, refused);
    expect((await ran.ended).result).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('does not give'),
    });
    const other = start('echo ran', { secrets: { db: 'LD_PRELOAD' } }, given({ db: VALUE }));
    expect((await other.ended).result.reason).toContain("'LD_PRELOAD' can change what a program runs");
    expect(ran.stdout() + other.stdout()).toBe('');
  });

  it('are waited for no more when it is killed', async () => {
    const waiting: ExecutionRequest['secrets'] = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const ran = start('echo ran', { secrets: { db: '' } }, waiting);
    ran.execution.kill();
    expect((await ran.ended).result.reason).toBe('killed');
  });
});

describe('its output', () => {
  const HOUR_MS = 3_600_000;

  it('is waited for as long as the server does not store it, and the end is told after it', async () => {
    const clock = new ManualClock();
    const storing = { now: false };
    const ran = run('printf hello', {}, { allow_any: true }, clock, storing);
    let ended = false;
    void ran.ended.then(() => {
      ended = true;
    });
    await expect.poll(() => ran.execution.exited).toBe(true);
    for (let minutes = 0; minutes < 60; minutes += 1) clock.advance(HOUR_MS / 60);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    storing.now = true;
    ran.execution.output.rewind();
    expect(await ran.ended).toMatchObject({ result: { outcome: 'succeeded' }, bytes: { stdout: 5, stderr: 0 } });
    expect(ran.stdout()).toBe('hello');
  });
  it('that nobody waits for any more is not told as whole', async () => {
    const ran = run('printf hello', {}, { allow_any: true }, systemClock, { now: false });
    await expect.poll(() => ran.execution.exited).toBe(true);
    ran.execution.abandonOutput();
    expect(await ran.ended).toMatchObject({ result: { outcome: 'succeeded' }, bytes: null });
  });
  it('of a command that ran out of its time is waited for, and an abort ends the waiting', async () => {
    const ran = run('echo up; exec sleep 60', {}, { allow_any: true }, systemClock, { now: false });
    await expect.poll(() => ran.execution.output.bytes?.stdout).toBe(3);
    const told: unknown[] = [];
    ran.execution.expire((bytes) => told.push(bytes));
    const members = () => membersOf({ leader: null, marker: ran.execution.run, group: null });
    await expect.poll(members).toEqual(new Set());
    expect(told).toEqual([]);
    ran.execution.kill();
    expect((await ran.ended).result).toMatchObject({ outcome: 'failed', reason: 'killed' });
    expect(told).toEqual([null]);
  });
});

describe('killing a command', () => {
  it('TERM ends it', async () => {
    const ran = run('echo up; exec sleep 60');
    await says(ran, 'up');
    ran.execution.kill();
    expect((await ran.ended).result).toMatchObject({ outcome: 'failed', reason: 'killed' });
  });
  it('KILL follows after the grace for children that ignore TERM', async () => {
    const ran = run('trap "" TERM; (trap "" TERM; while :; do sleep 0.1; done) & echo up; wait');
    await says(ran, 'up');
    ran.execution.kill();
    await ran.ended;
    expect(await membersOf({ leader: null, marker: ran.execution.run, group: null })).toEqual(new Set());
  });
  it('reaches a double-forked daemon in a session of its own', async () => {
    const ran = run(
      '(setsid sh -c "sleep 300 & wait" & ); sleep 0.1; setsid sh -c "(sleep 301 &) ; sleep 302" & echo up; wait',
    );
    await says(ran, 'up');
    expect((await membersOf({ leader: null, marker: ran.execution.run, group: null })).size).toBeGreaterThan(3);
    ran.execution.kill();
    await ran.ended;
    expect(await membersOf({ leader: null, marker: ran.execution.run, group: null })).toEqual(new Set());
  });
  it('reaches a child that emptied its environment', async () => {
    const ran = run('env -i /bin/sh -c "sleep 303; :" & echo $!; wait');
    await says(ran, '\n');
    const child = Number(ran.stdout());
    ran.execution.kill();
    await ran.ended;
    expect(await isAlive(child)).toBe(false);
  });
  it('leaves the processes of another run of the same job alone', async () => {
    const one = run('echo up; exec sleep 60');
    const other = run('echo up; exec sleep 60');
    await Promise.all([says(one, 'up'), says(other, 'up')]);
    one.execution.kill();
    await one.ended;
    expect((await membersOf({ leader: null, marker: other.execution.run, group: null })).size).toBe(1);
  });
  it('a command killed before it was launched never runs', async () => {
    const proof = join(place.dir, 'ran');
    const ran = run(`touch ${proof}`);
    ran.execution.kill();
    await ran.ended;
    await expect(readFile(proof)).rejects.toThrow();
  });
  it('at the time limit the end is told first, then that it is gone', async () => {
    const ran = run('echo up; exec sleep 60');
    await says(ran, 'up');
    const order: string[] = [];
    ran.execution.expire((bytes) => order.push(`limit ${bytes?.stdout}`));
    await ran.ended.then(() => order.push('gone'));
    expect(order).toEqual(['limit 3', 'gone']);
  });
});

describe('built-in commands', () => {
  it('sleep waits its seconds and succeeds', async () => {
    const clock = new ManualClock();
    const ran = run('sleep 5', {}, {}, clock);
    await expect.poll(() => clock.pending).toBe(1);
    clock.advance(5000);
    expect((await ran.ended).result).toMatchObject({ outcome: 'succeeded', exitCode: 0 });
  });
  it('dummy_job fails with its probability', async () => {
    const clock = new ManualClock();
    const unlucky = run('dummy_job 0.5 1', {}, {}, clock);
    const lucky = run('dummy_job 0.3 1', {}, {}, clock);
    await expect.poll(() => clock.pending).toBe(2);
    clock.advance(1000);
    expect((await unlucky.ended).result.outcome).toBe('failed');
    expect((await lucky.ended).result.outcome).toBe('succeeded');
  });
  it('a sleep is killed at once', async () => {
    const clock = new ManualClock();
    const ran = run('sleep 5', {}, {}, clock);
    ran.execution.kill();
    expect((await ran.ended).result.outcome).toBe('failed');
    expect(clock.pending).toBe(0);
  });
  it('facts are printed as JSON', async () => {
    const ran = run('ohai', {}, {});
    await ran.ended;
    expect(JSON.parse(ran.stdout())).toEqual({ hostname: 'h' });
  });
});

describe('lock (sheet §6.6)', () => {
  it('a command whose lock another process holds is not run, and the lock is free after one that ran', async () => {
    const lock = join(place.dir, 'client.pid');
    const config = { commands: { hold: { shell: 'echo up; sleep 60', lock }, quick: { command_line: 'true', lock } } };
    const holder = run('hold', {}, config);
    await says(holder, 'up');
    expect((await run('quick', {}, config).ended).result).toMatchObject({ outcome: 'failed', reason: 'locked' });
    holder.execution.kill();
    await holder.ended;
    expect((await run('quick', {}, config).ended).result.outcome).toBe('succeeded');
  });
  it('a file that chef-client holds by flock counts', async () => {
    const lock = join(place.dir, 'client.pid');
    await writeFile(lock, '');
    const chef = run(`exec flock ${lock} sh -c 'echo up; exec sleep 60'`);
    await says(chef, 'up');
    const config = { commands: { quick: { command_line: 'true', lock } } };
    expect((await run('quick', {}, config).ended).result).toMatchObject({ reason: 'locked' });
  });
});
