import type { Clock } from '@muster/base';
import { type SshLink, SshTrouble } from '@muster/platform/ssh';
import { SSH_NODE_LIMITS } from './limits.js';

export interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** Has the host run a short line, and reads what it says. @throws SshTrouble */
export function exec(link: SshLink, line: string, clock: Clock): Promise<Said> {
  return link.command(
    line,
    (channel) =>
      new Promise<Said>((resolve, reject) => {
        const said = { stdout: '', stderr: '' };
        let ended = false;
        const timer = clock.after(SSH_NODE_LIMITS.execMs, () => {
          channel.close();
          reject(new SshTrouble('CONNECTION_TIMEOUT', `it did not answer within ${SSH_NODE_LIMITS.execMs / 1000} s`));
        });
        const keep = (stream: 'stdout' | 'stderr') => (data: Buffer) => {
          if (said[stream].length < SSH_NODE_LIMITS.saidBytes) said[stream] += data.toString('utf8');
        };
        channel.on('data', keep('stdout'));
        channel.stderr.on('data', keep('stderr'));
        channel.on('error', () => undefined);
        channel.on('exit', () => {
          ended = true;
        });
        channel.on('close', () => {
          timer.cancel();
          if (ended) resolve(said);
          else reject(new SshTrouble('CONNECTION_FAILURE', 'the connection to it was lost'));
        });
        channel.end();
      }),
  );
}
