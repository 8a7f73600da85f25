import type { Cursor, CursorKey, Cursors, PrincipalKind } from '@muster/fabric';
import { type Store, upsert } from '@muster/store';
import type { OrganizationId } from '../log/log.js';

/** Is there somebody of that kind and name in the organization? */
export type IsMember = (orgId: string, kind: PrincipalKind, name: string) => Promise<boolean>;

const saveCursor = upsert(
  'event_cursors',
  {
    org_id: 'text',
    principal: 'text',
    kind: 'text',
    name: 'text',
    through: 'integer',
    acknowledged: 'text',
    selector: 'text',
    saved_at: 'integer',
  },
  ['org_id', 'principal', 'kind', 'name'],
);

interface CursorRow {
  readonly principal: string;
  readonly kind: PrincipalKind;
  readonly name: string;
  readonly through: number;
  readonly acknowledged: string;
  readonly selector: string;
  readonly saved_at: number;
}

function cursorOf(org: string, row: CursorRow): Cursor {
  const { principal, kind, name, through, selector, saved_at: savedMs } = row;
  return { org, principal, kind, name, through, acknowledged: JSON.parse(row.acknowledged), selector, savedMs };
}

/** How far durable subscriptions are, in the database. */
export class StoredCursors implements Cursors {
  readonly #store: Store;
  readonly #organizationId: OrganizationId;
  readonly #isMember: IsMember;

  constructor(store: Store, organizationId: OrganizationId, isMember: IsMember) {
    this.#store = store;
    this.#organizationId = organizationId;
    this.#isMember = isMember;
  }

  async load(key: CursorKey): Promise<Cursor | null> {
    const orgId = await this.#organizationId(key.org);
    if (orgId === undefined) return null;
    const row = await this.#of(orgId)
      .where('principal', '=', key.principal)
      .where('kind', '=', key.kind)
      .where('name', '=', key.name)
      .executeTakeFirst();
    return row === undefined ? null : cursorOf(key.org, row);
  }

  #of(orgId: string) {
    return this.#store.read
      .selectFrom('event_cursors')
      .select(['principal', 'kind', 'name', 'through', 'acknowledged', 'selector', 'saved_at'])
      .where('org_id', '=', orgId);
  }

  /**
   * What belongs to an organization or a member that was removed meanwhile is not kept: whoever gets the name next would
   * go on where they were.
   */
  async save(cursors: readonly Cursor[]): Promise<void> {
    const writes = await Promise.all(
      cursors.map(async ({ org, principal, kind, name, through, acknowledged, selector, savedMs }) => {
        const orgId = await this.#organizationId(org);
        if (orgId === undefined || !(await this.#isMember(orgId, kind, principal.slice(org.length + 1)))) return [];
        const row = { org_id: orgId, principal, kind, name, through, selector, saved_at: savedMs };
        return [saveCursor({ ...row, acknowledged: JSON.stringify(acknowledged) })];
      }),
    );
    await this.#store.commit(writes.flat());
  }

  async delete(key: CursorKey): Promise<boolean> {
    const orgId = await this.#organizationId(key.org);
    if (orgId === undefined) return false;
    const removed = await this.#store.transact((trx) =>
      trx
        .deleteFrom('event_cursors')
        .where('org_id', '=', orgId)
        .where('principal', '=', key.principal)
        .where('kind', '=', key.kind)
        .where('name', '=', key.name)
        .executeTakeFirst(),
    );
    return removed.numDeletedRows > 0n;
  }

  async list(org: string): Promise<readonly Cursor[]> {
    const orgId = await this.#organizationId(org);
    if (orgId === undefined) return [];
    const rows = await this.#of(orgId).orderBy('principal').orderBy('kind').orderBy('name').execute();
    return rows.map((row) => cursorOf(org, row));
  }
}
