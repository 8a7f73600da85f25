import { normalizePublicKey } from '@muster/signing';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import { type Changes, secretHash, type Trx } from './changes.js';
import { findPrincipal, insertPrincipal } from './principals.js';
import type { AuthRepository } from './repository.js';
import { trustIn } from './trust-in.js';
import type { Organization } from './types.js';

export interface EnrolRequest {
  readonly token: string;
  readonly name: string;
  readonly publicKey: string;
  /** Where the request came from. */
  readonly address?: string;
}

/** What the transaction found; only `created` changes anything. */
type Enrolled = 'created' | 'same';

/** A new agent registers the key it made, with a token instead of a signature. */
export class Enrolment {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;

  constructor(changes: Changes, repository: AuthRepository) {
    this.#changes = changes;
    this.#repository = repository;
  }

  /**
   * True when the node is new. The same key again is answered without using the token up, because the first answer
   * may have been lost.
   * @throws MusterError `invalid_token`; `already_exists` for a name with another key, until an admin removes the node.
   */
  async enrol(organization: Organization, request: EnrolRequest): Promise<boolean> {
    const { name, address } = request;
    const { now } = this.#changes;
    // Read first: strangers with made-up tokens must not take turns in the one lane of writes.
    await validToken(this.#repository.read, organization.id, request.token, now);
    const key = normalizePublicKey(request.publicKey);
    const id = this.#changes.newId();
    const keyId = this.#changes.newId();
    const orgId = organization.id;
    const enrolled = await this.#changes.apply<Enrolled>(
      {
        orgId,
        actor: { name, kind: 'node', ...(address !== undefined && { address }) },
        action: 'node.enrol',
        target: name,
        detail: { fingerprint: key.fingerprint },
      },
      async (trx) => {
        const tokenId = await validToken(trx, orgId, request.token, now);
        const taken = await findPrincipal(trx, orgId, name);
        if (taken !== undefined) {
          if (taken.type === 'node' && (await hasKey(trx, taken.id, key.fingerprint))) return 'same';
          throw new MusterError('already_exists', { kind: taken.type, name });
        }
        const reason = await whyNot(trx, orgId, name);
        if (reason !== null) throw new MusterError('name_not_enrollable', { name, reason });
        await useOnce(trx, tokenId);
        const row = { id, orgId, type: 'node', name, serverAdmin: false, key, keyId, keyExpiresAt: null, now } as const;
        await insertPrincipal(trx, row);
        return 'created';
      },
      { orgId, client: name },
      (result) => result === 'created',
    );
    return enrolled === 'created';
  }
}

async function validToken(read: Kysely<Schema>, orgId: string, token: string, now: number): Promise<string> {
  const row = await read
    .selectFrom('enrol_tokens')
    .select('id')
    .where('hash', '=', secretHash(token))
    .where('org_id', '=', orgId)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  if (row === undefined) throw new MusterError('invalid_token');
  return row.id;
}

/** One statement decides, so that two agents never share the last use. */
async function useOnce(trx: Trx, tokenId: string): Promise<void> {
  const used = await trx
    .updateTable('enrol_tokens')
    .set((row) => ({ uses_left: row('uses_left', '-', 1) }))
    .where('id', '=', tokenId)
    .where('uses_left', '>', 0)
    .executeTakeFirst();
  if (used.numUpdatedRows === 0n) throw new MusterError('invalid_token');
}

async function hasKey(trx: Trx, principalId: string, fingerprint: string): Promise<boolean> {
  const row = await trx
    .selectFrom('principal_keys')
    .select('id')
    .where('principal_id', '=', principalId)
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * A token makes a node, never a writer: a name that an admin already put somewhere needs the admin's own hand. A user's name
 * is taken, too: what the node tells and does would look like the user's. Null: nothing hangs on the name.
 */
async function whyNot(trx: Trx, orgId: string, name: string): Promise<string | null> {
  const user = await trx
    .selectFrom('principals')
    .select('id')
    .where('org_id', 'is', null)
    .where('type', '=', 'user')
    .where('name', '=', name)
    .executeTakeFirst();
  if (user !== undefined) return 'it is the name of a user';
  return trustIn(trx, orgId, 'client', name);
}
