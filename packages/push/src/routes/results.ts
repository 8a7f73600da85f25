import { isUtf8 } from 'node:buffer';
import type { App } from '@muster/platform/http';
import { beginningOfOutput, extentOf, type OutputStream } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { RESULTS } from '../limits.js';
import { outputOf } from '../output.js';
import { groupResults, type ResultGroup, resultRows } from '../repository/results.js';
import { existingJob, type JobRouteDeps } from './job-routes.js';
import { nextLink } from './queries.js';
import * as schemas from './schemas.js';

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);

const Beginning = Type.Object(
  {
    bytes: Nullable(
      Type.Integer({ description: 'How much the command wrote; null: not known, or nothing was captured' }),
    ),
    kept_bytes: Nullable(Type.Integer({ description: 'Less than `bytes` when it was over the limit; null as there' })),
    text: Type.Optional(Type.String()),
    base64: Type.Optional(Type.String({ description: 'In the place of text, where it is not UTF-8' })),
  },
  { description: `How it begins: at most ${RESULTS.shownBytes} bytes` },
);

const Result = Type.Object({
  position: Type.Integer({ description: 'Among all groups of the job, from 1' }),
  group: Type.String({ description: 'Names the group within the job: made of the result' }),
  count: Type.Integer({ description: 'Nodes with this result' }),
  nodes: Type.Array(Type.String(), { description: `The first ${RESULTS.namedNodes} of them by name` }),
  status: Type.String(),
  reason: Nullable(Type.String()),
  exit_code: Nullable(Type.Integer()),
  signal: Nullable(Type.String()),
  output_missing: Nullable(Type.String({ description: 'Why output is not whole, for another cause than the limit' })),
  stdout: Beginning,
  stderr: Beginning,
});

const ResultsAnswer = Type.Object({
  groups: Type.Integer({ description: 'How many there are now' }),
  nodes: Type.Integer({ description: 'Nodes that have a result' }),
  results: Type.Array(Result),
});

const ResultsQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: RESULTS.mostShown, description: 'Most groups' })),
    after: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'A position' })),
  },
  { additionalProperties: false },
);

/** Identical results of a job's nodes, together. */
export function resultRoutes(app: App, deps: JobRouteDeps): void {
  const { read } = deps;
  app.route({
    method: 'GET',
    url: '/organizations/:org/pushy/jobs/:id/results',
    config: { permission: 'push:job', showsOutput: true },
    schema: {
      tags: ['push jobs'],
      operationId: 'listPushJobResults',
      summary: 'Nodes with the same result, together',
      description:
        'Of the nodes that ran the command and have ended: the same status, reason, exit code or signal, and the same ' +
        'bytes on stdout and on stderr where output was captured. The largest group first. A `Link: <…>; rel="next"` ' +
        'header leads to further groups; positions move while the job goes on. The names of all nodes of a group: ' +
        '`GET …/nodes?group=GROUP`.',
      params: schemas.JobParams,
      querystring: ResultsQuery,
      response: { 200: ResultsAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params, query } = request;
      const job = await existingJob(deps, organization, params.id);
      const groups = groupResults(await resultRows(read, job.id));
      const { limit = RESULTS.shown, after = 0 } = query;
      const page = groups.slice(after, after + limit);
      if (groups.length > after + limit) reply.header('link', nextLink(request.url, 'after', String(after + limit)));
      const results = [];
      for (const [index, group] of page.entries()) results.push(await shown(read, job.id, group, after + index + 1));
      return { groups: groups.length, nodes: groups.reduce((sum, { nodes }) => sum + nodes.length, 0), results };
    },
  });
}

async function shown(read: Kysely<Schema>, jobId: string, { nodes, ...group }: ResultGroup, position: number) {
  const { status, reason, exit_code, signal, output_missing } = group;
  return {
    position,
    group: group.group,
    count: nodes.length,
    nodes: nodes.slice(0, RESULTS.namedNodes),
    ...{ status, reason, exit_code, signal, output_missing },
    stdout: await beginning('stdout', group.stdout_bytes),
    stderr: await beginning('stderr', group.stderr_bytes),
  };

  /** The same on every node of the group. */
  async function beginning(stream: OutputStream, bytes: number | null) {
    const of = { ...outputOf(jobId, nodes[0] ?? ''), stream };
    const data = bytes === 0 ? Buffer.alloc(0) : await beginningOfOutput(read, of, RESULTS.shownBytes);
    const kept = bytes === null || bytes <= data.length ? bytes : (await extentOf(read, of)).bytes;
    return {
      bytes,
      kept_bytes: kept,
      ...(isUtf8(data) ? { text: data.toString('utf8') } : { base64: data.toString('base64') }),
    };
  }
}
