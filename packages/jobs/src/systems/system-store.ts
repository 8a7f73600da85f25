import type { Clock } from '@muster/base';
import type { Organization, RandomBytes } from '@muster/platform/auth';
import { resealed, type SealingKey } from '@muster/platform/secrets';
import type { Schema, Store, Write } from '@muster/store';
import type { Selectable, Transaction } from 'kysely';
import { MusterError } from '../errors.js';
import { HintedCache } from '../repository/hinted-cache.js';
import { newUuid } from '../uuid.js';
import type { SystemDefinition } from './definition.js';
import { SSH_PORT, type System, type SystemSecret } from './types.js';
import '../repository/tables.js';

type Trx = Transaction<Schema>;
type SystemRow = Selectable<Schema['job_systems']>;

/** Of an organization. */
const MOST_SYSTEMS = 1000;
/** Organizations whose systems are in memory. */
const MOST_KEPT = 1000;

export interface SystemStoreDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: RandomBytes;
  readonly secrets: SealingKey;
}

/** Systems as they are stored, answered from memory. Nothing is connected to here. */
export class SystemStore {
  readonly #deps: SystemStoreDeps;
  readonly #cache: HintedCache<ReadonlyMap<string, System>>;
  readonly #listeners = new Set<(orgId: string) => void>();

  constructor(deps: SystemStoreDeps) {
    this.#deps = deps;
    this.#cache = new HintedCache(deps.store, 'job-systems', MOST_KEPT);
  }

  stop(): void {
    this.#cache.stop();
  }

  /** By their names. */
  async list(orgId: string): Promise<readonly System[]> {
    return [...(await this.#all(orgId)).values()];
  }

  /** null: there is none of this name. */
  async find(orgId: string, name: string): Promise<System | null> {
    return (await this.#all(orgId)).get(name) ?? null;
  }

  /** Where jobs run and archive to that name no system. */
  async defaultOf(orgId: string): Promise<System | null> {
    return (await this.list(orgId)).find((system) => system.default) ?? null;
  }

  /** What opens it; null: nothing was given. Not kept in memory. */
  async secretOf({ id, uuid }: Pick<System, 'id' | 'uuid'>): Promise<SystemSecret | null> {
    const rows = this.#deps.store.read.selectFrom('job_systems').select('secret').where('id', '=', id);
    const sealed = (await rows.executeTakeFirst())?.secret ?? null;
    return sealed === null ? null : this.#deps.secrets.unseal<SystemSecret>(sealedFor(uuid), sealed);
  }

  /** What opens systems, sealed by a former key, with the one of today: all, or nothing. How many. @throws MusterError `secret_unreadable` */
  async rekey(former: SealingKey): Promise<number> {
    const { store, secrets } = this.#deps;
    return store.transact(async (trx) => {
      const rows = trx.selectFrom('job_systems').select(['id', 'uuid', 'secret']).where('secret', 'is not', null);
      let changed = 0;
      for (const { id, uuid, secret: before } of await rows.execute()) {
        const secret = before && resealed(secrets, former, sealedFor(uuid), before);
        if (secret === null) continue;
        await trx.updateTable('job_systems').set({ secret }).where('id', '=', id).execute();
        changed += 1;
      }
      return changed;
    });
  }

  /** Tells of changes that were made in this process. Returns how to stop. */
  onChanged(listener: (orgId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Registers a system, or replaces the one of this name, which keeps its ids, its owner, and its secret unless a new one is
   * given for the same host and user.
   * @param also Stored with it, such as the audit's entry.
   */
  put(organization: Organization, defined: SystemDefinition, by: string, also: readonly Write[]): Promise<System> {
    const { random } = this.#deps;
    const { secret, ...definition } = defined;
    return this.#edit(organization, defined.name, also, async (before, trx) => {
      if (before === null) await assertRoom(trx, organization.id);
      const kept = before ?? {
        id: Buffer.from(random(16)).toString('hex'),
        uuid: newUuid(random, '006'),
        owner: by,
      };
      const system: System = { ...definition, id: kept.id, uuid: kept.uuid, owner: kept.owner, orgId: organization.id };
      // A key is not sent to a host that it was not given for.
      const same = before !== null && loginOf(before) === loginOf(system);
      return { system, secret: secret ?? (same ? 'kept' : null) };
    });
  }

  /** @throws MusterError `not_found` */
  change(
    organization: Organization,
    name: string,
    patch: Partial<Pick<System, 'enabled' | 'default'>>,
    also: readonly Write[],
  ): Promise<System> {
    return this.#edit(organization, name, also, async (before) => {
      if (before === null) throw notFound(name);
      return { system: { ...before, ...patch }, secret: 'kept' };
    });
  }

  /** Refused while a job needs it. @throws MusterError `not_found`, `in_use` */
  async remove({ id: orgId }: Organization, name: string, also: readonly Write[]): Promise<void> {
    await this.#deps.store.transact(async (trx, write) => {
      const job = await trx
        .selectFrom('jobs')
        .select('uuid')
        .where('org_id', '=', orgId)
        .where((is) => is.or([is('system_id', '=', name), is('archive_system', '=', name)]))
        .where('ended', 'is', null)
        .limit(1)
        .executeTakeFirst();
      if (job !== undefined) {
        throw new MusterError('in_use', { kind: 'system', name, reason: `job ${job.uuid} needs it` });
      }
      const rows = trx.deleteFrom('job_systems').where('org_id', '=', orgId).where('name', '=', name);
      if ((await rows.executeTakeFirst()).numDeletedRows === 0n) throw notFound(name);
      write(also);
    });
    this.#changed(orgId);
  }

  async #edit(
    { id: orgId }: Organization,
    name: string,
    also: readonly Write[],
    edit: (
      before: System | null,
      trx: Trx,
    ) => Promise<{ readonly system: System; readonly secret: SystemSecret | 'kept' | null }>,
  ): Promise<System> {
    const { store, clock, secrets } = this.#deps;
    const edited = await store.transact(async (trx, write) => {
      const rows = trx.selectFrom('job_systems').selectAll().where('org_id', '=', orgId).where('name', '=', name);
      const row = await rows.executeTakeFirst();
      const { system, secret } = await edit(row === undefined ? null : systemOf(row), trx);
      // One at most: the new one takes the place of the former one.
      if (system.default)
        await trx.updateTable('job_systems').set({ is_default: 0 }).where('org_id', '=', orgId).execute();
      const now = clock.now();
      const stored = {
        ...rowOf(system),
        secret:
          secret === 'kept'
            ? (row?.secret ?? null)
            : secret === null
              ? null
              : secrets.seal(sealedFor(system.uuid), secret),
        created: row?.created ?? now,
        last_updated: now,
      };
      if (row === undefined) await trx.insertInto('job_systems').values(stored).execute();
      else await trx.updateTable('job_systems').set(stored).where('id', '=', row.id).execute();
      write(also);
      return system;
    });
    this.#changed(orgId);
    return edited;
  }

  #changed(orgId: string): void {
    this.#cache.changed(orgId);
    for (const listener of this.#listeners) listener(orgId);
  }

  #all(orgId: string): Promise<ReadonlyMap<string, System>> {
    return this.#cache.get(orgId, 'all', async () => {
      const rows = this.#deps.store.read.selectFrom('job_systems').selectAll().where('org_id', '=', orgId);
      return new Map((await rows.orderBy('name').execute()).map((row) => [row.name, systemOf(row)]));
    });
  }
}

