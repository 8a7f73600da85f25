import type { Clock } from '@muster/base';
import type { Organization, RandomBytes } from '@muster/platform/auth';
import type { Schema, Store, Write } from '@muster/store';
import type { Selectable, Transaction } from 'kysely';
import { MusterError } from '../errors.js';
import { HintedCache } from '../repository/hinted-cache.js';
import { newUuid } from '../uuid.js';
import type { AppDefinition } from './definition.js';
import { APP_LIMITS } from './limits.js';
import type { App } from './types.js';
import '../repository/tables.js';

type Trx = Transaction<Schema>;
type AppRow = Selectable<Schema['job_apps']>;

export interface AppStoreDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: RandomBytes;
}

export interface AppList {
  /** Only those that are public, or his; null: all. */
  readonly owner: string | null;
  /** Whether those that are public, and those that are not, are among them. */
  readonly publicity?: readonly boolean[];
  /** Of the name: `*` stands for anything, and case does not matter then; null: any. */
  readonly like?: string | null;
  readonly limit: number;
  readonly offset: number;
}

/** Apps as they are stored, answered from memory. */
export class AppStore {
  readonly #deps: AppStoreDeps;
  readonly #cache: HintedCache<App | null>;

  constructor(deps: AppStoreDeps) {
    this.#deps = deps;
    this.#cache = new HintedCache(deps.store, 'job-apps', 2000);
  }

  stop(): void {
    this.#cache.stop();
  }

  /** null: there is none of this id. Whether somebody may run it is another question: see `mayRun`. */
  find(orgId: string, appId: string): Promise<App | null> {
    return this.#cache.get(orgId, appId, async () => {
      const row = await this.#deps.store.read
        .selectFrom('job_apps')
        .selectAll()
        .where('org_id', '=', orgId)
        .where('app_id', '=', appId)
        .executeTakeFirst();
      return row === undefined ? null : appOf(row);
    });
  }

  /** By their ids. */
  async list(
    orgId: string,
    { owner, publicity = [true, false], like, limit, offset }: AppList,
  ): Promise<readonly App[]> {
    if (publicity.length === 0) return [];
    let rows = this.#deps.store.read.selectFrom('job_apps').where('org_id', '=', orgId);
    if (owner !== null) rows = rows.where((is) => is.or([is('is_public', '=', 1), is('owner', '=', owner)]));
    rows = rows.where('is_public', 'in', publicity.map(Number)).orderBy('app_id');
    if (like === undefined || like === null) {
      return (await rows.selectAll().limit(limit).offset(offset).execute()).map(appOf);
    }
    const matches = wildcards(like);
    const ids = (await rows.select('app_id').execute()).map(({ app_id }) => app_id);
    const found = ids.filter((id) => matches(nameIn(id))).slice(offset, offset + limit);
    if (found.length === 0) return [];
    return (await rows.selectAll().where('app_id', 'in', found).execute()).map(appOf);
  }

  /**
   * Registers an app, or replaces the one of this id, which keeps its uuid and its owner.
   * @param also Stored with it, such as the audit's entry.
   */
  put(organization: Organization, app: AppDefinition, by: string, also: readonly Write[]): Promise<App> {
    const { random } = this.#deps;
    return this.#edit(organization, app.id, also, async (before, now, trx) => {
      if (before !== null) return { ...before, ...app, revision: before.revision + 1, lastUpdated: now };
      await assertRoom(trx, organization.id);
      const uuid = newUuid(random, '005');
      return { ...app, uuid, orgId: organization.id, owner: by, revision: 1, created: now, lastUpdated: now };
    });
  }

  /** @throws MusterError `job_app_not_found` */
  change(
    organization: Organization,
    appId: string,
    patch: Partial<Pick<App, 'enabled' | 'isPublic'>>,
    also: readonly Write[],
  ): Promise<App> {
    return this.#edit(organization, appId, also, async (before, now) => {
      if (before === null) throw notFound(appId);
      return { ...before, ...patch, lastUpdated: now };
    });
  }

  /** Jobs that were submitted know it by what they took from it: they go on. @throws MusterError `job_app_not_found` */
  async remove(organization: Organization, appId: string, also: readonly Write[]): Promise<void> {
    const { store } = this.#deps;
    await store.transact(async (trx, write) => {
      const removed = await trx
        .deleteFrom('job_apps')
        .where('org_id', '=', organization.id)
        .where('app_id', '=', appId)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw notFound(appId);
      write(also);
    });
    this.#cache.changed(organization.id);
  }

  async #edit(
    { id: orgId }: Organization,
    appId: string,
    also: readonly Write[],
    edit: (before: App | null, now: number, trx: Trx) => Promise<App>,
  ): Promise<App> {
    const { store, clock } = this.#deps;
    const edited = await store.transact(async (trx, write) => {
      const rows = trx.selectFrom('job_apps').selectAll().where('org_id', '=', orgId).where('app_id', '=', appId);
      const row = await rows.executeTakeFirst();
      const app = await edit(row === undefined ? null : appOf(row), clock.now(), trx);
      const stored = rowOf(app);
      if (row === undefined) await trx.insertInto('job_apps').values(stored).execute();
      else await trx.updateTable('job_apps').set(stored).where('uuid', '=', row.uuid).execute();
      write(also);
      return app;
    });
    this.#cache.changed(orgId);
    return edited;
  }
}

function notFound(appId: string): MusterError {
  return new MusterError('job_app_not_found', { app: appId.slice(0, 80) });
}

async function assertRoom(trx: Trx, orgId: string): Promise<void> {
  const counted = trx.selectFrom('job_apps').select(({ fn }) => fn.countAll<number>().as('count'));
  const { count } = await counted.where('org_id', '=', orgId).executeTakeFirstOrThrow();
  if (Number(count) < APP_LIMITS.perOrganization) return;
  throw new MusterError('too_busy', { what: 'apps', limit: APP_LIMITS.perOrganization });
}

/** Its owner and whoever administers jobs may run an app, and everybody one that is public. */
export function mayRun(app: App, user: string, admin: boolean): boolean {
  return app.isPublic || admin || app.owner === user;
}

/** Of an id, `NAME-VERSION`: versions have no dash. */
function nameIn(id: string): string {
  return id.slice(0, id.lastIndexOf('-'));
}

/** As the operator `like` of lists of jobs. Each part is looked for once, from left to right: no pattern takes long. */
function wildcards(pattern: string): (name: string) => boolean {
  if (!pattern.includes('*')) return (name) => name === pattern;
  const [first = '', ...rest] = pattern.toLowerCase().split(/\*+/);
  const last = rest.pop() ?? '';
  return (given) => {
    const name = given.toLowerCase();
    if (!name.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  };
}

function appOf(row: AppRow): App {
  return {
    ...(JSON.parse(row.definition) as Omit<App, 'uuid' | 'orgId' | 'id'>),
    uuid: row.uuid,
    orgId: row.org_id,
    id: row.app_id,
    enabled: row.enabled === 1,
    isPublic: row.is_public === 1,
    owner: row.owner,
    created: row.created,
    lastUpdated: row.last_updated,
  };
}

function rowOf(app: App): AppRow {
  const { uuid, orgId, id, enabled, isPublic, owner, created, lastUpdated, ...definition } = app;
  return {
    uuid,
    org_id: orgId,
    app_id: id,
    enabled: Number(enabled),
    is_public: Number(isPublic),
    owner,
    definition: JSON.stringify(definition),
    created,
    last_updated: lastUpdated,
  };
}
