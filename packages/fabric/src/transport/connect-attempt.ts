import { systemClock } from '@muster/base/clock';
import { certificateError } from '@muster/base/trust';
import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import { type Address, formatAddress } from './address.js';
import type { Channel } from './channel.js';
import type { ConnectOptions } from './options.js';
import { reasonOf } from './socket.js';

/** Begins to connect; answers what ends it. */
type Begin = (done: (channel: Channel) => void, failed: (error: unknown) => void) => () => void;

/**
 * One attempt to connect, bounded by the timeout and the signal. @throws MusterError `fabric_unreachable`,
 * `fabric_socket_unreachable`, `certificate_…`
 */
export function attempt(address: Address, options: ConnectOptions, begin: Begin): Promise<Channel> {
  const { clock = systemClock, timeoutMs = FABRIC_LIMITS.connectMs, signal } = options;
  return new Promise((resolve, reject) => {
    let stop = () => {};
    const settle = () => {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    };
    const fail = (cause: unknown) => {
      settle();
      const details = { url: formatAddress(address), reason: reasonOf(cause) };
      const unreachable = address.scheme === 'stomp+unix' ? 'fabric_socket_unreachable' : 'fabric_unreachable';
      const code = certificateError(cause) ?? unreachable;
      reject(new MusterError(code, details, { cause }));
    };
    const cut = (reason: string) => {
      fail(new Error(reason));
      stop();
    };
    const abort = () => cut('it is not wanted any more');
    const timer = clock.after(timeoutMs, () => cut(`no answer within ${timeoutMs / 1000} s`));
    const done = (channel: Channel) => {
      settle();
      resolve(channel);
    };
    try {
      stop = begin(done, fail);
    } catch (error) {
      // Options that Node refuses, such as a certificate that is none.
      fail(error);
    }
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort);
  });
}
