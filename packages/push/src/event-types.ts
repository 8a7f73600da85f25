import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });
const integer = (description: string) => Type.Integer({ description });
const optional = (description: string) => Type.Optional(text(description));
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const node = text('Name of the node');
const job = text('Id of the job');
const aboutNode = { node };
const aboutJob = { job, seq: integer('Number of the event in its job, from 1 on') };
/** Of a node whose status has changed; what is not known, or not yet, is left out. */
const aboutResult = {
  reason: optional('Why, if there is something to say'),
  exit_code: Type.Optional(integer('Exit code of the command')),
  signal: optional('The signal that ended the command'),
  stdout_bytes: Type.Optional(integer('Bytes that the command wrote, if they are captured')),
  stderr_bytes: Type.Optional(integer('The same on the other stream')),
};
const aboutStanding = { node_status: text('Status of the node in the job since then'), ...aboutResult };
const none = Type.Object({});

/** What is told of push jobs. Those with `seq` are what the feeds of jobs show. */
export const PUSH_EVENTS = new OwnEvents({
  prefix: 'push.',
  followers: 'push:read',
  schemas: {
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
      attributes: Type.Object({ ...aboutJob, ...aboutNode, status: text('See push job events'), ...aboutStanding }),
      data: Type.Object({ node, status: text('As the attribute') }),
    },
    'push.quorum_succeeded': {
      summary: 'Enough nodes are ready: execution begins.',
      attributes: Type.Object(aboutJob),
      data: none,
    },
    'push.batch': {
      summary: 'A batch of a push job was begun, or the next start waits.',
      attributes: Type.Object({
        ...aboutJob,
        batch: integer('Number of the batch, from 1 on'),
        status: text(
          '`begun`; `continued`, of a job without batches; `pause`, `confirm`: it has ended, and what comes before the next; `failures`: held after too many',
        ),
      }),
      data: Type.Object({ batch: integer('As the attribute'), status: text('As the attribute') }),
    },
    'push.run_start': {
      summary: 'A node began to run the command.',
      attributes: Type.Object({ ...aboutJob, ...aboutNode }),
      data: Type.Object({ node }),
    },
    'push.run_complete': {
      summary: 'The command ended on a node.',
      attributes: Type.Object({ ...aboutJob, ...aboutNode, status: text('See push job events'), ...aboutStanding }),
      data: Type.Object({ node, status: text('As the attribute') }),
    },
    'push.rehab': {
      summary: 'A node misbehaved in a job and is aborted until it acknowledges.',
      attributes: Type.Object({ ...aboutJob, ...aboutNode }),
      data: Type.Object({ node }),
    },
    'push.job_complete': {
      summary: 'A push job ended.',
      attributes: Type.Object({
        ...aboutJob,
        status: text('How it ended; `complete` also when its command failed on nodes: see `failed`'),
        user: text('Who started it'),
        command: text('The command, its first 200 characters'),
        succeeded: integer('Nodes on which the command succeeded'),
        failed: integer('All its other nodes: those that failed, refused, were down or were not started'),
      }),
      data: Type.Object({ status: text('As the attribute') }),
      counted: 'by status',
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
      attributes: Type.Object({ job, ...aboutNode, status: text('Status of the node in the job'), ...aboutResult }),
      data: Type.Object({ reason: nullable('Why, if there is something to say') }),
    },
  },
});
