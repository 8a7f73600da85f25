import { type Auth, actorOf } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { given, type Secrets } from '@muster/platform/secrets';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import { secretNames } from '@muster/wire';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { findJob, findJobNode } from '../repository/reads.js';
import { isJobId } from '../request/job-id.js';
import type { PushJobSpec } from '../types.js';
import { runOwner } from './sealed-runs.js';

export interface SecretRouteDeps {
  readonly store: Pick<Store, 'read'>;
  readonly secrets: Pick<Secrets, 'boxed' | 'unseal'>;
  readonly audit: Pick<Auth['audit'], 'looked'>;
  readonly log: Pick<LayerLog, 'warn'>;
}

/** Secrets of a push job, for the nodes that were told to start it. */
export function secretRoutes(app: App, { store, secrets, audit, log }: SecretRouteDeps): void {
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
      const spec = await specFor(store, organization.id, params.id, caller.name);
      if (spec === null) throw new MusterError('not_found', { kind: 'job with secrets', name: params.id });
      const { options, runbook } = spec;
      const names = Object.keys(options.secrets ?? {});
      const sealed = runbook?.sealed;
      const about = `push secrets ${params.id} ${caller.name}`;
      const inFile = (options.secretFile ?? []).map((name) => `${runbook?.name ?? ''} {{${name}}}`);
      const of = { orgId: organization.id, actor: actorOf(caller), detail: { job: params.id } };
      return given({ audit, log }, { ...of, names: [...names, ...inFile] }, async () => {
        const besides =
          sealed === undefined ? {} : secrets.unseal(runOwner(organization.id, runbook?.id ?? ''), sealed);
        return secrets.boxed(organization, names, { key: body.key, about, besides });
      });
    },
  });
}

/** Null: this node was not told to start such a job, or has ended it. */
async function specFor(
  { read }: Pick<Store, 'read'>,
  orgId: string,
  jobId: string,
  node: string,
): Promise<PushJobSpec | null> {
  const job = isJobId(jobId) ? await findJob(read, orgId, jobId) : undefined;
  if (job === undefined || job.phase !== 'running') return null;
  const spec = JSON.parse(job.spec) as PushJobSpec;
  const row = await findJobNode(read, jobId, node);
  const started = row?.status === 'running' || (row?.status === 'ready' && row.starting === 1);
  return started && secretNames(spec.options).length > 0 ? spec : null;
}
