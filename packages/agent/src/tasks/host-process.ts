import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@muster/base';
import { type Account, findAccount, mayBecome } from '../execution/account.js';
import { commandEnvironment } from '../execution/environment.js';
import { asAccount, type Exit } from '../execution/runner.js';
import type { Processes } from '../execution/system-processes.js';
import { HOST_POLL_MS, HOST_SPEC_BYTES, HOST_START_MS, LEFTOVER_WAIT_MS } from '../limits.js';
import { livingOwner } from '../pid-file.js';
import { readSmallFile } from '../small-file.js';
import { HOST_FILES, hostMark } from './host-files.js';
import { HostLink, type HostLinkEvents } from './host-link.js';
import { type HostSpec, OLDEST_VERSION, PROTOCOL_VERSION } from './protocol.js';
import { removeTree } from './remove-tree.js';

export const HOST_MAIN = fileURLToPath(new URL('./host/main.js', import.meta.url));

/** The host cannot be started; the message says why. */
export class HostStartError extends Error {
  override readonly name = 'HostStartError';
}

export interface HostStart {
  readonly spec: HostSpec;
  /** Null: as the agent. */
  readonly user: string | null;
  readonly environment: Readonly<Record<string, string>>;
  /** The file that it runs. */
  readonly main: string;
}

/** A host's process and directory, as the agent has them. */
export class HostProcess {
  readonly directory: string;
  readonly #around: { readonly clock: Clock; readonly processes: Processes };
  #child: ChildProcess | null = null;
  #exit: Promise<Exit> | null = null;

  constructor(directory: string, around: { readonly clock: Clock; readonly processes: Processes }) {
    this.directory = directory;
    this.#around = around;
  }

  /**
   * What the host was started with; null when it is none that this agent can talk to. Whom the host runs as may put
   * another file in its place, but none of the agent's.
   */
  async spec(): Promise<HostSpec | null> {
    const file = join(this.directory, HOST_FILES.spec);
    try {
      const spec = JSON.parse(await readSmallFile(file, HOST_SPEC_BYTES, process.getuid?.() ?? null)) as HostSpec;
      return spec.version >= OLDEST_VERSION && spec.version <= PROTOCOL_VERSION ? spec : null;
    } catch {
      // None was written, or half of one: it has not been started.
      return null;
    }
  }

  async alive(): Promise<boolean> {
    return (await livingOwner(join(this.directory, HOST_FILES.pid))) !== null;
  }

  /** Starts it, in a session of its own. Throws HostStartError. */
  async start({ spec, user, environment, main }: HostStart): Promise<void> {
    const account = await accountOf(user);
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    await writeFile(join(this.directory, HOST_FILES.spec), JSON.stringify(spec), { mode: 0o600 });
    if (account !== null) await this.#giveTo(account);
    const env = commandEnvironment({
      agent: process.env,
      account: account ?? (await this.#around.processes.ownAccount()),
      configured: environment,
      job: {},
      own: { values: {}, file: [] },
      filePath: null,
      run: this.#ownMark,
    });
    const call = { account, file: process.execPath, args: [main, this.directory], env, cwd: '/' };
    const { file, args, options } = await asAccount(call);
    const child = spawn(file, args, { ...options, cwd: '/', env, detached: true, stdio: 'ignore' });
    this.#child = child;
    this.#exit = new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
      child.once('error', () => resolve({ exitCode: null, signal: null }));
    });
    child.unref();
  }

  /** The specification they may only read. */
  async #giveTo({ uid, gid }: Account): Promise<void> {
    const spec = join(this.directory, HOST_FILES.spec);
    await chown(spec, process.getuid?.() ?? uid, gid);
    await chmod(spec, 0o640);
    await chown(this.directory, uid, gid);
  }

  /** Resolves when it answers at its socket. Throws HostStartError when it has ended, or takes too long. */
  async link(events: HostLinkEvents): Promise<HostLink> {
    const { clock } = this.#around;
    const since = clock.monotonic();
    let exit: Exit | null = null;
    void this.#exit?.then((how) => {
      exit = how;
    });
    for (;;) {
      const link = new HostLink(events);
      try {
        await link.open(join(this.directory, HOST_FILES.socket));
        return link;
      } catch (error) {
        if (exit !== null) throw new HostStartError(`the host process ended at its start (${exitText(exit)})`);
        if (clock.monotonic() - since > HOST_START_MS) {
          throw new HostStartError(`the host process does not answer: ${String(error)}`);
        }
      }
      await new Promise<void>((resolve) => clock.after(HOST_POLL_MS, resolve));
    }
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    if (this.#child?.kill('SIGKILL')) return;
    // An earlier agent started it. Whom it runs as may have named any process in its file.
    await this.#killAll({ marker: this.#ownMark });
  }

  get #ownMark(): string {
    return `${hostMark(this.directory)}0`;
  }

  async #killAll(run: { readonly marker: string; readonly family?: true }): Promise<void> {
    const { clock, processes } = this.#around;
    const since = clock.monotonic();
    const giveUp = () => clock.monotonic() - since > LEFTOVER_WAIT_MS;
    await processes.killRun({ ...run, leader: null, group: null }, clock, 0, giveUp);
  }

  /** How it ended, once it has; null when another agent started it. */
  async exited(): Promise<Exit | null> {
    return this.#exit;
  }

  /** Ends it, and all that it had started, and removes what was its own. What could not be removed, in sentences. */
  async clear(workDir: string): Promise<string[]> {
    this.#child?.kill('SIGKILL');
    const mark = hostMark(this.directory);
    await this.#killAll({ marker: mark, family: true });
    const names = await readdir(workDir).catch((): string[] => []);
    const work = names.filter((name) => name.startsWith(mark)).map((name) => join(workDir, name));
    const left: string[] = [];
    for (const path of [...work, this.directory]) {
      await removeTree(path).catch((error: unknown) => left.push(`cannot remove ${path}: ${String(error)}`));
    }
    return left;
  }
}

async function accountOf(user: string | null): Promise<Account | null> {
  if (user === null) return null;
  const account = await findAccount(user);
  if (account === null) throw new HostStartError(`user '${user}' does not exist on this node`);
  if (!mayBecome(account)) throw new HostStartError(`the agent may not run tasks as '${user}'`);
  return account;
}

export function exitText({ exitCode, signal }: Exit): string {
  return signal ?? (exitCode === null ? 'it could not be started' : `exit status ${exitCode}`);
}
