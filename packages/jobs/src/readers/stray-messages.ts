import type { Broker } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Schema, Store } from '@muster/store';
import type { Selectable } from 'kysely';
import { MusterError } from '../errors.js';
import { STRAY_EVENTS } from '../event-types.js';
import '../repository/tables.js';
import type { StrayKind } from './stray-reader.js';

export type StrayMessage = Selectable<Schema['job_stray_messages']>;

export interface StrayMessagesDeps {
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'transact'>;
  readonly broker: Pick<Broker, 'publish'>;
}

/** Messages that nobody took, as they are kept: to be read, published again, or dropped. */
export class StrayMessages {
  readonly #store: Store;
  readonly #recorder: Pick<Recorder, 'transact'>;
  readonly #broker: Pick<Broker, 'publish'>;

  constructor({ store, recorder, broker }: StrayMessagesDeps) {
    this.#store = store;
    this.#recorder = recorder;
    this.#broker = broker;
  }

  /** The newest first. */
  list(
    orgId: string,
    kind: StrayKind | null,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<StrayMessage[]> {
    let query = this.#store.read.selectFrom('job_stray_messages').selectAll().where('org_id', '=', orgId);
    if (kind !== null) query = query.where('kind', '=', kind);
    return query.orderBy('at', 'desc').orderBy('id').limit(page.limit).offset(page.offset).execute();
  }

  /** @throws MusterError `not_found`, also for those of other organizations */
  async find(orgId: string, id: string): Promise<StrayMessage> {
    const row = await this.#store.read
      .selectFrom('job_stray_messages')
      .selectAll()
      .where('id', '=', id)
      .where('org_id', '=', orgId)
      .executeTakeFirst();
    if (row === undefined) throw new MusterError('not_found', { kind: 'message', name: id });
    return row;
  }

  /**
   * Publishes it again where it was published first, and forgets it. If it is not taken this time either, it comes back.
   * @throws MusterError `not_found`, `broker_unavailable`: it is kept then
   */
  async resubmit(organization: Organization, id: string): Promise<void> {
    const { exchange, routing_key: key, body, at } = await this.find(organization.id, id);
    // Another attempt at this one is the same message.
    await this.#broker.publish({ exchange, key, body, id: `${id}.${at}` });
    await this.#delete(organization, id);
  }

  /** @throws MusterError `not_found` */
  async drop(organization: Organization, id: string): Promise<void> {
    await this.find(organization.id, id);
    await this.#delete(organization, id);
  }

  async #delete(organization: Organization, id: string): Promise<void> {
    await this.#recorder.transact(async (trx, record) => {
      const { numDeletedRows } = await trx.deleteFrom('job_stray_messages').where('id', '=', id).executeTakeFirst();
      if (numDeletedRows > 0n) record([STRAY_EVENTS.tell('job_message.removed', organization, { message: id }, {})]);
    });
  }
}
