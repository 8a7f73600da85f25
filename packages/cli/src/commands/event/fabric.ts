import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { Client, ClientOptions } from '@muster/fabric/client';
import { MusterError, signLogin } from '@muster/wire';
import type { Command } from 'commander';
import { readText, type Settings } from '../../settings.js';
import type { Call } from '../../shell.js';

export interface FabricFlags {
  readonly fabric?: string;
}

/** What commands that speak STOMP have in common. */
export function withFabric(command: Command): Command {
  return command.option(
    '--fabric <url>',
    'relay or server: stomp://HOST:PORT, stomp+tls://, ws://, wss://, or unix:PATH of an agent (default: the server)',
  );
}

const NONCE_BYTES = 16;
/** Of the HTTP server. */
const WEBSOCKET_PATH = '/stomp';

/**
 * A client of the event fabric, connected: to `--fabric`, else to the server of the settings.
 * @throws MusterError `usage`, `fabric_unreachable`, and what the server has against the login
 */
export async function connectFabric(
  call: Call<FabricFlags>,
  options: Pick<ClientOptions, 'onStatus' | 'reconnect'> = {},
): Promise<Client> {
  const { connect } = await import('@muster/fabric/client');
  // What cannot be reached now is told at once; what was reached is reached again.
  const client = connect({ ...placeAndLogin(call), ...options, retries: 0 });
  await client.ready();
  return client;
}

function placeAndLogin(call: Call<FabricFlags>): Pick<ClientOptions, 'url' | 'login' | 'passcode'> {
  const { fabric } = call.options;
  const [, path] = /^(?:stomp\+)?unix:(.+)$/.exec(fabric ?? '') ?? [];
  // The agent speaks as its node, whoever may open its socket.
  if (path !== undefined) {
    return { url: `unix:${resolve(call.world.cwd, path)}` };
  }
  const { settings } = call;
  const url = fabric ?? settings.url.replace(/^http/, 'ws') + WEBSOCKET_PATH;
  return { url, ...loginOf(settings, () => call.world.now()) };
}

function loginOf({ org, credentials }: Settings, now: () => number): Pick<ClientOptions, 'login' | 'passcode'> {
  if (credentials.user === undefined) {
    throw new MusterError('usage', { reason: 'events need MUSTER_USER, too: the user or service of MUSTER_TOKEN' });
  }
  const login = `${org}/${credentials.user}`;
  if (credentials.kind === 'token') return { login, passcode: credentials.token };
  const key = privateKey(credentials.privateKey);
  return {
    login,
    passcode: () => signLogin({ login, timestampMs: now(), nonce: randomBytes(NONCE_BYTES).toString('hex') }, key),
  };
}

function privateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new MusterError('usage', { reason: 'MUSTER_KEY is not a private key' }, { cause: error });
  }
}

/** A key for signatures of events; a line end after it does not count. */
export function signatureKey(call: Call<object>, file: string): string {
  const key = readText(resolve(call.world.cwd, file)).trim();
  if (key !== '') return key;
  throw new MusterError('usage', {
    reason: `${file} is empty: a key for signatures is any text, such as 32 random bytes in base64`,
  });
}
