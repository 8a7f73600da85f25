import {
  answer,
  constant,
  document,
  either,
  gone,
  lines,
  listOf,
  object,
  orNull,
  other,
  own,
  type Printed,
  result,
  text,
} from './shapes.js';

const JOB = result('getJob');
const SUBMITTED = document(result('submitJob'), 'With --wait and --follow the job at its end.');
const ACTED = lines(object({ id: text(), action: text('Which was asked for'), message: orNull(text()) }), 'Every job.');
const TOLD = document(object({ told: listOf(text('Name or id of a worker')) }));
const SERVICE = other('It prints nothing but its log, on stderr, which is JSON anyway.');

/** Jobs, apps, systems, and what carries them. */
export const JOBS: Readonly<Record<string, Printed>> = {
  'job submit': SUBMITTED,
  'job run': SUBMITTED,
  'job list': document(result('listJobs')),
  'job show': document(JOB),
  'job history': document(result('getJobHistory')),
  'job why': document(answer('whyJob')),
  'job output': document(
    result('listJobOutput'),
    'Of a folder. A file comes byte for byte, and with --follow what the job writes.',
  ),
  'job cancel': ACTED,
  'job pause': ACTED,
  'job resume': ACTED,
  'job hide': ACTED,
  'job unhide': ACTED,
  'job resubmit': document(result('resubmitJob')),
  'job share': document(
    either(result('listJobPermissions'), object({ id: text(), user: text(), permission: text() })),
    'With --user what was given.',
  ),
  'job notifications': document(
    either(
      answer('listJobNotifications'),
      answer('listJobSubscriptions'),
      answer('subscribeToJob'),
      answer('unsubscribeFromJob'),
    ),
    'Deliveries; with --subscriptions those; with --add the new one; with --remove its id.',
  ),

  'app create': document(result('registerApp')),
  'app list': document(result('listApps')),
  'app show': document(result('getApp')),
  'app enable': document(result('changeApp')),
  'app disable': document(result('changeApp')),
  'app publish': document(result('changeApp')),
  'app unpublish': document(result('changeApp')),
  'app rm': gone('id'),

  'system create': document(result('registerSystem')),
  'system list': document(result('listSystems')),
  'system show': document(result('getSystem')),
  'system set': document(result('replaceSystem')),
  'system enable': document(result('changeSystem')),
  'system disable': document(result('changeSystem')),
  'system rm': gone('id'),

  'job-queue list': document(answer('listJobQueues')),
  'job-queue apply': document(answer('importJobQueues')),
  'job-queue test': document(answer('testJobQueues')),
  'job-queue stats': document(answer('jobQueueStats')),
  'job-queue rm': gone('name'),

  'recovery list': document(answer('listJobRecovery')),
  'recovery show': document(answer('getJobRecovery')),
  'recovery test-now': document(object({ id: text(), action: constant('test-now') })),
  'recovery give-up': document(object({ id: text(), action: constant('give-up') })),

  'dead-letter list': document(answer('listJobMessages')),
  'dead-letter show': document(answer('getJobMessage')),
  'dead-letter resubmit': lines(object({ id: text(), resubmitted: constant(true) }), 'Every message.'),
  'dead-letter drop': lines(object({ id: text(), dropped: constant(true) }), 'Every message.'),

  'worker run': SERVICE,
  'worker list': document(answer('listJobWorkers')),
  'worker quiesce': TOLD,
  'worker suspend': TOLD,
  'worker resume': TOLD,
  'worker shutdown': TOLD,
  'reader recovery': SERVICE,
  'reader alternate': SERVICE,
  'reader dead-letter': SERVICE,
  server: other('It prints nothing but its log, on stderr, which is JSON anyway; with --check-config the settings.'),
  'relay run': SERVICE,
  'relay status': document(
    listOf(
      object({
        pid: own({ type: 'integer' }),
        workers: own({ type: 'integer', description: 'Processes that share its port' }),
        listen: listOf(text('Where clients connect')),
        upstream: own({
          type: 'object',
          properties: {
            url: { type: 'string' },
            state: { type: 'string', description: 'serving: all is well' },
            since: { type: 'string', description: 'ISO 8601' },
            connects: { type: 'integer', description: 'How often it became ready' },
            last_error: { type: ['string', 'null'] },
          },
          required: ['url', 'state', 'since', 'connects', 'last_error'],
        }),
        clients: own({ type: 'integer' }),
        subscriptions: own({ type: 'integer' }),
        selectors: own({
          type: 'object',
          properties: {
            indexed: { type: 'integer' },
            unindexed: { type: 'integer', description: 'Evaluated for every event' },
          },
          required: ['indexed', 'unindexed'],
        }),
        passed_up: own({ type: 'integer', description: 'Subscriptions that upstream serves' }),
        queued: own({
          type: 'object',
          properties: { total: { type: 'integer' }, largest: { type: 'integer' } },
          required: ['total', 'largest'],
          description: 'Bytes written and not yet taken',
        }),
        unconfirmed: own({ type: 'integer', description: 'Events on their way up' }),
        drops: own({
          type: 'object',
          properties: {
            count: { type: 'integer' },
            last: {
              type: ['object', 'null'],
              properties: { at: { type: 'string' }, reason: { type: 'string' } },
              required: ['at', 'reason'],
            },
          },
          required: ['count', 'last'],
          description: 'How often all clients were cut because a message could not go up',
        }),
        totals: own({ type: 'object', additionalProperties: { type: 'number' }, description: 'Since it started' }),
        rates: own({ type: 'object', additionalProperties: { type: 'number' }, description: 'Per second' }),
        match_ms: own({
          type: 'object',
          properties: { p50: { type: 'number' }, p99: { type: 'number' } },
          required: ['p50', 'p99'],
          description: 'To find the subscriptions of one event',
        }),
      }),
    ),
  ),
  'agent run': SERVICE,
  'agent doctor': document(
    object({
      ok: own({ type: 'boolean' }),
      paragraph: text('For people'),
      checks: listOf(
        object({
          name: text(),
          ok: own({ type: 'boolean' }),
          warning: own({ type: 'boolean', description: 'Available all the same, but something is to be mended' }),
          detail: text('What was found; when not ok, what to do about it'),
        }),
      ),
    }),
  ),
};
