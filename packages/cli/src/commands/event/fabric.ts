import { resolve } from 'node:path';
import type { Client, ClientOptions } from '@muster/fabric/client';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { readText, type Settings } from '../../settings.js';
import type { Call } from '../../shell.js';
import { signedLogins } from '../../signed-login.js';

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

function placeAndLogin(call: Call<FabricFlags>): Pick<ClientOptions, 'url' | 'login' | 'passcode' | 'tls'> {
  const { fabric } = call.options;
  const [, path] = /^(?:stomp\+)?unix:(.+)$/.exec(fabric ?? '') ?? [];
  // The agent speaks as its node, whoever may open its socket.
  if (path !== undefined) {
    return { url: `unix:${resolve(call.world.cwd, path)}` };
  }
  const { settings } = call;
  const url = fabric ?? settings.url.replace(/^http/, 'ws') + WEBSOCKET_PATH;
  const { ca } = settings;
  return { url, ...loginOf(settings, () => call.world.now()), ...(ca !== undefined && { tls: { ca } }) };
}

function loginOf({ org, credentials }: Settings, now: () => number): Pick<ClientOptions, 'login' | 'passcode'> {
  if (credentials.user === undefined) {
    throw new MusterError('usage', { reason: 'events need MUSTER_USER, too: the user or service of MUSTER_TOKEN' });
  }
  const login = `${org}/${credentials.user}`;
  if (credentials.kind === 'token') return { login, passcode: credentials.token };
  return { login, passcode: signedLogins(login, credentials.privateKey, 'MUSTER_KEY', now) };
}

/** A key for signatures of events; a line end after it does not count. */
export function signatureKey(call: Call<object>, file: string): string {
  const key = readText(resolve(call.world.cwd, file)).trim();
  if (key !== '') return key;
  throw new MusterError('usage', {
    reason: `${file} is empty: a key for signatures is any text, such as 32 random bytes in base64`,
  });
}
