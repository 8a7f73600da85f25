import { isUtf8 } from 'node:buffer';
import { type FeedEvent, showFeed, subjectOf } from '@muster/platform/feeds';
import type { App } from '@muster/platform/http';
import { type LivePiece, liveOutput } from '@muster/platform/output';
import { PUSH_FEED } from '../events.js';
import { endedOutputs, findJob, incompleteOutputs } from '../repository/reads.js';
import type { JobRow } from '../repository/writes.js';
import { existingJob } from './job-routes.js';
import * as schemas from './schemas.js';
import type { StreamRouteDeps } from './stream-routes.js';

/** What all nodes of a job write, as it is stored, in one stream. */
export function liveOutputRoute(app: App, deps: StreamRouteDeps): void {
  const accept = 'text/event-stream';
  const { streams, logger } = deps;
  app.route({
    method: 'GET',
    url: '/organizations/:org/pushy/jobs/:id/output',
    config: { permission: 'push:job', accept, showsOutput: true },
    schema: {
      tags: ['event feeds'],
      operationId: 'followPushJobOutput',
      summary: 'What all nodes of a job write, as server-sent events',
      description:
        'First what is stored. `output`: bytes of one stream of a node, in order, as `text` where they are UTF-8 and ' +
        'else as `base64`; `offset` counts all that the command wrote, so that a gap tells what was not kept. ' +
        '`output_end`: nothing more comes of this node, which wrote something. At the end of the job `output_missing` for each node whose output is not whole for another cause than the limit, ' +
        'and `output_complete`: without it the stream broke off. It begins anew whenever it is opened.',
      params: schemas.JobParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params } = request;
      const job = await existingJob(deps, organization, params.id);
      const keepaliveMs = deps.config.push.keepalive * 1000;
      showFeed(reply, { streams, logger, keepaliveMs }, (_, signal) => outputEvents(deps, job, signal));
      return reply;
    },
  });
}

async function* outputEvents(
  { read, controller, streams }: Pick<StreamRouteDeps, 'controller' | 'read' | 'streams'>,
  job: JobRow,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent> {
  let number = 0;
  const event = (name: string, data: FeedEvent['data']): FeedEvent => ({ event: name, id: `output-${++number}`, data });
  const finished = async (): Promise<boolean> => {
    const now = await findJob(read, job.org_id, job.id);
    return now === undefined || now.phase === 'finished';
  };
  const source = {
    read,
    readers: controller.outputReaders,
    hasEnded: finished,
    endedParts: () => endedOutputs(read, job.id),
    share: streams.share,
  };
  for await (const piece of liveOutput(source, subjectOf(PUSH_FEED, job.id), signal)) {
    if ('ended' in piece) yield event('output_end', { node: piece.ended });
    else yield event('output', shownPiece(piece));
  }
  // A server that stops ends it, too.
  if (signal.aborted || !(await finished())) return;
  for (const { node, output_missing: reason } of await incompleteOutputs(read, job.id)) {
    yield event('output_missing', { node, reason });
  }
  yield event('output_complete', {});
}

function shownPiece({ part, stream, offset, data }: LivePiece): FeedEvent['data'] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const content = isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
  return { node: part, stream, offset, ...content };
}