function loginOf({ host, port = SSH_PORT, user }: Pick<System, 'host' | 'port' | 'user'>): string {
  return JSON.stringify([host, port, user]);
}

function notFound(name: string): MusterError {
  return new MusterError('not_found', { kind: 'system', name: name.slice(0, 80) });
}

async function assertRoom(trx: Trx, orgId: string): Promise<void> {
  const counted = trx.selectFrom('job_systems').select(({ fn }) => fn.countAll<number>().as('count'));
  const { count } = await counted.where('org_id', '=', orgId).executeTakeFirstOrThrow();
  if (Number(count) >= MOST_SYSTEMS) throw new MusterError('too_busy', { what: 'systems', limit: MOST_SYSTEMS });
}

function systemOf(row: SystemRow): System {
  return {
    ...(JSON.parse(row.definition) as Omit<System, 'id' | 'uuid' | 'orgId' | 'name' | 'type'>),
    id: row.id,
    uuid: row.uuid,
    orgId: row.org_id,
    name: row.name,
    type: row.type as System['type'],
    enabled: row.enabled === 1,
    default: row.is_default === 1,
    owner: row.owner,
  };
}

function sealedFor(uuid: string): string {
  return `execution system ${uuid}`;
}

function rowOf(system: System): Omit<SystemRow, 'secret' | 'created' | 'last_updated'> {
  const { id, uuid, orgId, name, type, enabled, default: isDefault, owner, ...definition } = system;
  return {
    id,
    uuid,
    org_id: orgId,
    name,
    type,
    enabled: Number(enabled),
    is_default: Number(isDefault),
    owner,
    definition: JSON.stringify(definition),
  };
}
