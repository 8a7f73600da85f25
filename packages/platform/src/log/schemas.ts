import { type Static, type TObject, Type } from 'typebox';

/**
 * What Muster itself tells. `attributes` are what events are selected by, `data` is the body: JSON.
 * `docs/reference/events.md` is made from this.
 */

const text = (description: string) => Type.String({ description });
const integer = (description: string) => Type.Integer({ description });
const optional = (description: string) => Type.Optional(text(description));
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const values = (description: string) =>
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), { description });

const node = text('Name of the node');
const job = text('Id of the job');
const seq = integer('Number of the event in its job, from 1 on');

const aboutNode = { node };
const aboutJob = { job, seq };
const none = Type.Object({});

interface EventSchema {
  /** One sentence. */
  readonly summary: string;
  readonly attributes: TObject;
  readonly data: TObject;
}

const OWNERS = '`rehab`, `idle` or `job`';

export const EVENT_SCHEMAS = {
  'node.created': {
    summary: 'A node became known: it was created, enrolled itself, or asked for its configuration.',
    attributes: Type.Object(aboutNode),
    data: none,
  },
  'node.removed': {
    summary: 'A node was deleted.',
    attributes: Type.Object(aboutNode),
    data: none,
  },
  'node.up': {
    summary: 'A node is heard again.',
    attributes: Type.Object({ ...aboutNode, owner: text('Who owns it now: mostly `rehab`') }),
    data: Type.Object({ reason: text('Why it is where it is') }),
  },
  'node.down': {
    summary: 'A node was not heard for too long, or said that it stops.',
    attributes: Type.Object({ ...aboutNode, job: optional('The job that has lost it') }),
    data: Type.Object({ reason: text('Why it is down') }),
  },
  'node.owner': {
    summary: 'A node that is up changed hands.',
    attributes: Type.Object({
      ...aboutNode,
      owner: text(`Who owns it now: ${OWNERS}`),
      from: text(`Who owned it: ${OWNERS}`),
      job: optional('The job that owns it, or did'),
    }),
    data: Type.Object({ reason: text('Why') }),
  },
  'node.facts': {
    summary: 'A node reported other facts or labels than before.',
    attributes: Type.Object(aboutNode),
    data: Type.Object({ facts: values('All its facts'), labels: values('All its labels') }),
  },
  'node.restarted': {
    summary: 'The agent of a node was started anew, or is heard for the first time.',
    attributes: Type.Object({
      ...aboutNode,
      end: optional('How the one before ended: `clean`, `crash` or `reinstalled`'),
    }),
    data: Type.Object({ incarnation: nullable('Incarnation of the agent') }),
  },
  'node.protocol': {
    summary: 'A node speaks another protocol than before.',
    attributes: Type.Object({ ...aboutNode, dialect: text('`native`, `chef2` or `spec1`') }),
    data: none,
  },
  'node.key': {
    summary: 'A node asked for its configuration with another key than before.',
    attributes: Type.Object(aboutNode),
    data: Type.Object({ fingerprint: text('SHA-256 of the key') }),
  },

  'push.start': {
    summary: 'A push job was started.',
    attributes: Type.Object({ ...aboutJob, user: text('Who started it') }),
    data: Type.Object({
      command: text('The command'),
      run_timeout: Type.Number({ description: 'Seconds' }),
      quorum: integer('Nodes that must be ready'),
      node_count: integer('Nodes of the job'),
      user: text('Who started it'),
      capture: Type.Boolean({ description: 'Whether output is kept' }),
      job_user: optional('Run as this user'),
      dir: optional('Run in this directory'),
      env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'Environment of the command' })),
      file_specified: Type.Optional(Type.Boolean({ description: 'A file goes with the command' })),
    }),
  },
  'push.quorum_vote': {
    summary: 'A node voted, or its vote was decided for it.',
    attributes: Type.Object({ ...aboutJob, ...aboutNode, status: text('See push job events') }),
    data: Type.Object({ node, status: text('As the attribute') }),
  },
  'push.quorum_succeeded': {
    summary: 'Enough nodes are ready: execution begins.',
    attributes: Type.Object(aboutJob),
    data: none,
  },
  'push.run_start': {
    summary: 'A node began to run the command.',
    attributes: Type.Object({ ...aboutJob, ...aboutNode }),
    data: Type.Object({ node }),
  },
  'push.run_complete': {
    summary: 'The command ended on a node.',
    attributes: Type.Object({ ...aboutJob, ...aboutNode, status: text('See push job events') }),
    data: Type.Object({ node, status: text('As the attribute') }),
  },
  'push.rehab': {
    summary: 'A node misbehaved in a job and is aborted until it acknowledges.',
    attributes: Type.Object({ ...aboutJob, ...aboutNode }),
    data: Type.Object({ node }),
  },
  'push.job_complete': {
    summary: 'A push job ended.',
    attributes: Type.Object({ ...aboutJob, status: text('How it ended') }),
    data: Type.Object({ status: text('As the attribute') }),
  },
  'push.job': {
    summary: 'A push job changed in a way that none of the events above tells.',
    attributes: Type.Object({
      job,
      status: text('Status of the job'),
      phase: text('`new`, `voting`, `running`, `aborting` or `finished`'),
    }),
    data: Type.Object({ reason: nullable('Why, if there is something to say') }),
  },
  'push.job_node': {
    summary: 'A node changed its status in a push job in a way that none of the events above tells.',
    attributes: Type.Object({ job, ...aboutNode, status: text('Status of the node in the job') }),
    data: Type.Object({ reason: nullable('Why, if there is something to say') }),
  },

  'event.scheduled': {
    summary: 'A future event was accepted.',
    attributes: Type.Object({
      id: text('Its id'),
      event: text('Its type'),
      at: text('When it is due'),
      by: text('Whose event it is'),
    }),
    data: none,
  },
  'event.cancelled': {
    summary: 'A future event was taken back.',
    attributes: Type.Object({ id: text('Its id'), event: text('Its type'), by: text('Who took it back') }),
    data: none,
  },
} as const satisfies Readonly<Record<string, EventSchema>>;

export type EventType = keyof typeof EVENT_SCHEMAS;
export type AttributesOf<T extends EventType> = Static<(typeof EVENT_SCHEMAS)[T]['attributes']>;
export type DataOf<T extends EventType> = Static<(typeof EVENT_SCHEMAS)[T]['data']>;

/** Events of changes of identity; their type is `auth.` and the action as the audit has it. */
export const AUTH_EVENT_SCHEMA = {
  attributes: Type.Object({
    actor: text('Who did it'),
    actor_kind: text('What that is: `user`, `node`, `service` or `server`'),
    target: text('What it was done to'),
  }),
  data: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
} as const;
