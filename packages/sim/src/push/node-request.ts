import type { Identity, Organization } from '@muster/platform/auth';
import { z85Decode } from '@muster/wire';
import type { ServerProcess } from './server-process.js';

export const ORG: Organization = { id: '0'.repeat(31).concat('1'), name: 'acme' };

export interface NodeRequest {
  readonly org: string;
  readonly node: string;
  readonly publicKey: string;
  readonly curvePublicKey: string;
  readonly version: string;
  readonly knownKey?: string | null;
}

/** The configuration route behind the signature check: the JSON that the node reads. Throws what refuses it. */
export function askConfiguration(server: ServerProcess | null, request: NodeRequest): unknown {
  if (server === null || !server.ready) throw new Error('connection refused');
  const { node, publicKey, curvePublicKey, version, knownKey } = request;
  const caller: Identity = { principalId: node, type: 'node', name: node, serverAdmin: false, publicKey };
  const curveKey = z85Decode(curvePublicKey);
  return JSON.parse(
    JSON.stringify(
      server.nodes.configure({ org: ORG, node, caller, curveKey, version, knownKey: knownKey ?? undefined }),
    ),
  );
}
