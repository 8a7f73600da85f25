import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** What a deployed agent keeps of a commit until run (sheet §4.2). */
export interface CommittedJob {
  readonly id: string;
  readonly command: string;
  readonly capture: boolean;
  readonly user: string | undefined;
  readonly dir: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly file: string | undefined;
}

/**
 * One whitelist value (sheet §6.6): a command line, one with a lock, or `held`: a command without a process that ends
 * when the test says so.
 */
export type WhitelistEntry =
  | string
  | { readonly command_line: string; readonly lock: string }
  | { readonly held: true };

/** Exact keys and patterns, tried in order. */
export type Whitelist = readonly (readonly [string | RegExp, WhitelistEntry])[];

export interface CommandEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly ended: Promise<CommandEnd>;
  /** Ends a held command. */
  end(status: number, stdout?: string, stderr?: string): void;
  /** Kills a real one with its children; the deployed agent forgets it instead (sheet §6.4). */
  kill(): void;
}

export function lookUp(whitelist: Whitelist, command: string): WhitelistEntry | undefined {
  for (const [key, entry] of whitelist) {
    if (key === command) return entry;
  }
  for (const [key, entry] of whitelist) {
    if (key instanceof RegExp && key.test(command)) {
      return typeof entry === 'string' ? command.replace(key, entry) : entry;
    }
  }
  return undefined;
}

/** Whether a commit passes the agent's own checks of sheet §6.6, apart from the whitelist. */
export function acceptable(job: CommittedJob): boolean {
  if (job.dir !== undefined && !existsSync(job.dir)) return false;
  return job.file === undefined || job.file.startsWith('raw:') || job.file.startsWith('base64:');
}

/** Takes a lock file; false when somebody holds it. */
export function takeLock(path: string): boolean {
  try {
    const handle = openSync(path, 'wx');
    writeSync(handle, String(process.pid));
    closeSync(handle);
    return true;
  } catch {
    return false;
  }
}

export function start(entry: WhitelistEntry, job: CommittedJob, node: string, fileDir: string): RunningCommand {
  if (typeof entry === 'object' && 'held' in entry) return held();
  const line = typeof entry === 'string' ? entry : entry.command_line;
  const env: Record<string, string | undefined> = {
    ...process.env,
    ...job.env,
    CHEF_PUSH_NODE_NAME: node,
    CHEF_PUSH_JOB_ID: job.id,
  };
  if (job.file !== undefined) env.CHEF_PUSH_JOB_FILE = writeFile(job.file, job.id, fileDir);
  const child = spawn('/bin/sh', ['-c', line], { cwd: job.dir, env, detached: true });
  return { ended: collected(child), end: () => undefined, kill: () => killGroup(child) };
}

function held(): RunningCommand {
  let finish: (end: CommandEnd) => void = () => undefined;
  const ended = new Promise<CommandEnd>((resolve) => {
    finish = resolve;
  });
  return {
    ended,
    end: (status, stdout = '', stderr = '') => finish({ status, stdout, stderr }),
    kill: () => undefined,
  };
}

function collected(child: ChildProcess): Promise<CommandEnd> {
  const streams = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    streams.stdout += chunk.toString('utf8');
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    streams.stderr += chunk.toString('utf8');
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve({ status: null, ...streams }));
    child.on('close', (status) => resolve({ status, ...streams }));
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // gone already
  }
}

function writeFile(file: string, jobId: string, directory: string): string {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `pushy_file${jobId}`);
  rmSync(path, { force: true });
  const content = file.startsWith('base64:') ? Buffer.from(file.slice(7), 'base64') : Buffer.from(file.slice(4));
  const handle = openSync(path, 'wx', 0o600);
  writeSync(handle, content);
  closeSync(handle);
  return path;
}
