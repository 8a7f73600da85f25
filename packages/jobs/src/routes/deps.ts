import type { Clock } from '@muster/base';
import type { AuditEntry, Auth, Organization } from '@muster/platform/auth';
import { type App, baseUrl } from '@muster/platform/http';
import type { Schema, Store } from '@muster/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import type { TSchema } from 'typebox';
import { Type } from 'typebox';
import type { Acceptance } from '../controller/acceptance.js';
import { jobFor, type KnownJob, type Need } from '../controller/access.js';
import { askerOf } from '../controller/asker.js';
import type { JobCommands } from '../controller/commands.js';
import type { Asker } from '../controller/ports.js';
import type { Sharing } from '../controller/sharing.js';
import '../rights.js';
import type { Systems } from '../systems/types.js';
import type { By, Job } from '../types.js';
import { doneEntry } from './catalog.js';
import { type Answer, sendAnswer } from './envelope.js';
import { filtered, Query } from './query.js';
import type { Links } from './view.js';

export interface JobRouteDeps {
  readonly read: Kysely<Schema>;
  readonly store: Pick<Store, 'commit'>;
  readonly acceptance: Acceptance;
  readonly commands: JobCommands;
  readonly sharing: Sharing;
  readonly systems: Pick<Systems, 'open'>;
  setVisible(job: Job, visible: boolean, by: By): Promise<{ readonly job: Job; readonly changed: boolean }>;
  readonly auth: Pick<Auth, 'audit' | 'authorize'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** One request, understood as far as all are alike. */
export interface Call {
  readonly organization: Organization;
  readonly asker: Asker;
  readonly query: Query;
  readonly links: Links;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** The parameter of the path with this name; empty: there is none. */
  param(name: string): string;
  /** The job that the path names. @throws MusterError `job_not_found`, `job_forbidden` */
  job(need: Need, action: string): Promise<KnownJob>;
  /** What the audit is to say of an act, as `job.ACTION`. */
  entry(action: string, job: Pick<Job, 'uuid'>, detail?: AuditEntry['detail']): AuditEntry;
  /** Stores that it was done. */
  did(...act: Parameters<Call['entry']>): Promise<void>;
}

export interface JobRoute {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  /** Below `/jobs/v2`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** What of the body is to be known; for the description alone. */
  readonly body?: TSchema;
  readonly result: TSchema | { readonly content: Readonly<Record<string, { readonly schema: TSchema }>> };
  readonly status?: number;
  /** Of files that the job wrote. */
  readonly showsOutput?: boolean;
  /** undefined: it has answered by itself. */
  handle(call: Call): Promise<Answer | undefined>;
}

/** Where jobs are, once with the organization in the path, once with that of the login. */
const PLACES = [
  { root: '/organizations/:org', tenant: 'path' },
  { root: '', tenant: 'credentials' },
] as const;

/** Adds a route wherever jobs are. */
export function addJobRoute(app: App, deps: JobRouteDeps, route: JobRoute): void {
  for (const place of PLACES) addAt(app, deps, route, place);
}

function addAt(app: App, deps: JobRouteDeps, route: JobRoute, place: (typeof PLACES)[number]): void {
  const {
    method,
    path,
    operationId,
    summary,
    description,
    body,
    result,
    status = 200,
    showsOutput = false,
    handle,
  } = route;
  const { root, tenant } = place;
  const ofPath = tenant === 'path';
  const names = [...(ofPath ? ['org'] : []), ...[...path.matchAll(/:([a-z0-9]+)/gi)].map(([, name = '']) => name)];
  const changes = method === 'POST' || method === 'DELETE';
  app.route({
    method,
    url: `${root}/jobs/v2${path === '/' ? '' : path}`,
    config: {
      permission: 'job:use',
      tenant,
      anyBody: true,
      accept: '*/*',
      ...(changes && { empowers: false }),
      ...(showsOutput && { showsOutput }),
    },
    // What is sent is read by the handlers: clients send it in several forms.
    validatorCompiler: () => (value: unknown) => ({ value }),
    schema: {
      tags: ['jobs'],
      operationId: ofPath ? operationId : `${operationId}OfLogin`,
      summary,
      ...(description !== undefined && { description }),
      params: Type.Object({
        ...Object.fromEntries(names.map((name) => [name, Type.String()])),
        ...(path.endsWith('*') && { '*': Type.String() }),
      }),
      querystring: Type.Object({}, { additionalProperties: true }),
      ...(body !== undefined && { body }),
      response: { [status]: result },
    },
    handler: async (request, reply) => {
      const query = new Query(request.raw.url ?? '');
      const { manner, filter } = query;
      const call = await callOf(deps, request, reply, query);
      const answer = await handle(call);
      if (answer === undefined) return reply;
      return sendAnswer(reply, { ...answer, result: filtered(answer.result, filter) }, manner);
    },
  });
}

async function callOf(deps: JobRouteDeps, request: FastifyRequest, reply: FastifyReply, query: Query): Promise<Call> {
  const { organization, caller } = request;
  const asker = await askerOf(deps.auth, caller, organization);
  const params = request.params as Readonly<Record<string, string>>;
  const inPath = params.org === undefined ? '' : `/organizations/${encodeURIComponent(organization.name)}`;
  const root = `${baseUrl(request)}${inPath}`;
  const entry: Call['entry'] = (action, { uuid }, detail) => doneEntry(request, `job.${action}`, uuid, detail);
  return {
    organization,
    asker,
    query,
    links: { root, jobs: `${root}/jobs/v2` },
    request,
    reply,
    param: (name) => params[name] ?? '',
    job: (need, action) => jobFor(deps.read, organization, asker, params.id ?? '', need, action),
    entry,
    did: async (...act) => deps.store.commit([deps.auth.audit.write(entry(...act))]),
  };
}
