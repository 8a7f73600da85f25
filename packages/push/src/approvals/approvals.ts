import type { Clock } from '@muster/base';
import {
  type Actor,
  type AuditEntry,
  type Auth,
  actorOf,
  type Identity,
  type Organization,
  principalNow,
  type RandomBytes,
  SERVER,
  whilePresent,
} from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import { Upkeep } from '@muster/platform/upkeep';
import { GuardFailed, type Store } from '@muster/store';
import { MusterError } from '../errors.js';
import type { HeldFile, PushFiles } from '../files/push-files.js';
import { COMMAND_TOLD } from '../limits.js';
import type { StoredAlong } from '../request/submission.js';
import { approvalAgreed, approvalAsked, approvalDenied, approvalExpired, approvalGranted } from './events.js';
import { APPROVAL_LIMITS } from './limits.js';
import { type ApprovalEvent, type ApprovalState, stepApproval } from './machine.js';
import { type Granter, joined, missing, type Need, type Needs } from './needs.js';
import {
  filesOfOrder,
  hashOf,
  type Order,
  type OrderKind,
  type OrderOf,
  readOrder,
  scriptOf,
  startsJob,
  summaryOf,
  writeOrder,
} from './order.js';
import { ApprovalNeeded } from './policies.js';
import {
  type ApprovalRow,
  addApproval,
  approvalsById,
  approvalsOf,
  countPending,
  type Decision,
  deleteDecided,
  findApproval,
  type Grant,
  type Granted as GrantsAfter,
  grantsIn,
  needsIn,
  ordersWithFiles,
  overdue,
  saveDecision,
  saveGrant,
} from './repository.js';
import { type ApprovalView, approvalView } from './view.js';

/** How something is started that was granted. */
export interface Granted {
  /** Id of the approval. */
  readonly approval: string;
  /** Whose it is. */
  readonly asker: Identity;
  /** What is stored with it, by the id of the push job or of what else is made. */
  readonly along: (run: string) => StoredAlong;
  /**
   * To be called with what policies want for the nodes that are chosen now. All to which others have agreed.
   * @throws ApprovalNeeded when more have to agree
   */
  readonly agreed: (now: Needs) => readonly Need[];
}

/** What one kind of order starts. */
export interface Startable<K extends OrderKind> {
  /** Why it cannot be started for them any more; null: it can. */
  void(org: Organization, order: OrderOf<K>, asker: Identity): Promise<string | null>;
  /** Its id. @throws MusterError as when it is started by hand */
  start(org: Organization, order: OrderOf<K>, granted: Granted): Promise<string>;
}

export interface ApprovalsDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'repository' | 'rights'>;
  readonly kept: Pick<PushFiles, 'find' | 'read'>;
  /** Seconds for which decided ones are kept; 0: for ever. */
  readonly keep: number;
  /** A round of upkeep failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/** What became of a grant. */
export interface GrantOutcome {
  /** Id of what was started or made; null: others have to agree besides. */
  readonly run: string | null;
  readonly missing: number;
}

/**
 * Requests for others to agree. The last grant and the push job that it starts are one commit, which is refused when anything was decided before:
 * there is no moment between them at which a crash could lose the start, and no second one.
 */
export class Approvals {
  readonly #deps: ApprovalsDeps;
  readonly #upkeep: Upkeep;
  readonly #kinds = new Map<OrderKind, Startable<OrderKind>>();
  /** Of each approval, the decision that was begun last: guards of one group commit do not see each other's writes. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: APPROVAL_LIMITS.pauseMs, round: () => this.expire(), failed });
  }

  /** What is started for orders of this kind. */
  handle<K extends OrderKind>(kind: K, startable: Startable<K>): void {
    this.#kinds.set(kind, startable as unknown as Startable<OrderKind>);
  }

