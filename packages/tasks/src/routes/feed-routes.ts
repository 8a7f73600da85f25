import { showFeed } from '@muster/platform/feeds';
import type { App } from '@muster/platform/http';
import { findTask } from '../repository/reads.js';
import { isEnded } from '../status.js';
import { existingQueue, existingTask, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';
import { taskView } from './view.js';

/** What happens, as server-sent events. */
export function feedRoutes(app: App, deps: TaskRouteDeps): void {
  const { read, controller, feeds } = deps;
  const accept = 'text/event-stream';

  app.route({
    method: 'GET',
    url: '/organizations/:org/queues/:queue/feed',
    config: { permission: 'queue:read', accept },
    schema: {
      tags: ['event feeds'],
      operationId: 'followQueue',
      summary: 'What happens to a queue and to its tasks, as server-sent events',
      description:
        'Ends with the queue. The ids of events are positions in the event log: `Last-Event-ID` goes on after one, as long as the log has what followed it.',
      params: schemas.QueueParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async ({ organization, params }, reply) => {
      const { id } = existingQueue(deps, organization.id, params.queue);
      showFeed(reply, deps, (lastEventId, signal) => feeds.ofQueue(id, lastEventId, signal));
      return reply;
    },
  });

  app.route({
    method: 'GET',
    url: '/organizations/:org/tasks/:id/feed',
    config: { permission: 'task:read', accept },
    schema: {
      tags: ['event feeds'],
      operationId: 'followTask',
      summary: 'How a task stands, now and after each change, as server-sent events',
      description:
        'Each event is `task` with the whole task, or `progress` with what its plugin said last: `fraction` from 0 to 1, and `text`. Ends when the task has ended.',
      params: schemas.TaskParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async ({ organization, params }, reply) => {
      const { id, queue_id: queueId } = await existingTask(deps, organization.id, params.id);
      const look = async () => {
        const row = await findTask(read, organization.id, id);
        if (row === undefined) return null;
        const { stdout: _out, stderr: _err, ...listed } = row;
        return { ended: isEnded(row.status), data: taskView(listed, controller.queue(organization.id, queueId)) };
      };
      showFeed(reply, deps, (_last, signal) => feeds.ofTask({ id, queueId }, signal, { look, controller }));
      return reply;
    },
  });
}
