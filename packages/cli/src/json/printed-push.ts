import {
  answer,
  document,
  either,
  flag,
  gone,
  integer,
  lines,
  listOf,
  mapOf,
  more,
  object,
  own,
  type Printed,
  result,
  text,
} from './shapes.js';

const JOB = answer('getPushJob');
/** With what each of its nodes did, and why. */
const JOB_AND_NODES = more(JOB, { job_nodes: answer('listPushJobNodes') });
const STARTED = document(
  either(JOB_AND_NODES, JOB, answer('previewPushJob'), answer('startPushJob 202')),
  'The job at its end, with its nodes; with --detach as it was started, without them; with --dry-run what the nodes would say to it; what waits for others to agree: the approval.',
);
const OUTPUT = object({
  node_name: text(),
  stream: own({ enum: ['stdout', 'stderr'] }),
  'text?': text('Where it is UTF-8'),
  'base64?': text('Where it is not'),
  dropped_bytes: integer('In the middle, not kept'),
  complete: flag('Nothing more comes'),
  'missing?': text('Why some of it is missing'),
});

/** Push jobs, runbooks, approvals, rules, notifications, secrets. */
export const PUSH: Readonly<Record<string, Printed>> = {
  'push start': STARTED,
  'push rerun': STARTED,
  'agent upgrade': STARTED,
  'push status': document(
    either(
      JOB_AND_NODES,
      answer('listPushJobNodes', '[]'),
      object({
        id: text(),
        counts: mapOf({ type: 'integer' }, 'Nodes by status'),
        summary: listOf(text('As it is told to people')),
      }),
    ),
    'The job; with --node its one node; with --summary counts.',
  ),
  'push why': document(answer('explainPushJob')),
  'push watch': lines(
    own({
      type: 'object',
      properties: {
        event: { type: 'string', description: 'Its name: docs/reference/push-events.md has what comes with each' },
        id: { description: 'Of the event, from which a feed goes on' },
      },
      required: ['event'],
      additionalProperties: true,
    }),
    'Every event of the job.',
  ),
  'push list': document(answer('listPushJobs')),
  'push output': lines(OUTPUT, 'Every stream of every node.'),
  'push results': document(
    either(
      answer('listPushJobResults'),
      object({
        id: text('Of the job'),
        group: text('As it was named'),
        nodes: listOf(text('Every node of it, by name')),
      }),
    ),
    'The groups; with --group the nodes of one.',
  ),
  'push continue': document(answer('continuePushJob')),
  'push abort': document(either(answer('abortPushJob'), JOB)),

  'runbook create': document(answer('createRunbook')),
  'runbook list': document(answer('listRunbooks')),
  'runbook show': document(answer('getRunbook')),
  'runbook versions': document(answer('listRunbookVersions')),
  'runbook update': document(answer('updateRunbook')),
  'runbook run': document(
    either(JOB_AND_NODES, JOB, answer('previewRunbook'), answer('runRunbook 202')),
    'The job at its end, with its nodes; with --detach as it was started, without them; with --dry-run what would run; what waits for a second person: the approval.',
  ),
  'runbook rm': gone('name'),

  'approval list': document(answer('listApprovals')),
  'approval show': document(answer('getApproval')),
  'approval grant': document(answer('grantApproval')),
  'approval deny': document(answer('denyApproval')),
  'approval policy set': document(answer('setApprovalPolicy')),
  'approval policy list': document(answer('listApprovalPolicies')),
  'approval policy rm': gone('name'),

  'rule create': document(
    either(answer('createRule'), answer('createRule 202'), answer('tryRule')),
    'The rule; what waits for others to agree: the approval; with --dry-run what it would have done.',
  ),
  'rule list': document(answer('listRules')),
  'rule show': document(answer('getRule')),
  'rule set': document(
    either(answer('changeRule'), answer('changeRule 202')),
    'The rule; what waits for others to agree: the approval.',
  ),
  'rule runs': document(answer('listRuleRuns')),
  'rule rm': gone('name'),

  'notification create': document(answer('createNotification')),
  'notification list': document(answer('listNotifications')),
  'notification show': document(answer('getNotification')),
  'notification set': document(answer('changeNotification')),
  'notification rm': gone('name'),
  'notification deliveries': document(answer('listNotificationDeliveries')),
  'notification test': document(answer('testNotification')),
  'notification secret': document(answer('getWebhookSecret')),

  'secret set': document(answer('setSecret')),
  'secret list': document(answer('listSecrets')),
  'secret show': document(answer('getSecret')),
  'secret providers': document(answer('listSecretProviders')),
  'secret grant': document(answer('shareSecret')),
  'secret revoke': document(answer('shareSecret')),
  'secret rm': gone('name'),

  demo: document(
    object({
      jobs: listOf(JOB),
      queue: answer('getQueue'),
      retried: answer('getTask'),
      longJob: result('getJob'),
      'running?': object({
        url: text(),
        console: text('A link that signs in to the console, once, within a minute'),
        config: text('File of settings'),
        stop: text('A command'),
      }),
    }),
    'With --keep also how to reach what runs.',
  ),
};
