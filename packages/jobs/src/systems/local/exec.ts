import { spawn } from 'node:child_process';
import { userInfo } from 'node:os';
import { type Clock, LoopTurn, systemClock, TurnShare } from '@muster/base';
import { SYSTEM_LIMITS } from '../limits.js';
import { collect, printedTooMuch, tookTooLong } from '../output.js';
import { type Connection, type ExecResult, type System, SystemTrouble } from '../types.js';

type Exec = Connection['exec'];

/** What commands run with: nothing of this process's own variables, which hold what is none of their business. */
export function builtEnvironment(own: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { username, homedir } = userInfo();
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: homedir,
    USER: username,
    LOGNAME: username,
    SHELL: '/bin/sh',
    LANG: 'C.UTF-8',
    ...own,
  };
}

/**
 * To begin a program takes tens of milliseconds in a process as large as a server, in which nothing else goes on: one in each turn of the
 * loop. Were hundreds begun in one, leases would run out and a database that answers be taken for one that hangs.
 */
const oneInATurn = new TurnShare(LoopTurn.of(systemClock), 0);

/** Runs programs of this machine, each in a group of its own that is ended whole. */
export function localExec({ name: system, environment }: Pick<System, 'name' | 'environment'>, clock: Clock): Exec {
  const env = builtEnvironment(environment);
  return async ([file, ...args], { input = '', timeoutMs = SYSTEM_LIMITS.commandMs, signal } = {}) => {
    await oneInATurn.free();
    signal?.throwIfAborted();
    return new Promise<ExecResult>((resolve, reject) => {
      const child = spawn(file, args, { env, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
      const { stdin, stdout, stderr } = child;
      let failure: unknown = null;

      const end = (reason: unknown): void => {
        failure ??= reason;
        try {
          if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
        } catch {
          // It has ended.
        }
        // Somebody outside the group may hold them.
        stdout.destroy();
        stderr.destroy();
      };
      const timer = clock.after(timeoutMs, () =>
        end(new SystemTrouble(system, 'CONNECTION_TIMEOUT', tookTooLong(file, timeoutMs))),
      );
      const aborted = (): void => end(signal?.reason);
      signal?.addEventListener('abort', aborted, { once: true });
      const done = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', aborted);
      };

      const tooMuch = (): void => end(new SystemTrouble(system, 'TRANSMISSION_FAILURE', printedTooMuch(file)));
      const out = collect(stdout, tooMuch);
      const err = collect(stderr, tooMuch);
      // It may end without reading what it is given.
      stdin.on('error', () => undefined);
      stdin.end(input);

      child.on('error', (error) => {
        done();
        const code = 'code' in error ? error.code : null;
        if (code === 'ENOENT') resolve({ code: 127, signal: null, stdout: '', stderr: `${file}: not found` });
        else if (code === 'EACCES') resolve({ code: 126, signal: null, stdout: '', stderr: `${file}: not permitted` });
        else
          reject(
            new SystemTrouble(system, 'SCHEDULER_BUSY', `${file} could not be started: ${code}`, { cause: error }),
          );
      });
      child.on('close', (code, ended) => {
        done();
        if (failure !== null) reject(failure);
        else resolve({ code, signal: ended, stdout: out(), stderr: err() });
      });
    });
  };
}
