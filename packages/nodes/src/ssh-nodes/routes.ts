import type { Auth, Organization } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { Secrets } from '@muster/platform/secrets';
import { keyTrouble, pinOf, SSH_PORT } from '@muster/platform/ssh';
import { formatIso } from '@muster/wire';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { MusterError } from '../errors.js';
import type { Inventory } from '../inventory.js';
import { NodeParams, OrgParams } from '../request.js';
import type { SshNodes } from './directory.js';
import * as schemas from './schemas.js';
import type { SshHosts, SshNode, SshNodeFields } from './types.js';

export interface SshNodeRouteDeps {
  readonly sshNodes: SshNodes;
  readonly hosts: SshHosts;
  readonly inventory: Pick<Inventory, 'get' | 'remove'>;
  readonly secrets: Pick<Secrets, 'usable' | 'value'>;
  readonly auth: Pick<Auth, 'authorize'>;
}

const SSH_NODES = '/organizations/:org/ssh-nodes';
const tags = ['nodes'];

/** Nodes without an agent: add, list, look at, change, try, delete. */
export function sshNodeRoutes(app: App, { sshNodes, hosts, inventory, secrets, auth }: SshNodeRouteDeps): void {
  app.get(
    SSH_NODES,
    {
      config: { permission: 'node:read' },
      schema: {
        tags,
        operationId: 'listSshNodes',
        summary: 'Nodes without an agent, by name',
        params: OrgParams,
        response: { 200: Type.Array(schemas.SshNodeAnswer) },
      },
    },
    async (request) => {
      const admin = await isAdmin(request);
      return sshNodes.of(request.organization.id).map((node) => view(node, admin));
    },
  );

  app.post(
    SSH_NODES,
    {
      // What may run there is decided here, as there is no agent whose owner does.
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'createSshNode',
        summary: 'Add a node without an agent: the server runs push jobs there over ssh',
        params: OrgParams,
        body: schemas.SshNodeBody,
        response: { 201: schemas.SshNodeAnswer },
      },
    },
    async (request, reply) => {
      const { organization, caller, body } = request;
      const fields = await fieldsOf(request, body, { ...NOTHING, host: body.host, user: body.user });
      const node = await sshNodes.create(organization, body.name, fields, caller);
      return reply.code(201).send(view(node));
    },
  );

  app.get(
    `${SSH_NODES}/:node`,
    {
      config: { permission: 'node:read' },
      schema: {
        tags,
        operationId: 'getSshNode',
        summary: 'Where a node without an agent is, how the server logs in there, and what may run',
        params: NodeParams,
        response: { 200: schemas.SshNodeAnswer },
      },
    },
    async (request) => view(named(request), await isAdmin(request)),
  );

  app.patch(
    `${SSH_NODES}/:node`,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'changeSshNode',
        summary: 'Change a node without an agent',
        description: '`policy` is given whole. Another host, port or user ends a command that runs there.',
        params: NodeParams,
        body: schemas.SshNodeChanges,
        response: { 200: schemas.SshNodeAnswer },
      },
    },
    async (request) => {
      const before = named(request);
      const fields = await fieldsOf(request, request.body, before);
      return view(await sshNodes.change(before, fields, request.caller));
    },
  );

  app.post(
    `${SSH_NODES}/:node/test`,
    {
      config: { permission: 'org:admin', empowers: false },
      schema: {
        tags,
        operationId: 'testSshNode',
        summary: 'Go the way to its host once, step by step, and say where it ends',
        description: 'It tells the key that the host shows, and trusts nothing by itself.',
        params: NodeParams,
        response: { 200: schemas.SshTestAnswer },
      },
    },
    async (request) => {
      const node = named(request);
      const steps = (await hosts.test(node)).map(({ name: step, ok, text }) => ({ step, ok, text }));
      return { node_name: node.name, ok: steps.every(({ ok }) => ok), steps };
    },
  );

  app.delete(
    `${SSH_NODES}/:node`,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteSshNode',
        summary: 'Delete a node without an agent',
        params: NodeParams,
        querystring: Type.Object(
          { force: Type.Optional(Type.Boolean({ description: 'Also while a job owns it; its command is ended' })) },
          { additionalProperties: false },
        ),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { organization, caller, query } = request;
      await inventory.remove(organization, named(request).name, query.force ?? false, caller);
      return reply.code(204).send(null);
    },
  );

  function named({
    organization,
    params,
  }: Pick<FastifyRequest, 'organization'> & { params: { node: string } }): SshNode {
    const node = sshNodes.get(organization.id, params.node);
    if (node === undefined) throw new MusterError('not_found', { kind: 'ssh node', name: params.node });
    return node;
  }

  async function fieldsOf(
    { organization, caller }: Pick<FastifyRequest, 'organization' | 'caller'>,
    body: Static<typeof schemas.SshNodeChanges>,
    before: SshNodeFields,
  ): Promise<SshNodeFields> {
    const { host_key, key_secret: keySecret = before.keySecret, policy = before.policy } = body;
    const { password_secret: passwordSecret = before.passwordSecret } = body;
    for (const secret of [body.key_secret, body.password_secret]) {
      if (typeof secret === 'string') await secrets.usable(organization, secret, caller);
    }
    if (keySecret === null && passwordSecret === null) {
      const reason =
        'say how the server logs in: --key-file or --key-secret with a private key, or --password-secret (password_secret) with a password';
      throw new MusterError('invalid_field', { field: 'key_secret', reason });
    }
    if (typeof body.key_secret === 'string' || body.password_secret !== undefined)
      await checkKey(organization, keySecret, passwordSecret);
    if (body.policy !== undefined) hosts.check(policy);
    const { host = before.host, port = before.port, user = before.user } = body;
    const hostKey = host_key === undefined ? before.hostKey : host_key === null ? null : pinned(host_key);
    return { host, port, user, hostKey, keySecret, passwordSecret, policy };
  }

  /** What it is told of now would only be told at the first login. @throws MusterError `invalid_field` */
  async function checkKey(org: Organization, key: string | null, passphrase: string | null): Promise<void> {
    if (key === null) return;
    const opening = passphrase === null ? undefined : await secrets.value(org, passphrase);
    const trouble = await keyTrouble(await secrets.value(org, key), opening);
    if (trouble === null) return;
    throw new MusterError('invalid_field', {
      field: 'key_secret',
      reason: `what secret '${key}' holds ${trouble.text}`,
    });
  }

  function isAdmin({ caller, organization }: Pick<FastifyRequest, 'caller' | 'organization'>): Promise<boolean> {
    return auth.authorize(caller, organization, 'org:admin');
  }

  /** Values of variables are for admins: passwords have been seen in them. */
  function view(node: SshNode, admin = true) {
    const { environment, ...policy } = node.policy;
    const known = inventory.get(node.org.id, node.name);
    const { state, since, trouble, connected } = hosts.standing(node);
    return {
      ...{
        node_name: node.name,
        status: known?.status ?? ('down' as const),
        reason: known?.reason ?? 'its host was not asked yet',
        via: 'ssh' as const,
      },
      updated_at: formatIso(known?.statusAt ?? node.createdAt),
      ...{ host: node.host, port: node.port, user: node.user, host_key: node.hostKey },
      ...{ key_secret: node.keySecret, password_secret: node.passwordSecret, policy: admin ? node.policy : policy },
      ...{ reached: state, reached_since: formatIso(since), trouble, connected },
      ...{ created_at: formatIso(node.createdAt), changed_at: formatIso(node.updatedAt) },
    };
  }
}

const NOTHING = { port: SSH_PORT, hostKey: null, keySecret: null, passwordSecret: null, policy: {} } as const;

/** @throws MusterError `invalid_field` */
function pinned(written: string): string {
  const pin = pinOf(written);
  if (pin !== null) return pin;
  const reason =
    'must be SHA256:… as `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` shows it on that host, or a line of such a file';
  throw new MusterError('invalid_field', { field: 'host_key', reason });
}
