import type { Clock } from '@muster/base';
import type { AuditEntry, Organization } from '@muster/platform/auth';
import { GuardFailed, type Store, type Write } from '@muster/store';
import type { Json } from '@muster/wire';
import type { TSchema } from 'typebox';
import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import type { By, QueueView, TaskController, TaskNodeView } from '../ports.js';
import type { Dialect } from './dialect.js';
import type { Gfs } from './output.js';
import { Refusal } from './refusal.js';

/** What of the server's settings the command interface needs. */
export interface DisbatchSettings {
  readonly dialect: Dialect;
  readonly gfs: Gfs;
  /** Does GET /monitoring look, or say that all is well? */
  readonly monitoring: boolean;
  readonly balance: { readonly enabled: boolean; readonly pretend: boolean };
  /** Fields that GET /tasks finds tasks by, besides its own: each list as an index of the original. */
  readonly indexes: readonly (readonly string[])[];
}

export interface DisbatchDeps {
  readonly controller: TaskController;
  readonly store: Pick<Store, 'read' | 'commit' | 'transact'>;
  readonly audit: { write(entry: AuditEntry): Write };
  /** Holds while the organization is there: it may be deleted while a request to it is on its way. */
  readonly present: (organization: Organization) => Write;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: DisbatchSettings;
}

/** One request, whoever took it. */
export interface DisbatchCall {
  readonly organization: Organization;
  readonly by: By['identity'];
  /** Of the path. */
  readonly named: Readonly<Record<string, string>>;
  readonly said: Json;
}

export interface DisbatchAnswer {
  readonly status: number;
  readonly body: unknown;
  /** Over several lines. */
  readonly pretty: boolean;
}

export interface DisbatchRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the root of the interface. */
  readonly path: string;
  readonly permission: 'task:read' | 'task:write' | 'queue:read' | 'queue:write';
  readonly operationId: string;
  readonly summary: string;
  /** What it answers, where more than clients of Disbatch read it. */
  readonly answers?: TSchema;
  handle(call: DisbatchCall): Promise<DisbatchAnswer> | DisbatchAnswer;
}

/** Success is 200, never 201: clients look for it. */
export function answer(body: unknown, pretty = false): DisbatchAnswer {
  return { status: 200, body, pretty };
}

/** Text of an error that is shown where the original shows that of its database. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a fault answers: 400 with its text for what the caller may mend, as the original. Others are thrown on. */
export function refusedAs(error: unknown): DisbatchAnswer {
  if (error instanceof GuardFailed) return { status: 400, body: { error: 'the organization is gone' }, pretty: false };
  if (error instanceof Refusal) return { status: error.status, body: error.body, pretty: false };
  if (error instanceof MusterError && error.status < 500) {
    return { status: 400, body: { error: error.message }, pretty: false };
  }
  throw error;
}

/** By id when it looks like one, else by name (sheet §4A). */
export function findQueue({ controller }: Pick<DisbatchDeps, 'controller'>, call: DisbatchCall, name: Json) {
  return typeof name === 'string' ? controller.queue(call.organization.id, name) : undefined;
}

export function findNode(
  { controller }: Pick<DisbatchDeps, 'controller'>,
  { organization }: DisbatchCall,
  name: string,
): TaskNodeView | undefined {
  const byId = isId(name);
  return controller.nodes(organization.id).find((one) => (byId ? one.id : one.node) === name);
}

/** In the order in which they were made. */
export function queuesOf({ controller }: Pick<DisbatchDeps, 'controller'>, orgId: string): readonly QueueView[] {
  return [...controller.queues(orgId)].sort((left, right) => (left.id < right.id ? -1 : 1));
}

/** Who does it, and what is stored with it: the audit entry, unless what is made says itself who made it. */
export function byWhom(
  { audit, present }: Pick<DisbatchDeps, 'audit' | 'present'>,
  { organization, by }: Pick<DisbatchCall, 'organization' | 'by'>,
  audited: { readonly action: string; readonly target: string; readonly detail?: AuditEntry['detail'] } | null,
): By {
  if (audited === null) return { identity: by, record: [present(organization)] };
  const actor = { name: by.name, kind: by.type };
  const { action, target, detail = {} } = audited;
  const entry = audit.write({ orgId: organization.id, actor, action, target, outcome: 'done', detail });
  return { identity: by, record: [present(organization), entry] };
}
