import { AUTH_ACTIONS, AUTH_EVENT } from '@muster/platform/auth';
import { LAYERS } from '@muster/server';
import { code, table } from './markdown.mjs';

const GROUPS = [
  ['node', 'Nodes', 'Who is up, who owns it, and what it is.'],
  [
    'push',
    'Push jobs',
    'Those with `seq` are what [the feeds of push jobs](push-events.md) show, too: body and `data` of the feed, without its ' +
      '`timestamp`, are the same, and `status` means what is written there.',
  ],
  [
    'job',
    'Jobs',
    'Every change of status, for its owner and for administrators of jobs. Each job has [a feed of its own](../guide/jobs.md), too.',
  ],
  [
    'job_recovery',
    'What blocked jobs wait for',
    'For administrators of jobs. That a job is blocked, or goes on, is told by its status.',
  ],
  ['job_queue', 'Job queues', 'For administrators of jobs. What waits in one changes with its jobs.'],
  ['job_worker', 'Workers of jobs', 'For administrators of jobs: who works, and who is not heard any more.'],
  ['job_message', 'Dead letters', 'For administrators of jobs: messages that nobody took.'],
  ['queue', 'Queues', 'Made, changed, deleted. What happens in one, the feed of the queue shows, too.'],
  ['task', 'Tasks', 'Every change of status: of tasks that were added or deleted together one event tells.'],
  ['rule', 'Rules', 'What was made and changed, and what rules have started. None of it starts a rule.'],
  ['runbook', 'Runbooks', 'What was made, changed and run; never what it runs.'],
  ['approval', 'Approvals', 'Who asked for a second person, and what became of it. They never tell parameters.'],
  ['schedule', 'Schedules', 'What ran at its time, and what did not. They never tell what is run.'],
  ['audit', 'The audit', 'That there is more in it, for admins; what it is, they read there.'],
  ['event', 'Future events', 'When it is due, a future event is published as the event that it is.'],
];

export function eventsPage() {
  return `# Events

Generated from what each layer declares (\`event-types.ts\` of its package) by \`npm run docs\`.

Everything that changes in Muster is an event: stored in the transaction that stores the change, and published once that
is durable. Whoever may read the same over REST may follow it, and what else programs publish, over
[STOMP](fabric-protocol.md) with a [selector](selectors.md):

\`\`\`
muster event watch "type LIKE 'push.%' AND status = 'failure'"
\`\`\`

## What every event has

${table(
  ['attribute', 'what it is'],
  [
    ['`type`', 'what happened; those below are Muster’s own, and nobody else publishes them'],
    ['`org`', 'name of the organization; nobody follows another one'],
    ['`source`', '`ORG/NAME` of whoever published it; `muster` of those below, which nobody else can be'],
    ['`source-kind`', 'what that is the name of: `user`, `node` or `service`; `server` of those below'],
    ['`time`', 'when it was accepted, UTC'],
    ['`message-id`', 'its position in the log: events are told in this order, and a subscription may go on `from` one'],
  ],
)}

Further attributes are the publisher's own. Muster's own events have those below, and their body is JSON
(\`content-type:application/json\`). An event whose type, attributes and body are larger than \`events.max_size\` is kept
whole and travels without its body; the attribute \`oversize\` tells how many bytes that has.

The log keeps events for \`events.keep\` (7 days), and at most \`events.max_bytes\` (1 GiB) of them: the oldest go first. What
the feed of an unfinished job shows stays as long as the job runs. An organization that is deleted takes its events along.

${GROUPS.map(group).join('\n\n')}

## Identities

The type is \`auth.\` and what was done, as the audit records it too. The attributes are \`actor\`
(${AUTH_EVENT.attributes.properties.actor.description.toLowerCase()}), \`actor_kind\`
(\`user\`, \`node\`, \`service\` or \`server\`) and \`target\`
(${AUTH_EVENT.attributes.properties.target.description.toLowerCase()}), the body holds what the audit says in
\`detail\`. Users belong to no organization: what happens to one is told wherever it is a member.

${table(
  ['type', 'when'],
  Object.entries(AUTH_ACTIONS)
    .filter(([action]) => action !== 'organization.delete')
    .map(([action, summary]) => [code(`auth.${action}`), summary]),
)}
`;
}

/** `packages/console/src/events/types.gen.ts`: Muster's own types, which are offered while a selector is typed. */
export function eventTypes() {
  const told = LAYERS.flatMap(({ events }) => events).flatMap(({ schemas }) => Object.keys(schemas));
  const done = Object.keys(AUTH_ACTIONS).map((action) => `auth.${action}`);
  const lines = [...new Set([...told, ...done])].sort().map((type) => `  '${type}',\n`);
  return `// Made from what each layer declares by \`npm run docs\`.\n\nexport const EVENT_TYPES: readonly string[] = [\n${lines.join('')}];\n`;
}

function group([prefix, title, text]) {
  const families = LAYERS.flatMap(({ events }) => events).filter((one) => one.prefix === `${prefix}.`);
  const types = families.flatMap(({ schemas }) => Object.entries(schemas));
  return `## ${title}\n\n${text}\n\n${types.map(section).join('\n\n')}`;
}

function section([type, { summary, attributes, data }]) {
  return `### ${type}\n\n${summary}\n\n${table(
    ['', 'name', 'type', 'what it is'],
    [...fields('attribute', attributes, type), ...fields('body', data, type)],
  )}`;
}

function fields(where, { properties, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => [
    where,
    code(name) + (required.includes(name) ? '' : ' (optional)'),
    typeOf(schema),
    schema.description ?? '',
  ]);
}

function typeOf(schema) {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  return schema.type;
}
