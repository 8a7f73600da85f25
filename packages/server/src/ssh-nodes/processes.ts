import { type Exit, type Launch, LaunchError, type Processes, type Run } from '@muster/agent/elsewhere';
import type { Clock } from '@muster/base';
import type { ClientChannel } from '@muster/platform/ssh';
import { type SshLink, SshTrouble } from '@muster/platform/ssh';
import { exec } from './exec.js';
import { SSH_NODE_LIMITS } from './limits.js';
import { beginOf, launchLine, leftOf, MOST_LINE_BYTES, signalLine, stderrOf } from './scripts.js';

type Write = Parameters<Processes['launch']>[2];

export interface SshProcessesSetup {
  readonly link: SshLink;
  /** Why the host can run nothing now, or nothing in this directory; null: it can. */
  readonly refusal: (dir: string | undefined) => Promise<string | null>;
  /** What was done there failed for the connection. */
  readonly failed: (trouble: SshTrouble) => void;
  /** Resolves when the host may be asked again. */
  readonly reached: () => Promise<void>;
  /** Nothing is asked of the host any more. */
  readonly stopped: () => boolean;
  /** Between TERM and KILL. */
  readonly graceMs: () => number;
  /** Processes of a command are there that the login may not signal. */
  readonly denied: (count: number) => void;
}

