import { posix } from 'node:path';
import type { App } from '@muster/platform/http';
import { type ByteRange, rangeWithin, readRange } from '@muster/platform/output';
import mime from 'mime';
import { Type } from 'typebox';
import { findOutput, type Listed, listOutput, noOutput, type Outputs, readOutput } from '../controller/outputs.js';
import { MusterError } from '../errors.js';
import type { FileEntry } from '../systems/types.js';
import type { Job } from '../types.js';
import { addJobRoute, type Call, type JobRouteDeps } from './deps.js';
import { enveloped } from './schemas.js';
import { type Links, selfOf } from './view.js';

const OCTETS = 'application/octet-stream';
const MOST_ECHO = 200;

const Listing = Type.Object({
  name: Type.String(),
  path: Type.String({ description: "Below the job's folder" }),
  lastModified: Type.String({ description: 'ISO 8601' }),
  length: Type.Integer({ description: 'Bytes' }),
  permission: Type.String({ description: 'Such as READ_WRITE' }),
  permissions: Type.String({ description: 'The same' }),
  mimeType: Type.String(),
  format: Type.String({ description: '`folder` or `unknown`' }),
  type: Type.String({ description: '`dir` or `file`' }),
  _links: Type.Record(Type.String(), Type.Object({ href: Type.String() })),
});

/** What jobs wrote (sheet §8.6): on their execution system, or in their archive once it is whole. */
export function outputRoutes(app: App, deps: JobRouteDeps): void {
  const { systems } = deps;

  const list = async (call: Call) => {
    call.query.refuseConditions();
    const { job } = await call.job('read', 'read the outputs of');
    const output = await findOutput(systems, job, pathOf(call, 'listings'));
    const found = await listOutput(job, output, call.query.list);
    return { result: found.map((one) => listingView(job, output, one, call.links)) };
  };
  const send = async (call: Call) => {
    call.query.refuseConditions(['force']);
    const { job } = await call.job('read', 'read the outputs of');
    const output = await findOutput(systems, job, pathOf(call, 'media'));
    await sendFile(call, job, output);
    return undefined;
  };

  for (const [below, more] of [
    ['', ''],
    ['/*', 'Path'],
  ] as const) {
    addJobRoute(app, deps, {
      method: 'GET',
      path: `/:id/outputs/listings${below}`,
      operationId: `listJobOutput${more}`,
      summary: 'What files a job wrote',
      description: 'By `limit` and `offset`, in the order of their names.',
      result: enveloped(Type.Array(Listing)),
      handle: list,
    });
    for (const [method, operation] of [
      ['GET', 'get'],
      ['HEAD', 'head'],
    ] as const) {
      addJobRoute(app, deps, {
        method,
        path: `/:id/outputs/media${below}`,
        operationId: `${operation}JobOutput${more}`,
        summary: 'A file that a job wrote, also while it runs',
        description: 'With `Range` a part of it: 206, or 416. `force=true`: to be saved rather than shown.',
        showsOutput: true,
        result: Type.Unknown({ description: 'Its bytes' }),
        handle: send,
      });
    }
  }
}

/** As it stands in the path: names may have `%2F` in them, which is no slash of ours. */
function pathOf({ request }: Call, kind: string): string {
  const [path = ''] = (request.raw.url ?? '').split('?', 1);
  const [, below = ''] = new RegExp(`/outputs/+${kind}(?:/+(.*))?$`).exec(path) ?? [];
  return below.split('/').map(decodeURIComponent).join('/');
}

function listingView(job: Job, { place }: Outputs, { path, entry }: Listed, links: Links) {
  const self = selfOf(job, links);
  const folder = entry.type === 'dir';
  const encoded = path.split('/').map(encodeURIComponent).join('/');
  const permission = permissionOf(entry);
  return {
    name: entry.name,
    path: `/${path}`,
    lastModified: new Date(entry.modified).toISOString(),
    length: entry.length,
    permission,
    permissions: permission,
    mimeType: folder ? 'text/directory' : typeOf(entry.name),
    format: folder ? 'folder' : 'unknown',
    type: folder ? 'dir' : 'file',
    _links: {
      self: { href: `${self}/outputs/${folder ? 'listings' : 'media'}/${encoded}` },
      system: { href: `${links.root}/systems/v2/${encodeURIComponent(place.system)}` },
      parent: { href: self },
    },
  };
}

/** What the account of the system may. */
function permissionOf({ mode }: FileEntry): string {
  const may = [
    ...((mode & 0o400) === 0 ? [] : ['READ']),
    ...((mode & 0o200) === 0 ? [] : ['WRITE']),
    ...((mode & 0o100) === 0 ? [] : ['EXECUTE']),
  ];
  return may.length === 3 ? 'ALL' : may.length === 0 ? 'NONE' : may.join('_');
}

function typeOf(name: string): string {
  return mime.getType(name) ?? OCTETS;
}

async function sendFile({ request, reply, query }: Call, job: Job, output: Outputs): Promise<void> {
  const { entry, path } = output;
  if (entry.type !== 'file') {
    throw noOutput(
      job,
      path,
      entry.type === 'dir' ? ': it is a folder, and listed at outputs/listings' : ': it is no file',
    );
  }
  const name = posix.basename(path);
  const force = query.conditions.some(([key, value]) => key === 'force' && value.toLowerCase() !== 'false');
  const range = rangeOf(request.headers.range, request.headers['if-range'], entry.length);
  const { first, last } = range ?? { first: 0, last: entry.length - 1 };
  reply
    .code(range === undefined ? 200 : 206)
    .header('content-type', typeOf(name))
    // Whatever a program wrote is shown, and is no page of this server.
    .header('content-security-policy', "default-src 'none'; sandbox")
    .header('accept-ranges', 'bytes')
    .header('last-modified', new Date(entry.modified).toUTCString())
    .header('content-length', String(last - first + 1));
  if (range !== undefined) reply.header('content-range', `bytes ${first}-${last}/${entry.length}`);
  if (force) reply.header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`);
  if (request.method === 'HEAD') {
    await reply.send();
    return;
  }
  // It may grow meanwhile: what was announced is sent.
  const bytes = await readOutput(job, output, { start: first, end: last + 1 });
  await reply.send(bytes);
}

/** @throws MusterError `range_not_satisfiable` */
function rangeOf(header: string | undefined, condition: unknown, size: number): ByteRange | undefined {
  const asked = condition === undefined ? readRange(header) : undefined;
  if (asked === undefined) return undefined;
  const range = rangeWithin(asked, size);
  if (range !== undefined) return range;
  throw new MusterError('range_not_satisfiable', { range: (header ?? '').slice(0, MOST_ECHO), size });
}
