import type { Clock } from '@muster/base';
import type { Client, ConnectConfig } from 'ssh2';
import { connectionTrouble, SshTrouble } from './errors.js';
import type { SshHost, SshSecret } from './host.js';
import { fingerprint, isPinned, KEY_KINDS } from './host-key.js';
import { SSH_LIMITS } from './limits.js';

/**
 * A client that is logged in on the host whose key is pinned, and on no other.
 * @throws SshTrouble
 */
export async function login(
  to: SshHost,
  secret: SshSecret,
  clock: Clock,
  {
    connectMs = SSH_LIMITS.connectMs,
    keepaliveMs = SSH_LIMITS.keepaliveMs,
  }: { readonly connectMs?: number | undefined; readonly keepaliveMs?: number | undefined } = {},
): Promise<Client> {
  const { hostKey, what, repin } = to;
  if (hostKey === null) throw new SshTrouble('HOST_KEY_CHANGED', `${what} has no host key to compare with`);
  let shown: string | null = null;
  for (const kinds of KEY_KINDS) {
    const other: { key: string | null } = { key: null };
    try {
      return await attempt(to, clock, {
        readyTimeout: connectMs,
        keepaliveInterval: keepaliveMs,
        keepaliveCountMax: SSH_LIMITS.keepalives,
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
      if (other.key === null && !kindOnly) throw connectionTrouble(to, error);
      shown ??= other.key;
    }
  }
  throw new SshTrouble(
    'HOST_KEY_CHANGED',
    `the host of ${what} showed the key SHA256:${shown}, and not the one that is expected. If its key was changed on purpose, ${repin}.`,
  );
}

/**
 * Resolves when the host whose key is pinned has let somebody in; the connection is closed again.
 * @throws SshTrouble
 */
export async function letsIn(to: SshHost, secret: SshSecret, clock: Clock, connectMs?: number): Promise<void> {
  const client = await login(to, secret, clock, { connectMs });
  client.on('error', () => undefined).end();
}

/**
 * The key that a host shows, as `fingerprint` says it; nobody logs in.
 * @throws SshTrouble
 */
export async function shownKey(to: SshHost, clock: Clock, connectMs: number = SSH_LIMITS.connectMs): Promise<string> {
  let shown: string | null = null;
  try {
    const client = await attempt(to, clock, {
      readyTimeout: connectMs,
      hostVerifier: (key: Buffer) => {
        shown = fingerprint(key);
        return false;
      },
    });
    client.destroy();
  } catch (error) {
    if (shown === null) throw connectionTrouble(to, error);
  }
  return shown ?? '';
}

async function attempt({ host, port, user }: SshHost, clock: Clock, config: ConnectConfig): Promise<Client> {
  // Where nobody logs in anywhere, it would be a tenth of what a server loads.
  const { Client } = await import('ssh2');
  return new Promise((resolve, reject) => {
    const client = new Client();
    const { readyTimeout = SSH_LIMITS.connectMs } = config;
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
        host,
        username: user,
        port,
        tryKeyboard: config.password !== undefined,
      });
    } catch (error) {
      fail(error);
    }
  });
}
