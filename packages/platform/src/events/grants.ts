import type { Changes } from '../auth/changes.js';
import { inPieces, listed, type MemberLists, memberRows } from '../auth/groups.js';
import type { EventAction, EventGrant } from '../auth/permissions.js';
import type { AuthRepository } from '../auth/repository.js';
import type { Actor, Organization } from '../auth/types.js';
import { unknownNames } from '../auth/unknown-names.js';
import { MusterError } from '../errors.js';
import { fitsOwnType } from './access.js';
import { EVENT_LIMITS } from './limits.js';

export interface EventGrantView extends MemberLists {
  readonly action: EventAction;
  readonly pattern: string;
}

/** What a grant is about: one pattern for one action. */
export type GrantTarget = Pick<EventGrant, 'action' | 'pattern'>;

/**
 * Says that the pattern is closed. It has no name, so nobody is in it, and it stays when the last holder goes: deleting
 * a user must not open what only that user might do.
 */
const CLOSED = { kind: 'group', member: '' } as const;

const without = (names: readonly string[]) => names.filter((name) => name !== CLOSED.member);

function view({ action, pattern, holders }: EventGrant): EventGrantView {
  const { users, clients, groups } = listed(holders);
  return { action, pattern, users, clients, groups: without(groups) };
}

/** Event types that are for their holders alone. */
export class EventGrants {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;

  constructor(changes: Changes, repository: AuthRepository) {
    this.#changes = changes;
    this.#repository = repository;
  }

  async list(orgId: string): Promise<readonly EventGrantView[]> {
    return (await this.#repository.eventGrants(orgId)).map(view);
  }

  /**
   * Closes the types to everybody but these, who replace the holders there were. Nobody is a valid choice.
   * @throws MusterError `invalid_field` for publishing Muster's own types, `too_busy` beyond the limits.
   */
  async put(
    organization: Organization,
    { action, pattern }: GrantTarget,
    holders: MemberLists,
    actor: Actor,
  ): Promise<EventGrantView> {
    if (action === 'publish' && fitsOwnType(pattern)) {
      throw new MusterError('invalid_field', { field: 'pattern', reason: 'nobody publishes own types of Muster' });
    }
    const orgId = organization.id;
    const rows = memberRows(holders);
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'event_access.set',
        target: `${action} ${pattern}`,
        detail: { holders: rows.map(({ kind, member }) => `${kind}:${member}`).join(' ') },
      },
      async (trx) => {
        const mine = trx.deleteFrom('event_grants').where('org_id', '=', orgId);
        await mine.where('action', '=', action).where('pattern', '=', pattern).execute();
        const others = await trx
          .selectFrom('event_grants')
          .select((row) => [row.fn.countAll<number>().as('rows')])
          .select((row) => row.fn.count<number>('pattern').distinct().as('patterns'))
          .where('org_id', '=', orgId)
          .executeTakeFirstOrThrow();
        if (Number(others.patterns) >= EVENT_LIMITS.grantPatterns) {
          throw new MusterError('too_busy', { what: 'restricted patterns', limit: EVENT_LIMITS.grantPatterns });
        }
        if (Number(others.rows) + rows.length > EVENT_LIMITS.grantHolders) {
          throw new MusterError('too_busy', { what: 'holders of grants', limit: EVENT_LIMITS.grantHolders });
        }
        await inPieces([CLOSED, ...rows], (piece) =>
          trx
            .insertInto('event_grants')
            .values(piece.map((row) => ({ org_id: orgId, action, pattern, ...row })))
            .execute(),
        );
      },
    );
    const stored = (await this.list(orgId)).find((one) => one.action === action && one.pattern === pattern);
    // Somebody else was quicker to take it away again.
    return stored ?? { action, pattern, ...holders };
  }

  /** Those of the holders whose names nobody has. */
  unknown({ id }: Organization, holders: MemberLists): Promise<MemberLists> {
    return unknownNames(this.#repository, id, holders);
  }

  /** Opens the types again. @throws MusterError `not_found`. */
  async remove(organization: Organization, { action, pattern }: GrantTarget, actor: Actor): Promise<void> {
    const orgId = organization.id;
    const target = `${action} ${pattern}`;
    await this.#changes.apply({ orgId, actor, action: 'event_access.delete', target }, async (trx) => {
      const removed = await trx
        .deleteFrom('event_grants')
        .where('org_id', '=', orgId)
        .where('action', '=', action)
        .where('pattern', '=', pattern)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'restriction', name: target });
    });
  }
}
