import { createHash, createPublicKey } from 'node:crypto';
import type { Identity, Organization } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { ServerKeys } from '@muster/signing';
import { encryptSessionKey, type NodeConfiguration, newSessionKey, type Session } from '@muster/wire';
import type { Admissions } from './admission.js';
import { type Advertised, describeConfiguration, dialectOfRequest } from './configuration.js';
import type { NodeController } from './controller.js';
import { agreeSession } from './sessions.js';

export interface ConfigurationRequest {
  readonly org: Organization;
  readonly node: string;
  readonly caller: Identity;
  readonly curveKey: Uint8Array | null;
  readonly version: string | undefined;
  /** Fingerprint of the server's key that the node knows. */
  readonly knownKey?: string | undefined;
}

export interface DiscoveryDeps {
  readonly config: ServerConfig;
  readonly controller: NodeController;
  readonly admissions: Admissions;
  /** Sign for spec 1.0 sessions. */
  readonly serverKeys: ServerKeys;
}

/** Discovery and key agreement (Push Jobs §3.2, sheet §2): what a verified configuration request sets in motion. */
export class Discovery {
  readonly #deps: DiscoveryDeps;

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
  }

  /**
   * Only the node itself gets a session and is admitted to the command socket. Anybody else who may read gets the same
   * answer around a key that opens nothing, or readers could speak in the node's name.
   */
  answer(request: ConfigurationRequest, server: Advertised): NodeConfiguration {
    const { org, node, caller, curveKey, version, knownKey } = request;
    const dialect = dialectOfRequest(version, curveKey);
    const own = caller.type === 'node' && caller.name === node && caller.publicKey !== null;
    const key = own ? this.#agree(request, caller.publicKey) : newSessionKey();
    const lock = caller.parsedKey ?? caller.publicKey;
    const sessionKey = lock === null || dialect === 'spec1' ? '' : encryptSessionKey(key, lock);
    return describeConfiguration(this.#deps.config, server, {
      node,
      organization: org.name,
      dialect,
      sessionKey,
      knownKey,
    });
  }

  #agree(request: ConfigurationRequest, publicKey: string): Uint8Array {
    const { controller, admissions, serverKeys } = this.#deps;
    const dialect = dialectOfRequest(request.version, request.curveKey);
    const node = controller.known(request.org, request.node);
    const fingerprint = fingerprintOf(publicKey);
    controller.configured(node, fingerprint);
    if (request.curveKey !== null) admissions.admit(node, request.curveKey);
    const expiresAt = request.caller.keyExpiresAt ?? null;
    const { session } = agreeSession(node.sessions, dialect, { fingerprint, expiresAt }, (): Session => {
      const counters = { key: newSessionKey(), sent: 0, received: 0 };
      if (dialect !== 'spec1') return counters;
      return {
        ...counters,
        rsa: { peerPublicKey: createPublicKey(publicKey), ownPrivateKey: serverKeys.present.privateKey },
      };
    });
    return session.key;
  }
}

/** SHA-256 of the DER. Registered keys are kept as SPKI, so there is no need to parse 10,000 of them at once. */
function fingerprintOf(pem: string): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  return createHash('sha256').update(der).digest('hex');
}
