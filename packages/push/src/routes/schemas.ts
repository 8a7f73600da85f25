import { fieldsParameter, listedFields, sortParameter } from '@muster/platform/http';
import { Type } from 'typebox';
import { WAITS_FOR } from '../controller/why.js';
import { MAX_PAGE } from '../limits.js';
import { REFUSALS } from '../request/preview.js';
import { FINAL_PUSH_JOB_NODE_STATUSES, FINAL_PUSH_JOB_STATUSES } from '../types.js';

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

const KEPT = {
  sha256: Type.String({ description: '64 digits of 0-9 and a-f' }),
  size: Type.Integer({ description: 'Bytes' }),
};

/** `readJobRequest` has checked every body before the signature; this describes it. */
export const JobBody = Type.Object(
  {
    command: Type.Optional(
      Type.String({ description: 'Left out with script and fetch, and with nothing but uploads' }),
    ),
    ...TARGET,
    run_timeout: Type.Optional(seconds('How long nodes may run, counted from the quorum')),
    quorum: Type.Optional(
      share(
        'Nodes that must be ready (rounded up; with more than there are the job ends quorum_failed), all when absent, "default": as the organization has set it',
      ),
    ),
    user: Type.Optional(Type.String({ description: 'Run as this user' })),
    dir: Type.Optional(Type.String({ description: 'Run in this directory' })),
    env: Type.Optional(Type.Record(Type.String(), Type.String())),
    file: Type.Optional(Type.String({ description: 'raw:TEXT or base64:BYTES, handed to the command' })),
    secrets: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Secrets that the command finds as files in $MUSTER_SECRETS: their names, each with a variable that names the file, or ""',
      }),
    ),
    script: Type.Optional(
      Type.Object(
        {
          ...KEPT,
          name: Type.String({ description: 'What it is called, without a path' }),
          args: Type.Optional(Type.Array(Type.String(), { description: 'Its arguments, as they are' })),
          signature: Type.Optional(
            Type.String({
              description: 'Base64, RSA with SHA-256, of ["muster-script-1", ORG, SHA256, ARGUMENT…] as compact JSON',
            }),
          ),
        },
        { description: 'Run in the place of a command; a file that was brought before' },
      ),
    ),
    uploads: Type.Optional(
      Type.Array(
        Type.Object({
          ...KEPT,
          dest: Type.String({ description: 'Absolute path on the nodes' }),
          mode: Type.Optional(Type.Integer({ description: 'Permission bits, 420 (0644) when absent' })),
        }),
        { description: 'Files put in their place before the command starts' },
      ),
    ),
    fetch: Type.Optional(
      Type.String({
        description: 'Absolute path of a file of the nodes, which becomes their stdout; in the place of a command',
      }),
    ),
    capture_output: Type.Optional(Type.Boolean()),
    node_timeout: Type.Optional(seconds('How long one node may run')),
    voting_timeout: Type.Optional(seconds('How long the vote may take')),
    ack_timeout: Type.Optional(seconds('After this, a silent node is unavailable')),
    concurrency: Type.Optional(share('Nodes that run at once (rounded up)')),
    start_rate: Type.Optional(Type.Number({ description: 'Nodes started per second' })),
    max_failures: Type.Optional(share('More failures than this (rounded down) stop further starts')),
    on_failures: Type.Optional(
      Type.Union([Type.Literal('end'), Type.Literal('hold'), Type.Literal('abort')], {
        description:
          'After more failures than max_failures: what was not started ends (end, when absent), waits until the job is continued (hold), or all is aborted, also what runs (abort)',
      }),
    ),
    batches: Type.Optional(
      Type.Array(Type.Union([Type.Number(), Type.String()]), {
        description:
          'Start the nodes in batches, each when the one before has ended: sizes as counts or shares of all nodes (rounded up), the last again and again, or "rest"; [1, "10%", "rest"]',
      }),
    ),
    batch_pause: Type.Optional(seconds('Between the end of a batch and the start of the next')),
    batch_confirm: Type.Optional(Type.Boolean({ description: 'After each batch, wait until the job is continued' })),
    when_busy: Type.Optional(
      Type.Union([Type.Literal('skip'), Type.Literal('wait')], {
        description: 'Nodes that run another push job, or are in rehab: refused (skip, when absent), or waited for',
      }),
    ),
    wait_timeout: Type.Optional(seconds('How long nodes are waited for, counted from the creation of the job')),
  },
  { description: 'Exactly one of nodes, search, node_group, from_job' },
);

