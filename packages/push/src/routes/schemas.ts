import { Type } from 'typebox';
import { MAX_PAGE } from '../limits.js';

/** Shapes of requests and answers, for validation and for /openapi.json. */

const seconds = (description: string) => Type.Number({ description: `${description} (seconds)` });
const share = (description: string) =>
  Type.Union([Type.Number(), Type.String()], {
    description: `${description}: a count, a fraction such as 0.8, or a percentage such as "80%"`,
  });

const TARGET = {
  nodes: Type.Optional(Type.Array(Type.String(), { description: 'Names of nodes; they need not be known' })),
  search: Type.Optional(Type.String({ description: 'Selector over facts and labels: role:web AND os:linux' })),
  node_group: Type.Optional(Type.String({ description: 'Name of a node group' })),
  from_job: Type.Optional(
    Type.Object(
      { id: Type.String(), statuses: Type.Array(Type.String()) },
      { description: 'Nodes of an earlier job that stand at one of these statuses' },
    ),
  ),
};

/** `readTarget` checks what this only describes: exactly one of the four. */
export const TargetBody = Type.Object(TARGET, { description: 'Exactly one of nodes, search, node_group, from_job' });

/** `readJobRequest` has checked every body before the signature; this describes it. */
export const JobBody = Type.Object(
  {
    command: Type.String(),
    ...TARGET,
    run_timeout: Type.Optional(seconds('How long nodes may run, counted from the quorum')),
    quorum: Type.Optional(
      share(
        'Nodes that must be ready (rounded up; with more than there are the job ends quorum_failed), all when absent',
      ),
    ),
    user: Type.Optional(Type.String({ description: 'Run as this user' })),
    dir: Type.Optional(Type.String({ description: 'Run in this directory' })),
    env: Type.Optional(Type.Record(Type.String(), Type.String())),
    file: Type.Optional(Type.String({ description: 'raw:TEXT or base64:BYTES, handed to the command' })),
    capture_output: Type.Optional(Type.Boolean()),
    node_timeout: Type.Optional(seconds('How long one node may run')),
    voting_timeout: Type.Optional(seconds('How long the vote may take')),
    ack_timeout: Type.Optional(seconds('After this, a silent node is unavailable')),
    concurrency: Type.Optional(share('Nodes that run at once (rounded up)')),
    start_rate: Type.Optional(Type.Number({ description: 'Nodes started per second' })),
    max_failures: Type.Optional(share('More failures than this (rounded down) stop further starts')),
  },
  { description: 'Exactly one of nodes, search, node_group, from_job' },
);

const strict = { additionalProperties: false };

export const OrgParams = Type.Object({ org: Type.String() });
export const JobParams = Type.Object({ org: Type.String(), id: Type.String() });
export const LookupParams = Type.Object({ org: Type.String(), digits: Type.String() });
export const OutputParams = Type.Object({
  org: Type.String(),
  id: Type.String(),
  node: Type.String(),
});

/** Once, several times, or separated by commas. */
const words = (description: string) =>
  Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())], { description }));
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, description: 'Most entries in one answer' }));
const flag = (description: string) => Type.Optional(Type.String({ description: `true: ${description}` }));
const time = Type.Optional(Type.String({ description: 'ISO 8601 or RFC 1123' }));

export const ListQuery = Type.Object(
  {
    status: words('Job statuses'),
    command: Type.Optional(Type.String({ description: 'Exact, or a beginning followed by *' })),
    requester: Type.Optional(Type.String()),
    node: Type.Optional(Type.String()),
    created_after: time,
    created_before: time,
    limit,
    cursor: Type.Optional(Type.String({ description: 'From the Link header of the page before' })),
    detail: flag('show every field: also who started a job (created_by) and its nodes by status (counts)'),
  },
  strict,
);

export const JobQuery = Type.Object(
  { include_file: flag('show the file itself'), detail: flag('show every field') },
  strict,
);

export const JobNodesQuery = Type.Object(
  { status: words('Job-node statuses'), limit, after: Type.Optional(Type.String({ description: 'Name of a node' })) },
  strict,
);

/** Loose on purpose: answers are made by code that is tested against the sheet, and an unknown key must not vanish. */
export const JobAnswer = Type.Object({}, { additionalProperties: true, description: 'A job (sheet §7.7)' });
export const JobListAnswer = Type.Array(JobAnswer);
export const LookupAnswer = Type.Array(
  Type.Object({ id: Type.String(), command: Type.String(), status: Type.String(), created_at: Type.String() }),
);
export const JobNodesAnswer = Type.Array(Type.Object({}, { additionalProperties: true }));
export const StartedAnswer = Type.Object({ id: Type.String(), uri: Type.String() });
export const PreviewAnswer = Type.Object({
  count: Type.Integer(),
  nodes: Type.Array(Type.String()),
  restricted: Type.Array(Type.String(), { description: 'Nodes the caller may not run commands on' }),
});

export const EventStreamAnswer = { content: { 'text/event-stream': { schema: Type.String() } } };