/** Commands as processes of a host that is reached over ssh. */
export class SshProcesses implements Processes {
  readonly #setup: SshProcessesSetup;
  readonly elsewhere = { refusal: (dir: string | undefined) => this.#setup.refusal(dir) };
  readonly groupOf = () => null;
  readonly ownAccount = async () => null;

  constructor(setup: SshProcessesSetup) {
    this.#setup = setup;
  }

  readonly launch: Processes['launch'] = async (request, clock, write) => {
    const { link } = this.#setup;
    if (request.file.startsWith('-'))
      throw new LaunchError(`cannot run ${request.file}: a program's name may not begin with -`);
    const line = launchLine(request);
    if (Buffer.byteLength(line) > MOST_LINE_BYTES) {
      throw new LaunchError(`cannot run ${request.file}: arguments and environment are too long for ssh`);
    }
    // To log in is not to run anything: what fails here has certainly not begun.
    await link.ready().catch((error: unknown) => {
      throw new LaunchError(this.#told(error));
    });
    try {
      return await link.command(line, (channel) => this.#begun(channel, request, clock, write), true);
    } catch (error) {
      if (error instanceof LaunchError) throw error;
      // It may have begun: nobody has heard.
      return { pid: 0, ended: this.#lost(request.run, null, clock, this.#told(error)) };
    }
  };

  #begun(
    channel: ClientChannel,
    request: Launch,
    clock: Clock,
    write: Write,
  ): Promise<{ readonly pid: number; readonly ended: Promise<Exit> }> {
    const { run, file, cwd } = request;
    return new Promise((resolve, reject) => {
      let pid: number | null = null;
      let heard: Buffer = Buffer.alloc(0);
      /** Of stderr, until the command has begun there; null since. */
      let greeting: Buffer | null = Buffer.alloc(0);
      let exit: Exit | null = null;
      let over = false;
      let ended: (exit: Exit | Promise<Exit>) => void = () => undefined;
      const begun = new Promise<Exit>((settle) => {
        ended = settle;
      });
      const refuse = (reason: string): void => {
        over = true;
        timer.cancel();
        reject(new LaunchError(reason));
        channel.close();
      };
      const timer = clock.after(SSH_NODE_LIMITS.beginMs, () => {
        // It may yet begin: that it does not is made sure of.
        end(this.#lost(run, null, clock, `the host did not begin it within ${SSH_NODE_LIMITS.beginMs / 1000} s`));
        channel.close();
      });
      const end = (how: Exit | Promise<Exit>): void => {
        if (over) return;
        over = true;
        timer.cancel();
        resolve({ pid: pid ?? 0, ended: begun });
        ended(how);
      };

      /** What it left behind may hold its output open for ever. */
      let quietSince = 0;
      const awaitEnd = (until: number): void => {
        const now = clock.monotonic();
        if (over) return;
        if (now >= until || now - quietSince >= SSH_NODE_LIMITS.pipeGraceMs) return void channel.close();
        clock.after(SSH_NODE_LIMITS.pipeGraceMs, () => awaitEnd(until));
      };
      channel.on('data', (data: Buffer) => {
        if (over) return;
        quietSince = clock.monotonic();
        if (pid !== null) return write('stdout', data);
        heard = Buffer.concat([heard, data]);
        const begin = beginOf(run, heard);
        if (begin.kind === 'missing') return refuse(`cannot run ${file}: no such program`);
        if (begin.kind === 'no directory') return refuse(noDirectory(cwd));
        if (begin.kind === 'not yet') {
          if (heard.length > SSH_NODE_LIMITS.greetingBytes)
            end(this.#lost(run, null, clock, 'the login shell prints without end before it begins'));
          return;
        }
        pid = begin.pid;
        heard = Buffer.alloc(0);
        timer.cancel();
        resolve({ pid, ended: begun });
        if (begin.rest.length > 0) write('stdout', begin.rest);
      });
      channel.stderr.on('data', (data: Buffer) => {
        if (over) return;
        quietSince = clock.monotonic();
        if (greeting === null) return write('stderr', data);
        greeting = Buffer.concat([greeting, data]);
        const own = stderrOf(run, greeting);
        if (own === null) {
          greeting = greeting.subarray(-SSH_NODE_LIMITS.greetingBytes);
          return;
        }
        greeting = null;
        if (own.length > 0) write('stderr', own);
      });
      channel.on('error', () => undefined);
      channel.on('exit', (code: number | null, signal?: string) => {
        exit = { exitCode: code, signal: signal === undefined ? null : `SIG${signal.replace(/^SIG/, '')}` };
        quietSince = clock.monotonic();
        awaitEnd(quietSince + SSH_NODE_LIMITS.pipeLongestMs);
      });
      channel.on('close', () => {
        if (over) return;
        if (exit === null) {
          this.#setup.failed(new SshTrouble('CONNECTION_FAILURE', 'the connection was lost while a command ran'));
          return end(this.#lost(run, pid, clock, 'the connection to the host was lost while it ran'));
        }
        if (pid === null) return refuse(`the host did not run it: ${lastWords(heard, greeting)}`);
        end(exit);
      });
      channel.end();
    });
  }

  /** Nobody will hear how it ends: it is ended, and told so once that is certain. */
  async #lost(run: string, leader: number | null, clock: Clock, why: string): Promise<Exit> {
    const { gone, found } = await this.#end({ leader, marker: run, group: null }, clock, this.#setup.graceMs());
    const left = found ? 'what still ran of it was killed' : 'nothing of it ran any more';
    const known = gone ? `${left} when the host was reached again` : 'whether it still runs is not known';
    return { exitCode: null, signal: null, lost: `${why}; ${known}` };
  }

  readonly killRun: Processes['killRun'] = async (run, clock, graceMs, giveUp, onKill) =>
    (await this.#end(run, clock, graceMs, giveUp, onKill)).gone;

  /**
   * As on the own machine: TERM, after the grace KILL, until the host says that nothing is left. As long as it is not reached, nothing is
   * known, and so it is asked again. `found`: something of it ran.
   */
  async #end(
    run: Run,
    clock: Clock,
    graceMs: number,
    giveUp: () => boolean = () => false,
    onKill: () => void = () => undefined,
  ): Promise<{ readonly gone: boolean; readonly found: boolean }> {
    let termedAt: number | null = null;
    let pause: number = SSH_NODE_LIMITS.killPollFirstMs;
    for (;;) {
      const found = termedAt !== null;
      if (giveUp() || this.#setup.stopped()) return { gone: false, found };
      const hard = termedAt !== null && clock.monotonic() - termedAt >= graceMs;
      if (hard) onKill();
      const left = await this.#signal(termedAt === null ? 'TERM' : hard ? 'KILL' : '0', run, clock);
      if (left === 0) return { gone: true, found };
      if (left === null) {
        await this.#setup.reached();
        continue;
      }
      termedAt ??= clock.monotonic();
      await new Promise<void>((resolve) => clock.after(pause, resolve));
      pause = Math.min(pause * 2, SSH_NODE_LIMITS.killPollLongestMs);
    }
  }

  /** How many processes of the run there were before; null: the host did not say. */
  async #signal(signal: 'TERM' | 'KILL' | '0', { leader, marker }: Run, clock: Clock): Promise<number | null> {
    try {
      const { stdout } = await exec(this.#setup.link, signalLine(signal, { leader, marker }), clock);
      const said = leftOf(stdout);
      if (said !== null) this.#setup.denied(said.denied);
      return said?.left ?? null;
    } catch (error) {
      this.#told(error);
      return null;
    }
  }

  #told(error: unknown): string {
    if (error instanceof SshTrouble) this.#setup.failed(error);
    return error instanceof Error ? error.message : String(error);
  }
}

/** Why nothing runs there. */
export const noDirectory = (dir: string | undefined): string =>
  `directory '${dir}' does not exist or may not be entered`;

const LAST_WORDS = 300;

function lastWords(stdout: Buffer, stderr: Buffer | null): string {
  const text = `${stdout.toString('utf8')}\n${stderr?.toString('utf8') ?? ''}`.trim();
  return text === '' ? 'it said nothing' : text.slice(-LAST_WORDS);
}
