import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { actorOf } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { clientView } from './views.js';

/** Nodes that bring their own key, agents that enrol, and services. */
export function clientRoutes(app: App, auth: Auth): void {
  app.post(
    '/organizations/:org/nodes',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags: ['nodes'],
        operationId: 'createNode',
        summary: 'Register a node that brings its own key, as deployed clients do',
        params: schemas.OrgParams,
        body: schemas.ClientBody,
        response: { 201: schemas.ClientAnswer },
      },
    },
    async (request, reply) => {
      const { organization, caller, body } = request;
      const client = { type: 'node', name: body.name, publicKey: body.public_key, keyTtl: body.key_ttl } as const;
      const created = await auth.principals.createClient(organization, client, actorOf(caller));
      auth.listeners.nodeCreated(organization, created.name);
      return reply.code(201).send(clientView('node', created));
    },
  );

  app.post(
    '/organizations/:org/enroll',
    {
      config: { permission: 'enrol' },
      schema: {
        tags: ['nodes'],
        operationId: 'enrol',
        summary: 'Register a new agent’s key with an enrolment token',
        description: 'The same name and key again is answered 200 and uses no token up; another key is refused (409).',
        params: schemas.OrgParams,
        body: schemas.EnrolBody,
        response: { 200: schemas.EnrolAnswer, 201: schemas.EnrolAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request;
      // Who has no token for it is not told whether there is such an organization.
      const organization = await auth.organizations.find(request.params.org);
      if (organization === undefined) throw new MusterError('invalid_token');
      const { token, name, public_key: publicKey } = body;
      const created = await auth.enrolment.enrol(organization, { token, name, publicKey, address: request.ip });
      auth.listeners.nodeCreated(organization, name);
      return reply.code(created ? 201 : 200).send({ name, organization: organization.name });
    },
  );

  app.post(
    '/organizations/:org/services',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags: ['services'],
        operationId: 'createService',
        summary: 'Register a program that signs requests in the organization’s name',
        params: schemas.OrgParams,
        body: schemas.ClientBody,
        response: { 201: schemas.ClientAnswer },
      },
    },
    async (request, reply) => {
      const { organization, caller, body } = request;
      const client = { type: 'service', name: body.name, publicKey: body.public_key, keyTtl: body.key_ttl } as const;
      const created = await auth.principals.createClient(organization, client, actorOf(caller));
      return reply.code(201).send(clientView('service', created));
    },
  );

  app.get(
    '/organizations/:org/services',
    {
      config: { permission: 'member' },
      schema: {
        tags: ['services'],
        operationId: 'listServices',
        summary: 'Services of the organization',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.ClientAnswer) },
      },
    },
    async (request) => {
      const services = await auth.principals.list(request.organization.id, 'service');
      return services.map((service) => clientView('service', service));
    },
  );

  app.delete(
    '/organizations/:org/services/:name',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags: ['services'],
        operationId: 'deleteService',
        summary: 'Delete a service with its keys, groups and grants',
        params: schemas.OrgNameParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { organization, params, caller } = request;
      await auth.principals.removeClient(organization.id, 'service', params.name, actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}
