import { firstServerKey } from '@muster/signing';
import { type Auth, type AuthDeps, createAuth } from '../../src/auth/auth.js';
import { systemRandom } from '../../src/auth/changes.js';
import type { Organization } from '../../src/auth/types.js';
import type { Recorder } from '../../src/log/recorder.js';
import type { FetchJson } from '../../src/outbound/fetch-json.js';
import { SealingKey } from '../../src/secrets/sealing-key.js';
import { DECLARED } from './layers.js';
import { ME, newKey, sharedKey } from './personas.js';
import { openRecorder } from './recorder.js';
import { openTestStore, type TestStore } from './test-store.js';

/** Identities on a database of their own, without a server around them. */
export interface Directory extends TestStore {
  readonly recorder: Recorder;
  readonly auth: Auth;
  /** `default` */
  readonly organization: Organization;
  /** All have the shared key. */
  addUser(name: string, organization?: Organization | null): Promise<void>;
  addClient(type: 'node' | 'service', name: string, organization?: Organization): Promise<void>;
  /** A token of a user; with an organization, of its service. */
  token(name: string, organization?: Organization | null, ttlSeconds?: number): Promise<{ id: string; token: string }>;
}

/** @param fetch How keys of issuers are fetched. */
export async function openDirectory(fetch?: FetchJson, more: Partial<AuthDeps> = {}): Promise<Directory> {
  const test = await openTestStore();
  const { store, clock } = test;
  const recorder = await openRecorder(store, clock);
  const auth = createAuth({
    store,
    recorder,
    clock,
    random: systemRandom,
    incarnation: 'test',
    rights: DECLARED.rights,
    selection: { check: () => undefined, select: () => [] },
    serverKeys: firstServerKey(sharedKey()),
    sealing: SealingKey.of(new Uint8Array(32)),
    auditFailed: () => undefined,
    standingFailed: () => undefined,
    ...(fetch !== undefined && { fetch }),
    ...more,
  });
  const organization = await auth.organizations.create('default', ME);
  const { publicKey } = sharedKey();
  return {
    ...test,
    recorder,
    auth,
    organization,
    async addUser(name, into = organization) {
      await auth.principals.createUser({ name, publicKey, serverAdmin: false, organization: into, groups: [] }, ME);
    },
    async addClient(type, name, into = organization) {
      await auth.principals.createClient(into, { type, name, publicKey }, ME);
    },
    token(name, of = null, ttlSeconds = 3600) {
      return auth.tokens.createAccessToken({ bearer: { organization: of, name }, ttlSeconds }, ME);
    },
  };
}

/** A second key for somebody who has the shared one. */
export const otherKey = newKey();
