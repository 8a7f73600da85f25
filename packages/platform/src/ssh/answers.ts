import { connect } from 'node:net';
import type { Clock } from '@muster/base';
import { connectionTrouble } from './errors.js';
import type { SshHost } from './host.js';

/** Lines that a server may send before it says its version (RFC 4253 §4.2). */
const MOST_BEFORE = 8192;

/**
 * Resolves when something that speaks ssh answers there: the first line that it says is read, and nothing more. It costs neither side a
 * key exchange.
 * @throws SshTrouble
 */
export async function sshAnswers(to: SshHost, clock: Clock, withinMs: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host: to.host, port: to.port });
      let said = '';
      const end = (settle: () => void): void => {
        timer.cancel();
        socket.destroy();
        settle();
      };
      const timer = clock.after(withinMs, () => {
        const error = Object.assign(new Error(`nothing was said within ${withinMs} ms`), { level: 'client-timeout' });
        end(() => reject(error));
      });
      socket.on('data', (data) => {
        said += data.toString('latin1');
        if (/^SSH-/m.test(said)) end(resolve);
        else if (said.length > MOST_BEFORE) end(() => reject(new Error('what answers there is no ssh server')));
      });
      socket.on('error', (error) => end(() => reject(error)));
      socket.on('close', () => end(() => reject(new Error('the connection was closed before anything was said'))));
    });
  } catch (error) {
    throw connectionTrouble(to, error);
  }
}
