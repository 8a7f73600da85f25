import type { Clock } from '@muster/base';
import { Client, type ConnectConfig } from 'ssh2';
import { SYSTEM_LIMITS } from '../limits.js';
import { SSH_PORT, type System, type SystemSecret, SystemTrouble } from '../types.js';
import { connectionTrouble } from './errors.js';
import { fingerprint, isPinned, KEY_KINDS } from './host-key.js';

export type SshSystem = Pick<System, 'name' | 'host' | 'port' | 'user' | 'hostKey' | 'environment'>;

/**
 * A client that is logged in on the host whose key is pinned, and on no other.
 * @throws SystemTrouble
 */
export async function login(
  system: SshSystem,
  secret: SystemSecret,
  clock: Clock,
  connectMs: number = SYSTEM_LIMITS.connectMs,
): Promise<Client> {
  const { hostKey } = system;
  if (hostKey === undefined) {
    throw new SystemTrouble(system.name, 'HOST_KEY_CHANGED', `system ${system.name} has no host key to compare with`);
  }
  let shown: string | null = null;
  for (const kinds of KEY_KINDS) {
    const other: { key: string | null } = { key: null };
    try {
      return await attempt(system, clock, {
        readyTimeout: connectMs,
        keepaliveInterval: SYSTEM_LIMITS.keepaliveMs,
        keepaliveCountMax: SYSTEM_LIMITS.keepalives,
        ...secret,
        ...(kinds === null ? {} : { algorithms: { serverHostKey: [...kinds] } }),
        hostVerifier: (key: Buffer) => {
          if (isPinned(hostKey, key)) return true;
          other.key = fingerprint(key);
          return false;
        },
      });
    } catch (error) {
      // It was asked for another kind of key, and may not have one: what counts is that it showed a wrong one before.
      const kindOnly = shown !== null && error instanceof Error && error.message.includes('no matching host key');
      if (other.key === null && !kindOnly) throw connectionTrouble(system, error);
      shown ??= other.key;
    }
  }
  throw new SystemTrouble(
    system.name,
    'HOST_KEY_CHANGED',
    `the host of system ${system.name} showed the key SHA256:${shown}, and not the one that is expected. If its key was changed on purpose, change hostKey of the system.`,
  );
}

function attempt({ host, port, user }: SshSystem, clock: Clock, config: ConnectConfig): Promise<Client> {
  return new Promise((resolve, reject) => {
    const client = new Client();
    const { readyTimeout = SYSTEM_LIMITS.connectMs } = config;
    const fail = (error: unknown): void => {
      timer.cancel();
      client.destroy();
      reject(error);
    };
    // The library's own clock begins when TCP is connected.
    const timer = clock.after(readyTimeout, () => {
      fail(Object.assign(new Error(`no login within ${readyTimeout} ms`), { level: 'client-timeout' }));
    });
    client.on('error', fail);
    client.once('close', () => fail(new Error('the host closed the connection before the login was done')));
    client.once('ready', () => {
      timer.cancel();
      client.removeAllListeners('close').removeListener('error', fail);
      resolve(client);
    });
    client.on('keyboard-interactive', (_name, _text, _language, prompts, answer) => {
      answer(prompts.map(() => config.password ?? ''));
    });
    try {
      client.connect({
        ...config,
        ...(host === undefined ? {} : { host }),
        ...(user === undefined ? {} : { username: user }),
        port: port ?? SSH_PORT,
        tryKeyboard: config.password !== undefined,
      });
    } catch (error) {
      fail(error);
    }
  });
}
