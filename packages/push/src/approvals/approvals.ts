import type { Clock } from '@muster/base';
import {
  type AuditEntry,
  type Auth,
  actorOf,
  type Identity,
  type Organization,
  principalNow,
  type RandomBytes,
  whilePresent,
} from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import { Upkeep } from '@muster/platform/upkeep';
import { GuardFailed, type Store } from '@muster/store';
import { MusterError } from '../errors.js';
import type { StoredAlong } from '../request/submission.js';
import { describeTarget } from '../request/targets.js';
import type { RunbookMark } from '../types.js';
import { approvalAsked, approvalDenied, approvalExpired, approvalGranted } from './events.js';
import { APPROVAL_LIMITS } from './limits.js';
import { type ApprovalEvent, type ApprovalState, stepApproval } from './machine.js';
import { hashOf, type Order, readOrder, writeOrder } from './order.js';
import {
  type ApprovalRow,
  addApproval,
  approvalsOf,
  countPending,
  type Decision,
  deleteDecided,
  findApproval,
  overdue,
  saveDecision,
} from './repository.js';

export interface StartOrder {
  /** Whose job it is. */
  readonly asker: Identity;
  /** With whose rights nodes are asked. */
  readonly author: Identity;
  readonly along?: (jobId: string) => StoredAlong;
}

export interface ApprovalsDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'repository' | 'rights'>;
  /** Seconds for which decided ones are kept; 0: for ever. */
  readonly keep: number;
  /** Starts it, and stores `along` with it; the id of the push job. @throws MusterError as POST jobs */
  readonly start: (org: Organization, order: Order, by: StartOrder) => Promise<string>;
  /** A round of upkeep failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/** Who may grant what is asked for, and for how long it waits. */
export interface Terms {
  readonly by?: readonly string[];
  /** Seconds. */
  readonly within?: number;
}

/**
 * Requests for a second person. A grant and the push job that it starts are one commit, which is refused when anything was decided before:
 * there is no moment between them at which a crash could lose the start, and no second one.
 */
