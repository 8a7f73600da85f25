import type { KeyObject } from 'node:crypto';
import { signRequest } from '@muster/signing';
import { type NodeConfiguration, parseNodeConfiguration } from '@muster/wire';
import { MusterError } from '../errors.js';
import { errorText, http } from './http.js';

/** Where this node belongs, and how it proves it. */
export interface NodeIdentity {
  readonly server: URL;
  readonly org: string;
  readonly name: string;
  readonly key: KeyObject;
  readonly ca: string | null;
}

/** `SERVER[/prefix]/organizations/ORG/…`. */
export function organizationUrl(server: URL, org: string, rest: string): URL {
  const prefix = server.pathname.replace(/\/+$/, '');
  return new URL(`${prefix}/organizations/${encodeURIComponent(org)}/${rest}`, server);
}

export interface ConfigurationAnswer {
  readonly configuration: NodeConfiguration;
  readonly serverDate: number | null;
}

/**
 * The signed configuration request (Push Jobs §3.2, sheet §2). Throws `server_unreachable`, or
 * `configuration_refused` with the server's own words, and its code in the details.
 */
export async function requestConfiguration(
  identity: NodeIdentity,
  { curvePublicKey, knownKey }: { readonly curvePublicKey: string; readonly knownKey: string | null },
  now: number,
): Promise<ConfigurationAnswer> {
  const url = organizationUrl(identity.server, identity.org, `pushy/config/${encodeURIComponent(identity.name)}`);
  const known = knownKey === null ? '' : `&server_key=${knownKey}`;
  url.search = `?ccpk=${encodeURIComponent(curvePublicKey)}${known}&version=3.0`;
  const headers = signRequest({
    method: 'GET',
    path: url.pathname + url.search,
    body: '',
    userId: identity.name,
    timestamp: now,
    privateKey: identity.key,
    version: '1.3',
    serverApiVersion: 1,
    signQuery: true,
  });
  const answer = await http({
    url,
    method: 'GET',
    headers: { ...headers, accept: 'application/json' },
    ca: identity.ca,
  });
  if (answer.status !== 200) {
    const { status, code } = answer;
    throw new MusterError('configuration_refused', {
      status,
      reason: errorText(answer),
      ...(code !== null && { code }),
    });
  }
  let json: unknown;
  try {
    json = JSON.parse(answer.body);
  } catch (error) {
    throw new MusterError('configuration_refused', { status: 200, reason: 'the answer is not JSON' }, { cause: error });
  }
  return { configuration: parseNodeConfiguration(json), serverDate: answer.date };
}
