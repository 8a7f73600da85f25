import type { Clock } from '@muster/base';
import type { SshLink } from '@muster/platform/ssh';
import { commandLine } from '@muster/platform/ssh';
import type { ClientChannel } from 'ssh2';
import { SYSTEM_LIMITS } from '../limits.js';
import { collect, printedTooMuch, tookTooLong } from '../output.js';
import { type Connection, type ExecResult, type System, SystemTrouble } from '../types.js';

export type SshSystem = Pick<System, 'name' | 'host' | 'port' | 'user' | 'hostKey' | 'environment'>;

type Exec = Connection['exec'];

/** Runs programs over a link: the words are quoted for the shell that the host hands them to. */
export function sshExec({ name, environment = {} }: SshSystem, link: SshLink, clock: Clock): Exec {
  const variables = Object.entries(environment).map(([variable, value]) => `${variable}=${value}`);
  return (argv, { input = '', timeoutMs = SYSTEM_LIMITS.commandMs, signal } = {}) => {
    const words = variables.length === 0 ? argv : ['env', ...variables, ...argv];
    return link.command(`exec ${commandLine(words)}`, async (channel) => {
      signal?.throwIfAborted();
      return await result(channel);
    });

    function result(channel: ClientChannel): Promise<ExecResult> {
      return new Promise((resolve, reject) => {
        const end = (reason: unknown): void => {
          settle();
          reject(reason);
          channel.signal('KILL');
          channel.close();
        };
        const timer = clock.after(timeoutMs, () =>
          end(new SystemTrouble(name, 'CONNECTION_TIMEOUT', tookTooLong(argv[0], timeoutMs))),
        );
        const aborted = (): void => end(signal?.reason);
        const settle = (): void => {
          timer.cancel();
          signal?.removeEventListener('abort', aborted);
        };
        signal?.addEventListener('abort', aborted, { once: true });

        const tooMuch = (): void => end(new SystemTrouble(name, 'TRANSMISSION_FAILURE', printedTooMuch(argv[0])));
        const out = collect(channel, tooMuch);
        const err = collect(channel.stderr, tooMuch);
        let ended: { code: number | null; signal: string | null } | null = null;
        channel.on('exit', (code: number | null, signalName?: string) => {
          ended = { code, signal: signalName === undefined ? null : `SIG${signalName.replace(/^SIG/, '')}` };
        });
        channel.on('error', () => undefined);
        channel.on('close', () => {
          settle();
          if (ended !== null) resolve({ ...ended, stdout: out(), stderr: err() });
          else reject(new SystemTrouble(name, 'CONNECTION_FAILURE', `the connection to system ${name} was lost`));
        });
        channel.end(input);
      });
    }
  };
}