export class Approvals {
  readonly #deps: ApprovalsDeps;
  readonly #upkeep: Upkeep;
  /** Of each approval, the decision that was begun last: guards of one group commit do not see each other's writes. */
  readonly #deciding = new Map<string, Promise<unknown>>();

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: APPROVAL_LIMITS.pauseMs, round: () => this.expire(), failed });
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

  /** @throws MusterError `not_found` */
  async existing(org: Organization, id: string): Promise<ApprovalRow> {
    const row = await findApproval(this.#deps.store.read, org.id, id);
    if (row === undefined) throw new MusterError('not_found', { kind: 'approval', name: id.slice(0, 64) });
    return row;
  }

  /** @throws MusterError `too_many_approvals` */
  async ask(
    org: Organization,
    order: Order,
    asker: Identity,
    { by = [], within = APPROVAL_LIMITS.within }: Terms,
  ): Promise<ApprovalRow> {
    const { store, recorder, clock, random, auth } = this.#deps;
    if ((await countPending(store.read, org.id)) >= APPROVAL_LIMITS.pending) {
      throw new MusterError('too_many_approvals', { limit: APPROVAL_LIMITS.pending });
    }
    const now = clock.now();
    const id = Buffer.from(random(12)).toString('hex');
    const { request, runbook } = order;
    const text = writeOrder(order);
    const row = {
      id,
      org_id: org.id,
      status: 'pending',
      runbook: runbook.name,
      version: runbook.version,
      command: request.command,
      target: describeTarget(request.target),
      parameters: JSON.stringify(runbook.parameters),
      order_text: text,
      hash: hashOf(org.id, id, text),
      asker_id: asker.principalId,
      asker_name: asker.name,
      approvers: JSON.stringify(by),
      created_at: now,
      expires_at: now + within * 1000,
    };
    const audited = auth.audit.write(entry(org, asker, 'approval.ask', id, told(runbook, row.hash)));
    await whilePresent(
      org,
      recorder.commit([auth.organizations.present(org), addApproval(row), audited], [approvalAsked(org, row)]),
    );
    return this.existing(org, id);
  }

  /**
   * Starts what was asked for. Asked again by whoever granted it, as when the answer was lost, it is the same push job.
   * @param hash Of what the caller has looked at.
   * @throws MusterError `approval_decided`, `approval_expired`, `approval_own`, `approval_not_same`, `approval_void`, and as POST jobs
   */
  grant(org: Organization, id: string, hash: string, by: Identity): Promise<{ readonly job: string }> {
    return this.#inTurn(id, () => this.#grant(org, id, hash, by));
  }

  async #grant(org: Organization, id: string, hash: string, by: Identity): Promise<{ readonly job: string }> {
    const { clock, start } = this.#deps;
    const row = await this.existing(org, id);
    if (row.status === 'started' && row.decided_by_id === by.principalId && row.job_id !== null && row.hash === hash) {
      return { job: row.job_id };
    }
    const same = row.hash === hash && hashOf(org.id, id, row.order_text) === hash;
    this.#step(row, { type: 'grant', by: by.principalId, same });
    const order = readOrder(row.order_text);
    const people = await this.#people(org, row, order);
    const along = (jobId: string): StoredAlong => {
      const decision: Decision = { id, status: 'started', by, at: clock.now(), reason: null, jobId };
      const audited = entry(org, by, 'approval.grant', id, {
        ...told(order.runbook, hash),
        job: jobId,
        asker: row.asker_name,
      });
      const writes = [...saveDecision(decision), this.#deps.auth.audit.write(audited)];
      return { writes, events: [approvalGranted(org, row, by.name, jobId)] };
    };
    try {
      return { job: await start(org, order, { ...people, along }) };
    } catch (error) {
      await this.#assertUndecided(org, id, error);
      throw error;
    }
  }

  /** Also by who asked, who takes it back. @throws MusterError `approval_decided`, `approval_expired` */
  deny(org: Organization, id: string, reason: string | null, by: Identity): Promise<ApprovalRow> {
    return this.#inTurn(id, () => this.#deny(org, id, reason, by));
  }

  async #deny(org: Organization, id: string, reason: string | null, by: Identity): Promise<ApprovalRow> {
    const { recorder, clock, auth } = this.#deps;
    const row = await this.existing(org, id);
    this.#step(row, { type: 'deny' });
    const decision: Decision = { id, status: 'denied', by, at: clock.now(), reason, jobId: null };
    const audited = entry(org, by, 'approval.deny', id, { ...this.#toldOf(row), ...(reason !== null && { reason }) });
    const writes = [auth.organizations.present(org), ...saveDecision(decision), auth.audit.write(audited)];
    try {
      await whilePresent(org, recorder.commit(writes, [approvalDenied(org, row, by.name, reason)]));
    } catch (error) {
      await this.#assertUndecided(org, id, error);
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
    const { store, recorder, clock } = this.#deps;
    const now = clock.now();
    const row = await findApproval(store.read, org.id, id);
    if (row === undefined || !('to' in stepApproval(stateOf(row), { type: 'clock' }, now))) return;
    const decision: Decision = { id, status: 'expired', by: null, at: now, reason: null, jobId: null };
    try {
      await recorder.commit(saveDecision(decision), [approvalExpired(org, row)]);
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

  /** Both as they are now: who asked may have lost the right meanwhile. @throws MusterError `approval_void` */
  async #people(
    org: Organization,
    row: ApprovalRow,
    { author }: Order,
  ): Promise<{ asker: Identity; author: Identity }> {
    const { auth } = this.#deps;
    const { repository } = auth;
    const asker = await principalNow(repository, org, { principalId: row.asker_id, name: row.asker_name });
    if (asker === null || !(await auth.authorize(asker, org, 'runbook:run', row.runbook))) {
      throw new MusterError('approval_void', {
        id: row.id,
        reason: `${row.asker_name} may not run ${row.runbook} any more`,
      });
    }
    const stands = await principalNow(repository, org, author);
    if (stands === null || !(await auth.authorize(stands, org, 'push:execute'))) {
      throw new MusterError('approval_void', {
        id: row.id,
        reason: `${author.name}, its author, may start no push jobs any more`,
      });
    }
    return { asker, author: stands };
  }

  /** Of two servers that decide at the same moment one is late. */
  async #assertUndecided(org: Organization, id: string, error: unknown): Promise<void> {
    if (!(error instanceof MusterError) || error.code !== 'organization_not_found') return;
    const row = await findApproval(this.#deps.store.read, org.id, id);
    if (row !== undefined && row.status !== 'pending') throw decided(row);
  }

  #toldOf({ runbook, version, hash }: ApprovalRow): Detail {
    return { runbook: `${runbook} ${version}`, hash };
  }
}

function stateOf({ status, asker_id, expires_at }: ApprovalRow): ApprovalState {
  return { status: status as ApprovalState['status'], askerId: asker_id, expiresAt: expires_at };
}

function decided({ id, status, decided_by }: ApprovalRow): MusterError {
  return new MusterError('approval_decided', { id, status, by: decided_by ?? 'nobody' });
}

type Detail = NonNullable<AuditEntry['detail']>;

function told({ name, version }: RunbookMark, hash: string): Detail {
  return { runbook: `${name} ${version}`, hash };
}

function entry(org: Organization, by: Identity, action: string, target: string, detail: Detail): AuditEntry {
  return { orgId: org.id, actor: actorOf(by), action, target, outcome: 'done', detail };
}
