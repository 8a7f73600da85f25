import { type Auth, actorOf } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { Secrets } from '@muster/platform/secrets';
import type { Store } from '@muster/store';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { findJob, findJobNode } from '../repository/reads.js';
import { isJobId } from '../request/job-id.js';
import type { PushJobSpec } from '../types.js';

export interface SecretRouteDeps {
  readonly store: Pick<Store, 'read'>;
  readonly secrets: Pick<Secrets, 'boxed'>;
  readonly audit: Pick<Auth['audit'], 'looked'>;
}

/** Secrets of a push job, for the nodes that were told to start it. */
export function secretRoutes(app: App, { store, secrets, audit }: SecretRouteDeps): void {
  app.route({
    method: 'POST',
    url: '/organizations/:org/pushy/jobs/:id/secrets',
    config: { permission: 'push:file', empowers: false },
    schema: {
      tags: ['push jobs'],
      operationId: 'fetchPushJobSecrets',
      summary: 'The secrets of a push job, for a node that was told to start it',
      description:
        'Sealed for the one key that the request brings (X25519, HKDF with SHA-256, AES-256-GCM): a JSON object of base64 values by name.',
      params: Type.Object({ org: Type.String(), id: Type.String() }),
      body: Type.Object(
        { key: Type.String({ description: 'X25519, made for this request; 32 bytes in base64url' }) },
        { additionalProperties: false },
      ),
      response: {
        200: Type.Object({
          key: Type.String({ description: 'X25519, made for this answer; 32 bytes in base64url' }),
          nonce: Type.String({ description: 'base64' }),
          tag: Type.String({ description: 'base64' }),
          sealed: Type.String({ description: 'base64' }),
        }),
      },
    },
    handler: async ({ organization, params, caller, body }) => {
      const names = await namesFor(store, organization.id, params.id, caller.name);
      if (names === null) throw new MusterError('not_found', { kind: 'job with secrets', name: params.id });
      const about = `push secrets ${params.id} ${caller.name}`;
      const box = await secrets.boxed(organization, names, { key: body.key, about });
      const actor = actorOf(caller);
      for (const target of names) {
        audit.looked({
          ...{ orgId: organization.id, actor, action: 'secret.fetch', target },
          detail: { job: params.id },
        });
      }
      return box;
    },
  });
}

/** Null: this node was not told to start such a job, or has ended it. */
async function namesFor(
  { read }: Pick<Store, 'read'>,
  orgId: string,
  jobId: string,
  node: string,
): Promise<readonly string[] | null> {
  const job = isJobId(jobId) ? await findJob(read, orgId, jobId) : undefined;
  if (job === undefined || job.phase !== 'running') return null;
  const { secrets } = (JSON.parse(job.spec) as PushJobSpec).options;
  const row = await findJobNode(read, jobId, node);
  const started = row?.status === 'running' || (row?.status === 'ready' && row.starting === 1);
  return secrets !== undefined && started ? Object.keys(secrets) : null;
}