const { script: _script, uploads: _uploads, fetch: _fetch, ...AS_OF_THE_JOB } = JobBody.properties;

/** `readPreviewRequest` checks what this only describes. */
export const PreviewBody = Type.Object(
  {
    ...AS_OF_THE_JOB,
    command: Type.Optional(Type.String({ description: 'Which of them would refuse it?' })),
    script: Type.Optional(Type.Boolean({ description: 'Which would refuse a script?' })),
    uploads: Type.Optional(Type.Boolean({ description: 'Which would refuse files?' })),
    fetch: Type.Optional(Type.Boolean({ description: 'Which would give none?' })),
  },
  { description: 'As of the job, which is refused as it would be. Exactly one of nodes, search, node_group, from_job' },
);

const strict = { additionalProperties: false };

export const OrgParams = Type.Object({ org: Type.String() });
/** Which hold somebody has seen: as the job shows it in `batch`. */
export const SeenHoldQuery = Type.Object(
  {
    batch: Type.Optional(Type.Integer({ minimum: 1, description: 'Number of the batch' })),
    excused: Type.Optional(Type.Integer({ minimum: 0, description: 'Failures that it was continued after before' })),
  },
  { additionalProperties: false },
);

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
/** Of a preview: all when there is no limit. */
export const PreviewQuery = Type.Object(
  { limit, after: Type.Optional(Type.String({ description: 'Name of a node' })) },
  strict,
);
const flag = (description: string) => Type.Optional(Type.String({ description: `true: ${description}` }));
const time = Type.Optional(Type.String({ description: 'ISO 8601 or RFC 1123' }));

const STATUSES = ['new', 'voting', 'running', ...FINAL_PUSH_JOB_STATUSES].join(', ');
const NODE_STATUSES = ['new', 'ready', 'running', ...FINAL_PUSH_JOB_NODE_STATUSES].join(', ');
const whole = (description: string) => Type.Integer({ description });
const OrText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const Kept = Type.Object({ ...KEPT, dest: Type.String(), mode: Type.Integer() }, { additionalProperties: true });
const optional = Type.Optional;
const batchFields = {
  batches: optional(Type.Array(Type.Number(), { description: 'Nodes of each batch' })),
  batch_pause: optional(seconds('Between two batches')),
  batch_confirm: optional(Type.Boolean()),
};

