import { Readable } from 'node:stream';
import type { Clock } from '@muster/base';
import { actorOf } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { OCTETS, OutputAnswer, rangeWithin, readRange } from '@muster/platform/output';
import type { Store } from '@muster/store';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { findJob, findJobNode } from '../repository/reads.js';
import { invalid } from '../request/fields.js';
import { isJobId } from '../request/job-id.js';
import { SHA256 } from '../request/request-files.js';
import type { PushAudit } from '../request/submission.js';
import type { PushJobSpec } from '../types.js';
import { Pace, Paces } from './pace.js';
import type { PushFiles } from './push-files.js';
import { paced } from './sending.js';

export interface FileRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly files: PushFiles;
  readonly audit: PushAudit;
  /** Bytes a second. */
  readonly rates: { readonly rate: number; readonly node_rate: number };
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

const FILE = '/organizations/:org/pushy/files/:sha256';
const tags = ['push jobs'];
const FileParams = Type.Object({
  org: Type.String(),
  sha256: Type.String({ description: '64 digits of 0-9 and a-f' }),
});
const NodeFileParams = Type.Object({ org: Type.String(), id: Type.String(), sha256: Type.String() });
const Standing = Type.Object({
  sha256: Type.String(),
  size: Type.Integer(),
  stored: Type.Integer({ description: 'Bytes that are there: the next piece begins here' }),
  complete: Type.Boolean({ description: 'All bytes are there, and have this hash: push jobs may name it' }),
  piece: Type.Integer({ description: 'Most bytes of one request' }),
});

/** Files that push jobs take to their nodes: brought by who starts jobs, fetched by the nodes. */
export function fileRoutes(app: App, deps: FileRouteDeps): void {
  const { store, clock, files, audit, rates, stopping } = deps;
  const all = new Pace(clock, rates.rate);
  const nodes = new Paces(clock, rates.node_rate);

  app.route({
    method: 'PUT',
    url: FILE,
    config: { permission: 'push:execute', empowers: false },
    schema: {
      tags,
      operationId: 'beginPushFile',
      summary: 'Make room for a file of push jobs, or see how much of it is there',
      description:
        'Files are kept by their SHA-256, apart for each organization, and deleted when no push job has named them for `files.keep`.',
      params: FileParams,
      body: Type.Object({ size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) }),
      response: { 200: Standing },
    },
    handler: async ({ organization, params, body }) =>
      files.begin(organization.id, { sha256: checkedHash(params.sha256), size: body.size }),
  });

  app.route({
    method: 'PATCH',
    url: FILE,
    config: { permission: 'push:execute', empowers: false, anyBody: true },
    schema: {
      tags,
      operationId: 'appendPushFile',
      summary: 'Bring the next piece of a file of push jobs',
      description:
        `The body is ${OCTETS}. Where the file does not end at \`offset\` nothing is stored; the answer says where to go on. ` +
        'With the last piece the hash is looked at; a file with another one is deleted.',
      params: FileParams,
      querystring: Type.Object(
        { offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) },
        { additionalProperties: false },
      ),
      response: { 200: Standing },
    },
    handler: async ({ organization, params, query, rawBody, caller }) => {
      const sha256 = checkedHash(params.sha256);
      const standing = await files.append(organization.id, sha256, query.offset, rawBody);
      if (standing.complete && query.offset + rawBody.length === standing.size) {
        const entry = { orgId: organization.id, actor: actorOf(caller), action: 'push.file', target: sha256 } as const;
        await store.commit([audit.write({ ...entry, outcome: 'done', detail: { bytes: standing.size } })]);
      }
      return standing;
    },
  });

  app.route({
    method: 'GET',
    url: '/organizations/:org/pushy/jobs/:id/files/:sha256',
    config: { permission: 'push:file', accept: OCTETS },
    schema: {
      tags,
      operationId: 'getPushJobFile',
      summary: 'A file of a push job, for a node that it is to run on',
      description:
        'Bytes come no faster than `files.node_rate`, and than `files.rate` for all nodes. A header `Range` gives a part.',
      params: NodeFileParams,
      response: { 200: OutputAnswer, 206: OutputAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params, caller } = request;
      const sha256 = checkedHash(params.sha256);
      if (!(await isAsked(store, organization.id, params.id, caller.name, sha256))) throw notFound(sha256);
      const file = await files.find(organization.id, sha256);
      if (file === undefined) throw notFound(sha256);
      const asked = readRange(request.headers.range);
      const range = asked === undefined ? { first: 0, last: file.size - 1 } : rangeWithin(asked, file.size);
      if (range === undefined) {
        throw new MusterError('range_not_satisfiable', { range: String(request.headers.range), size: file.size });
      }
      const { first, last } = range;
      const own = nodes.begin(`${organization.id} ${caller.name}`);
      reply.raw.once('close', own.end);
      reply
        .code(asked === undefined ? 200 : 206)
        .header('content-type', OCTETS)
        .header('accept-ranges', 'bytes')
        .header('content-length', String(last - first + 1));
      if (asked !== undefined) reply.header('content-range', `bytes ${first}-${last}/${file.size}`);
      const bytes = paced(files.read(file, first, last), [all, own.pace], clock, stopping);
      await reply.send(Readable.from(bytes, { objectMode: false }));
      return reply;
    },
  });
}

/** Is this node asked to run this job now, and does the job name the file? */
async function isAsked({ read }: Store, orgId: string, jobId: string, node: string, sha256: string): Promise<boolean> {
  const job = isJobId(jobId) ? await findJob(read, orgId, jobId) : undefined;
  if (job === undefined || job.phase === 'finished') return false;
  const { script, uploads = [] } = (JSON.parse(job.spec) as PushJobSpec).options;
  if (script?.sha256 !== sha256 && !uploads.some((upload) => upload.sha256 === sha256)) return false;
  const row = await findJobNode(read, jobId, node);
  return row?.status === 'new' || row?.status === 'ready';
}

function notFound(sha256: string): MusterError {
  return new MusterError('not_found', { kind: 'file', name: sha256 });
}

function checkedHash(text: string): string {
  if (!SHA256.test(text)) throw invalid('sha256', 'must be 64 digits of 0-9 and a-f');
  return text;
}
