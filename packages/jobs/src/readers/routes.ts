import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import { type AdminDeps, IdParams, OrgParams, PageQuery, pageOf, recordAudit } from '../routes/admin-deps.js';
import { type StrayMessage, StrayMessages } from './stray-messages.js';

const STRAYS = '/organizations/:org/job-messages';
const tags = ['jobs'];

const Message = Type.Object({
  id: Type.String(),
  kind: Type.Union([Type.Literal('alternate'), Type.Literal('dead-letter')]),
  exchange: Type.String(),
  routing_key: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  length: Type.Integer({ description: 'Bytes of its body' }),
  at: Type.String(),
});
const MessageDetail = Type.Object({
  ...Message.properties,
  body: Type.String({ description: 'As text; what is no UTF-8 is replaced' }),
});
const Gone = Type.Object({ id: Type.String() });
const Kind = Type.Object(
  { ...PageQuery.properties, kind: Type.Optional(Message.properties.kind) },
  { additionalProperties: false },
);

/** Messages of jobs that nobody took: they could not be routed, or were rejected. */
export function strayRoutes(app: App, deps: AdminDeps): void {
  const strays = new StrayMessages(deps);

  app.route({
    method: 'GET',
    url: STRAYS,
    config: { permission: 'job:admin' },
    schema: {
      tags,
      operationId: 'listJobMessages',
      summary: 'Messages of jobs that nobody took, the newest first',
      params: OrgParams,
      querystring: Kind,
      response: { 200: Type.Array(Message) },
    },
    handler: async ({ organization, query }) => {
      const rows = await strays.list(organization.id, query.kind ?? null, pageOf(query));
      return rows.map(shown);
    },
  });

  app.route({
    method: 'GET',
    url: `${STRAYS}/:id`,
    config: { permission: 'job:admin' },
    schema: {
      tags,
      operationId: 'getJobMessage',
      summary: 'One of them, with its body',
      params: IdParams,
      response: { 200: MessageDetail },
    },
    handler: async ({ organization, params: { id } }) => {
      const row = await strays.find(organization.id, id);
      return { ...shown(row), body: Buffer.from(row.body).toString('utf8') };
    },
  });

  app.route({
    method: 'POST',
    url: `${STRAYS}/:id/resubmit`,
    config: { permission: 'job:admin', empowers: false },
    schema: {
      tags,
      operationId: 'resubmitJobMessage',
      summary: 'Publish it again where it was published first',
      description: 'If nobody takes it this time either, it comes back.',
      params: IdParams,
      response: { 200: Gone },
    },
    handler: async ({ caller, organization, params: { id } }) => {
      await strays.find(organization.id, id);
      await recordAudit(deps, { caller, organization }, 'job-message:resubmit', id);
      await strays.resubmit(organization, id);
      return { id };
    },
  });

  app.route({
    method: 'DELETE',
    url: `${STRAYS}/:id`,
    config: { permission: 'job:admin', empowers: false },
    schema: {
      tags,
      operationId: 'dropJobMessage',
      summary: 'Drop it',
      params: IdParams,
      response: { 200: Gone },
    },
    handler: async ({ caller, organization, params: { id } }) => {
      await strays.find(organization.id, id);
      await recordAudit(deps, { caller, organization }, 'job-message:drop', id);
      await strays.drop(organization, id);
      return { id };
    },
  });
}

function shown({ id, kind, exchange, routing_key, reason, length, at }: StrayMessage) {
  return { id, kind, exchange, routing_key, reason, length, at: new Date(at).toISOString() };
}