/** An unknown key must not vanish: answers are made by code that is tested against the sheet. */
const Job = Type.Object(
  {
    id: Type.String(),
    command: Type.String(),
    status: Type.String({ description: STATUSES }),
    run_timeout: seconds('How long nodes may run'),
    created_at: Type.String({ description: 'RFC 1123' }),
    updated_at: Type.String({ description: 'RFC 1123' }),
    user: optional(Type.String({ description: 'Whom it runs as' })),
    dir: optional(Type.String({ description: 'Where it runs' })),
    env: optional(Type.Record(Type.String(), Type.String())),
    capture_output: optional(Type.Boolean({ description: 'true: its output is kept' })),
    file: optional(Type.String({ description: 'With include_file' })),
    file_specified: optional(Type.Boolean({ description: 'true: it has a file' })),
    secrets: optional(Type.Record(Type.String(), Type.String(), { description: 'Names of secrets and of variables' })),
    script: optional(
      Type.Object(
        { ...KEPT, name: Type.String(), args: optional(Type.Array(Type.String())), signature: optional(Type.String()) },
        { additionalProperties: true },
      ),
    ),
    uploads: optional(Type.Array(Kept)),
    fetch: optional(Type.String({ description: 'Path of a file of the nodes' })),
    runbook: optional(
      Type.Object({
        name: Type.String(),
        version: Type.Integer(),
        parameters: Type.Record(Type.String(), Type.String(), { description: 'As they may be shown' }),
      }),
    ),
    node_timeout: optional(seconds('How long one node may run')),
    ack_timeout: optional(seconds('After this, a silent node is unavailable')),
    concurrency: optional(Type.Number({ description: 'Nodes that run at once' })),
    start_rate: optional(Type.Number({ description: 'Nodes started per second' })),
    max_failures: optional(Type.Number({ description: 'More failures than this stop further starts' })),
    on_failures: optional(Type.String({ description: 'hold or abort' })),
    ...batchFields,
    when_busy: optional(Type.String({ description: 'wait' })),
    wait_timeout: optional(seconds('How long nodes are waited for')),
    nodes: optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: `Of a single job: names of nodes by their status: ${NODE_STATUSES}`,
      }),
    ),
    quorum: optional(whole('In detail: how many ready nodes it needs')),
    voting_timeout: optional(seconds('In detail: how long the vote may take')),
    target: optional(Type.String({ description: 'In detail: what its nodes were chosen by' })),
    created_by: optional(Type.String({ description: 'In detail' })),
    node_count: optional(whole('In detail')),
    aborting: optional(Type.Boolean({ description: 'In detail' })),
    ending: optional(OrText('In detail: the status that it is about to end with')),
    reason: optional(OrText('In detail: why it ended so')),
    deadline: optional(OrText('In detail; RFC 1123')),
    batch: optional(
      Type.Object(
        {
          number: whole('From 1 on'),
          left: Type.Union([Type.Integer(), Type.Null()], { description: 'Nodes of it still to be started' }),
          hold: OrText('What the next start waits for: pause, confirm, failures'),
          until: OrText('End of the pause; ISO 8601'),
          excused: whole('Failures that it was continued after'),
        },
        { description: 'In detail, of one in batches or that was held' },
      ),
    ),
    counts: optional(Type.Record(Type.String(), Type.Integer(), { description: 'In detail: nodes by status' })),
    node_status: optional(
      Type.String({ description: 'In detail, of a list that asks for jobs of one `node`: how that node stands in it' }),
    ),
  },
  { additionalProperties: true, description: 'A job (sheet §7.7)' },
);
/** Of a list of jobs: those of single jobs alone are not in it. */
export const JOB_FIELDS = listedFields(Job, null, ['nodes', 'file']);
/** Those that are shown in detail alone, which stand last. */
export const FIELDS_IN_DETAIL: readonly string[] = JOB_FIELDS.names.slice(JOB_FIELDS.names.indexOf('quorum'));

export const ListQuery = Type.Object(
  {
    status: words('Job statuses; held: those that run, and wait to be continued'),
    command: Type.Optional(Type.String({ description: 'Exact, or a beginning followed by *' })),
    requester: Type.Optional(Type.String()),
    node: Type.Optional(Type.String()),
    created_after: time,
    created_before: time,
    limit,
    cursor: Type.Optional(Type.String({ description: 'From the Link header of the page before' })),
    ...fieldsParameter(JOB_FIELDS),
    ...sortParameter(['created_at'], '-created_at'),
    detail: flag('show every field: also who started a job (created_by) and its nodes by status (counts)'),
  },
  strict,
);

export const JobQuery = Type.Object(
  { include_file: flag('show the file itself'), detail: flag('show every field') },
  strict,
);

export const JobNodesQuery = Type.Object(
  {
    status: words('Job-node statuses'),
    group: Type.Optional(
      Type.String({ description: 'Only those of this group of results; 4 digits or more of its name' }),
    ),
    limit,
    after: Type.Optional(Type.String({ description: 'Name of a node' })),
  },
  strict,
);

