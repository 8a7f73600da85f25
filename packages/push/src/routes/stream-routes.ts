import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { formatMicros, showFeed } from '@muster/platform/feeds';
import type { App, EventStreams } from '@muster/platform/http';
import { MusterError } from '../errors.js';
import type { PushFeeds } from '../feeds.js';
import { followedOutput, type OutputStream, storedOutput, summarizeOutput } from '../output/reading.js';
import type { PushLog } from '../ports.js';
import { nodeStatuses } from '../repository/reads.js';
import type { PushJobSpec } from '../types.js';
import { existingJob, type JobRouteDeps } from './job-routes.js';
import * as schemas from './schemas.js';
import { singleJob } from './view.js';

export interface StreamRouteDeps extends JobRouteDeps {
  readonly streams: EventStreams;
  readonly feeds: PushFeeds;
  readonly logger: PushLog;
  readonly now: () => number;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

const OCTETS = 'application/octet-stream';
/** Longest reason told in a header. */
const MISSING_LENGTH = 512;
const PUSHY = '/organizations/:org/pushy';

/** Event feeds (sheet §7.10). */
export function feedRoutes(app: App, deps: StreamRouteDeps): void {
  const accept = 'text/event-stream';
  const keepaliveMs = deps.config.push.keepalive * 1000;
  const { streams, logger, feeds } = deps;

  app.route({
    method: 'GET',
    url: `${PUSHY}/job_status_feed`,
    config: { permission: 'push:read', accept },
    schema: {
      tags: ['event feeds'],
      operationId: 'followPushJobs',
      summary: 'Starts and ends of all jobs, as server-sent events',
      description: 'Never ends. `Last-Event-ID` goes on after an event.',
      params: schemas.OrgParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async (request, reply) => {
      const { id } = request.organization;
      showFeed(reply, { streams, logger, keepaliveMs }, (lastEventId, signal) =>
        feeds.organization.stream(id, lastEventId, signal),
      );
      return reply;
    },
  });

  app.route({
    method: 'GET',
    url: `${PUSHY}/job_status_feed/:id`,
    config: { permission: 'push:job', accept },
    schema: {
      tags: ['event feeds'],
      operationId: 'followPushJob',
      summary: 'Everything that happens in one job, as server-sent events',
      description: 'Ends with the job. Some time after its end: one `summary` event.',
      params: schemas.JobParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params } = request;
      const job = await existingJob(deps, organization, params.id);
      if (job.phase === 'finished' && !deps.controller.isLive(job.id)) {
        const nodes = await nodeStatuses(deps.read, job.id);
        const summary = singleJob(job, nodes, { includeFile: false, detail: false });
        const stream = streams.open(reply, { keepaliveMs });
        const timestamp = formatMicros(deps.now() * 1000);
        stream.send({ event: 'summary', id: 'job-1', data: { timestamp, ...summary } });
        stream.end();
        return reply;
      }
      showFeed(reply, { streams, logger, keepaliveMs }, (lastEventId, signal) =>
        feeds.subject.stream(organization.id, job.id, lastEventId, signal),
      );
      return reply;
    },
  });
}

/** Captured output (sheet §7.8), also while the command runs. */
export function outputRoutes(app: App, deps: StreamRouteDeps): void {
  outputRoute(app, deps, 'stdout');
  outputRoute(app, deps, 'stderr');
}

function outputRoute(app: App, deps: StreamRouteDeps, stream: OutputStream): void {
  app.route({
    method: 'GET',
    url: `${PUSHY}/jobs/:id/output/:node/${stream}`,
    config: { permission: 'push:job', accept: OCTETS },
    schema: {
      tags: ['push jobs'],
      operationId: stream === 'stdout' ? 'getPushJobStdout' : 'getPushJobStderr',
      summary: `What a node wrote to ${stream}`,
      description:
        '`X-Muster-Complete` is `true` when the node has finished and nothing but what is over the limit is missing; ' +
        '`X-Muster-Dropped-Bytes` tells how many bytes over the limit were dropped from the middle, ' +
        '`X-Muster-Missing` why the output of a node that has finished is not complete.',
      params: schemas.OutputParams,
      querystring: schemas.OutputQuery,
      response: { 200: schemas.OutputAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params, query } = request;
      const job = await existingJob(deps, organization, params.id);
      const { capture } = JSON.parse(job.spec) as PushJobSpec;
      const about = { id: job.id, capture };
      const summary = await summarizeOutput(deps.read, about, params.node, stream);
      const follow = query.follow === 'true' && summary !== undefined && !summary.ended && capture;
      if (summary === undefined || !(summary.present || follow)) {
        throw new MusterError('not_found', { kind: 'output', name: `${params.node}/${stream}` });
      }
      const source = {
        read: deps.read,
        jobId: job.id,
        node: params.node,
        stream,
        from: query.from ?? 0,
      };
      if (!follow) {
        reply
          .header('content-type', OCTETS)
          .header('x-muster-complete', String(summary.ended && summary.missing === null))
          .header('x-muster-dropped-bytes', String(summary.dropped));
        if (summary.missing !== null) reply.header('x-muster-missing', headerText(summary.missing));
        return reply.send(Readable.from(storedOutput(source), { objectMode: false }));
      }
      const leave = deps.streams.seat(request, () => reply.raw.destroy());
      // The reader learns at once that it follows, not when the first byte comes.
      reply.hijack();
      reply.raw.writeHead(200, {
        'content-type': OCTETS,
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
        // It may end while the server stops, and must not leave an idle connection that stops it from stopping.
        connection: 'close',
      });
      reply.raw.flushHeaders();
      const bytes = followedOutput(source, deps.controller, readerLeft(reply.raw, deps.stopping));
      pipeline(Readable.from(bytes, { objectMode: false }), reply.raw)
        .catch((error: unknown) => {
          if (!reply.raw.destroyed) deps.logger.error({ err: error }, 'following output failed');
        })
        .finally(leave);
      return reply;
    },
  });
}

/** Reasons come from nodes: a header takes printable ASCII alone. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, MISSING_LENGTH);
}

/** Aborted when the connection closes or the server stops. */
function readerLeft(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const left = new AbortController();
  const leave = (): void => left.abort();
  stopping.addEventListener('abort', leave, { once: true });
  response.once('close', () => {
    stopping.removeEventListener('abort', leave);
    leave();
  });
  return left.signal;
}