  /** What those that wait will take to their nodes. */
  async files(): Promise<readonly HeldFile[]> {
    const rows = await ordersWithFiles(this.#deps.store.read);
    return rows.flatMap(({ org_id, order_text }) => filesOfOrder(org_id, readOrder(order_text)));
  }

  /** What is in the script that would be run, for whoever decides; null: it has none, or is decided. */
  async script(org: Organization, { order_text: text }: ApprovalRow): Promise<string | null> {
    const { kept } = this.#deps;
    const sha256 = text === '' ? null : scriptOf(readOrder(text));
    const file = sha256 === null ? undefined : await kept.find(org.id, sha256);
    if (file === undefined) return null;
    const pieces: Uint8Array[] = [];
    for await (const piece of kept.read(file, 0, file.size - 1)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  now(): number {
    return this.#deps.clock.now();
  }

  /** The newest first. */
  all(org: Organization, status: string | null): Promise<readonly ApprovalRow[]> {
    return approvalsOf(this.#deps.store.read, org.id, status);
  }

  /** Those of them that are still kept. */
  async some({ id }: Pick<Organization, 'id'>, ids: readonly string[]): Promise<readonly ApprovalView[]> {
    const rows = await approvalsById(this.#deps.store.read, id, ids);
    return rows.map((row) => approvalView(row, this.now()));
  }

  /** @throws MusterError `not_found` */
  async existing(org: Organization, id: string): Promise<ApprovalRow> {
    const row = await findApproval(this.#deps.store.read, org.id, id);
    if (row === undefined) throw new MusterError('not_found', { kind: 'approval', name: id.slice(0, 64) });
    return row;
  }

  /** @param along What is stored with it, by its id. @throws MusterError `too_many_approvals` */
  async ask(
    org: Organization,
    order: Order,
    asker: Identity,
    { needs, within = APPROVAL_LIMITS.within }: Needs,
    along?: (id: string) => StoredAlong,
  ): Promise<ApprovalRow> {
    const { store, recorder, clock, random, auth } = this.#deps;
    if ((await countPending(store.read, org.id)) >= APPROVAL_LIMITS.pending) {
      throw new MusterError('too_many_approvals', { limit: APPROVAL_LIMITS.pending });
    }
    const now = clock.now();
    const id = Buffer.from(random(12)).toString('hex');
    const text = writeOrder(order);
    const { command, target } = summaryOf(order);
    const row = {
      id,
      org_id: org.id,
      status: 'pending',
      kind: order.kind,
      ...named(order),
      command,
      target,
      order_text: text,
      hash: hashOf(org.id, id, text),
      asker_id: asker.principalId,
      asker_name: asker.name,
      needs: JSON.stringify(needs),
      grants: '[]',
      created_at: now,
      expires_at: now + within * 1000,
    };
    const audited = auth.audit.write(entry(org, actorOf(asker), 'approval.ask', id, told(row)));
    const { writes = [], events = [] } = along?.(id) ?? {};
    const all = [auth.organizations.present(org), addApproval(row), audited, ...writes];
    await whilePresent(org, recorder.commit(all, [approvalAsked(org, row), ...events]));
    return this.existing(org, id);
  }

  /**
   * Agrees to what was asked for; whoever does so last starts it. Asked again by whom, as when the answer was lost, it is the same
   * push job.
   * @param hash Of what the caller has looked at.
   * @throws MusterError `approval_decided`, `approval_expired`, `approval_own`, `approval_not_same`, `approval_void`, and as POST jobs
   */
  grant(org: Organization, id: string, hash: string, by: Identity): Promise<GrantOutcome> {
    return this.#inTurn(id, () => this.#grant(org, id, hash, by));
  }

  async #grant(org: Organization, id: string, hash: string, by: Identity): Promise<GrantOutcome> {
    const { clock, auth } = this.#deps;
    const row = await this.existing(org, id);
    if (row.status === 'started' && row.decided_by_id === by.principalId && row.job_id !== null && row.hash === hash) {
      return { run: row.job_id, missing: 0 };
    }
    const same = row.hash === hash && hashOf(org.id, id, row.order_text) === hash;
    const { principalId, name } = by;
    const others = grantsIn(row).filter((grant) => grant.principalId !== principalId);
    const grants = [...others, { principalId, name, at: clock.now() }];
    const granters = await this.#granters(org, id, grants);
    const groups = await auth.repository.groups(org.id);
    const lacking = (needs: readonly Need[]) => missing(needs, granters, groups);
    const needs = needsIn(row);
    this.#step(row, { type: 'grant', by: principalId, same, enough: lacking(needs) === 0 });
    const order = readOrder(row.order_text);
    const { startable, asker } = await this.#people(org, row, order);
    const count = (all: readonly Need[]) =>
      this.#count(org, row, { needs: all, grants }, { by, missing: lacking(all) });
    try {
      if (lacking(needs) > 0) return await count(needs);
      const along = (run: string): StoredAlong => {
        const decision: Decision = { status: 'started', by, at: clock.now(), reason: null, jobId: run, grants };
        const detail = { ...told(row), [startsJob(row.kind) ? 'job' : 'id']: run, asker: row.asker_name };
        const audited = entry(org, actorOf(by), 'approval.grant', id, detail);
        const writes = [...saveDecision(row, decision), auth.audit.write(audited)];
        return { writes, events: [approvalGranted(org, row, name, run)] };
      };
      const agreed = (now: Needs): readonly Need[] => {
        const all = joined(needs, now.needs);
        if (lacking(all) > 0) throw new ApprovalNeeded({ needs: all });
        return all;
      };
      return { run: await startable.start(org, order, { approval: id, asker, along, agreed }), missing: 0 };
    } catch (error) {
      // The nodes that it would be started on are others than when it was asked for.
      if (error instanceof ApprovalNeeded) return count(error.asked.needs);
      await this.#assertUndecided(org, row, error);
      throw error;
    }
  }

  async #count(
    org: Organization,
    row: ApprovalRow,
    granted: GrantsAfter,
    { by, missing: left }: { readonly by: Identity; readonly missing: number },
  ): Promise<GrantOutcome> {
    const { recorder, auth } = this.#deps;
    const audited = auth.audit.write(
      entry(org, actorOf(by), 'approval.agree', row.id, { ...told(row), missing: left }),
    );
    const writes = [auth.organizations.present(org), ...saveGrant(row, granted), audited];
    await whilePresent(org, recorder.commit(writes, [approvalAgreed(org, row, by.name, left)]));
    return { run: null, missing: left };
  }

  /** Those of them who still may grant it. */
  async #granters(org: Organization, id: string, grants: readonly Grant[]): Promise<readonly Granter[]> {
    const { auth } = this.#deps;
    const granters: Granter[] = [];
    for (const grant of grants) {
      const identity = await principalNow(auth.repository, org, grant);
      if (identity === null || !(await auth.authorize(identity, org, 'approval:decide', id))) continue;
      granters.push({ identity, mayWrite: await auth.authorize(identity, org, 'push:write') });
    }
    return granters;
  }

  /** Also by who asked, who takes it back. @throws MusterError `approval_decided`, `approval_expired` */
  deny(org: Organization, id: string, reason: string | null, by: Identity): Promise<ApprovalRow> {
    return this.#inTurn(id, () => this.#deny(org, id, reason, by));
  }

  async #deny(org: Organization, id: string, reason: string | null, by: Identity): Promise<ApprovalRow> {
    const { recorder, clock, auth } = this.#deps;
    const row = await this.existing(org, id);
    this.#step(row, { type: 'deny' });
    const decision: Decision = { status: 'denied', by, at: clock.now(), reason, jobId: null };
    const audited = entry(org, actorOf(by), 'approval.deny', id, { ...told(row), ...(reason !== null && { reason }) });
    const writes = [auth.organizations.present(org), ...saveDecision(row, decision), auth.audit.write(audited)];
    try {
      await whilePresent(org, recorder.commit(writes, [approvalDenied(org, row, by.name, reason)]));
    } catch (error) {
      await this.#assertUndecided(org, row, error);
      throw error;
    }
    return this.existing(org, id);
  }

  /** One round of upkeep. @throws MusterError `store_unavailable` */
  async expire(): Promise<void> {
    const { store, clock, auth, keep } = this.#deps;
    const now = clock.now();
    for (const { id, org_id } of await overdue(store.read, now)) {
      const org = await auth.repository.organizationById(org_id);
      if (org !== undefined) await this.#inTurn(id, () => this.#expire(org, id));
    }
    if (keep > 0) await store.transact((trx) => deleteDecided(trx, now - keep * 1000));
  }

  async #expire(org: Organization, id: string): Promise<void> {
    const { store, recorder, clock, auth } = this.#deps;
    const now = clock.now();
    const row = await findApproval(store.read, org.id, id);
    if (row === undefined || !('to' in stepApproval(stateOf(row), { type: 'clock' }, now))) return;
    const decision: Decision = { status: 'expired', by: null, at: now, reason: null, jobId: null };
    const detail = { ...told(row), asker: row.asker_name };
    const audited = auth.audit.write(entry(org, SERVER, 'approval.expire', id, detail));
    try {
      await recorder.commit([...saveDecision(row, decision), audited], [approvalExpired(org, row)]);
    } catch (error) {
      // Another server decided it meanwhile.
      if (!(error instanceof GuardFailed)) throw error;
    }
  }

  async #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#deciding.get(id) ?? Promise.resolve();
    const done = before.then(work, work);
    this.#deciding.set(id, done);
    try {
      return await done;
    } finally {
      if (this.#deciding.get(id) === done) this.#deciding.delete(id);
    }
  }

  #step(row: ApprovalRow, event: ApprovalEvent): void {
    const step = stepApproval(stateOf(row), event, this.#deps.clock.now());
    if ('to' in step) return;
    const { id } = row;
    switch (step.refused) {
      case 'own':
        throw new MusterError('approval_own', { id });
      case 'not_same':
        throw new MusterError('approval_not_same', { id });
      case 'expired':
        throw new MusterError('approval_expired', { id });
      case 'decided':
      case 'waits':
        throw decided(row);
    }
  }

  /** As they are now: who asked may have lost the right meanwhile. @throws MusterError `approval_void` */
  async #people(
    org: Organization,
    row: ApprovalRow,
    order: Order,
  ): Promise<{ readonly startable: Startable<OrderKind>; readonly asker: Identity }> {
    const { id, asker_id: principalId, asker_name: name } = row;
    const startable = this.#kinds.get(order.kind);
    if (startable === undefined) throw new Error(`nothing starts a ${order.kind}`);
    const asker = await principalNow(this.#deps.auth.repository, org, { principalId, name });
    const reason = asker === null ? `${name} is not there any more` : await startable.void(org, order, asker);
    if (asker === null || reason !== null) throw new MusterError('approval_void', { id, reason: reason ?? '' });
    return { startable, asker };
  }

  /** Of two servers that decide at the same moment one is late. */
  async #assertUndecided(org: Organization, { id, grants }: ApprovalRow, error: unknown): Promise<void> {
    if (!(error instanceof MusterError) || error.code !== 'organization_not_found') return;
    const row = await findApproval(this.#deps.store.read, org.id, id);
    if (row !== undefined && (row.status !== 'pending' || row.grants !== grants)) throw decided(row);
  }
}

/** Which runbook, schedule or rule; and its parameters, as they may be shown. */
function named(order: Order): Pick<ApprovalRow, 'name' | 'parameters' | 'version'> {
  switch (order.kind) {
    case 'command':
      return { name: null, version: null, parameters: '{}' };
    case 'runbook': {
      const { name, version, parameters } = order.runbook;
      return { name, version, parameters: JSON.stringify(parameters) };
    }
    case 'rule':
    case 'schedule':
      return { name: order.name, version: null, parameters: '{}' };
  }
}

function stateOf({ status, asker_id, expires_at }: ApprovalRow): ApprovalState {
  return { status: status as ApprovalState['status'], askerId: asker_id, expiresAt: expires_at };
}

function decided({ id, status, decided_by }: ApprovalRow): MusterError {
  return new MusterError('approval_decided', { id, status, by: decided_by === null ? '' : `, by ${decided_by}` });
}

type Detail = NonNullable<AuditEntry['detail']>;

function told({
  kind,
  name,
  version,
  command,
  hash,
}: Pick<ApprovalRow, 'command' | 'hash' | 'kind' | 'name' | 'version'>): Detail {
  const what = name === null ? command.slice(0, COMMAND_TOLD) : version === null ? name : `${name} ${version}`;
  return { [kind]: what, hash };
}

function entry(org: Organization, by: Actor, action: string, target: string, detail: Detail): AuditEntry {
  return { orgId: org.id, actor: by, action, target, outcome: 'done', detail };
}