export const JobAnswer = Type.Unsafe<Readonly<Record<string, unknown>>>(Job);
const JobStanding = Type.Object(
  { id: Type.String(), status: Job.properties.status },
  { description: 'For who may not look at the job (`push:job`)' },
);
/** Of what changes a job: who may change it may not always look at it. */
export const ChangedJobAnswer = Type.Unsafe<Readonly<Record<string, unknown>>>(Type.Union([Job, JobStanding]));
export const JobListAnswer = Type.Array(JobAnswer);
export const LookupAnswer = Type.Array(
  Type.Object({
    id: Type.String(),
    command: Type.String(),
    status: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
  }),
);
const JobNode = Type.Object(
  {
    node_name: Type.String(),
    status: Type.String({ description: NODE_STATUSES }),
    reason: OrText('Why'),
    exit_code: Type.Union([Type.Integer(), Type.Null()]),
    signal: OrText('What ended its command, such as SIGKILL'),
    started_at: OrText('ISO 8601'),
    updated_at: Type.String({ description: 'ISO 8601' }),
    stdout_bytes: Type.Union([Type.Integer(), Type.Null()]),
    stderr_bytes: Type.Union([Type.Integer(), Type.Null()]),
  },
  { additionalProperties: true },
);
export const JobNodesAnswer = Type.Array(Type.Unsafe<Readonly<Record<string, unknown>>>(JobNode));

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const WhyQuery = Type.Object(
  { limit, after: Type.Optional(Type.String({ description: 'Name of a node' })) },
  strict,
);
export const WhyAnswer = Type.Object({
  why: Type.Array(Type.String(), { description: 'What the job does or waits for, in sentences' }),
  nodes: Type.Array(
    Type.Object({
      node_name: Type.String(),
      status: Type.String({ description: 'Status of the node in the job' }),
      waits_for: Type.Unsafe<(typeof WAITS_FOR)[number]>(
        Type.Union(
          WAITS_FOR.map((what) => Type.Literal(what)),
          {
            description:
              'node: until it is free; vote: its answer; quorum: the other votes; turn: its start; start: that it says that it runs; end: the end of its command; abort: that it confirms the abort',
          },
        ),
      ),
      reason: Type.String(),
      job_id: nullable('The job that has the node now, when that is another one'),
      since: nullable('ISO 8601; since when the command runs, the node is waited for, or was asked; null: not known'),
    }),
    { description: 'Nodes that have not ended, by name' },
  ),
});
export const StartedAnswer = Type.Object({ id: Type.String(), uri: Type.String() });
export const PreviewAnswer = Type.Object({
  count: Type.Integer(),
  nodes: Type.Array(Type.String(), { description: 'By name; those of the page, as in all that follows' }),
  restricted: Type.Array(Type.String(), { description: 'Nodes the caller may not run commands on' }),
  approval: Type.Boolean({ description: 'It would wait for others to agree, as a policy of approval wants it' }),
  refusals: Type.Array(
    Type.Object({
      node_name: Type.String(),
      why: Type.Unsafe<(typeof REFUSALS)[number]>(Type.Union(REFUSALS.map((why) => Type.Literal(why)))),
      reason: Type.String({ description: 'The same for people' }),
    }),
    { description: 'Nodes that would not run it now, by name' },
  ),
  uncertain: Type.Array(Type.String(), {
    description: 'Of the others, those that do not tell what they allow, or whose answer hangs on what only they know',
  }),
  doubts: Type.Array(Type.Object({ node_name: Type.String(), reason: Type.String() }), {
    description: 'Why it is not known, of each of these',
  }),
  counts: Type.Object(
    {
      asked: whole('Nodes that would be asked'),
      uncertain: whole('Of them, those that may refuse'),
      no_right: whole('Nodes that would refuse, or not be asked, by why'),
      unknown: whole(''),
      down: whole(''),
      rehab: whole(''),
      busy: whole(''),
      not_allowed: whole(''),
    },
    { description: 'Of all nodes, not of those of the page alone' },
  ),
  quorum: Type.Object(
    {
      needed: whole('Nodes that must be ready'),
      least: whole('Nodes that say that they can'),
      most: whole('With those that may refuse, and those in use that are waited for (when_busy)'),
      verdict: Type.Union([Type.Literal('reachable'), Type.Literal('perhaps'), Type.Literal('unreachable')], {
        description: 'perhaps: only with nodes that may refuse, or that are waited for',
      }),
      waits: Type.Boolean({
        description: 'Nodes that are busy or in rehab are waited for, and refuse only when that took too long',
      }),
    },
    { description: 'Whether enough would be ready, as things stand' },
  ),
  ...batchFields,
});

export const EventStreamAnswer = { content: { 'text/event-stream': { schema: Type.String() } } };
