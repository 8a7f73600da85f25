import { type Static, Type } from 'typebox';
import { APPROVAL_LIMITS } from '../approvals/limits.js';
import { AskedAnswer } from '../approvals/schemas.js';
import { JobBody, PreviewAnswer } from '../routes/schemas.js';
import { PARAMETER_TYPES, type ParameterType } from './definition.js';
import { RUNBOOK_LIMITS } from './limits.js';
import { RUNBOOK_NAME } from './names.js';

/** Shapes of requests and answers, for validation and for /openapi.json. */

const STRICT = { additionalProperties: false } as const;

const segment = () => Type.String({ minLength: 1, maxLength: 255 });
export const OrgParams = Type.Object({ org: segment() });
export const RunbookParams = Type.Object({ org: segment(), runbook: segment() });

const text = (description: string, maxLength: number) => Type.Optional(Type.String({ description, maxLength }));
const list = (description: string, maxItems: number) =>
  Type.Optional(Type.Array(Type.String(), { description, maxItems }));
const number = (description: string) => Type.Optional(Type.Number({ description }));
const length = (description: string) => Type.Optional(Type.Integer({ description, minimum: 0 }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const value = (description: string) => Type.Union([Type.String(), Type.Number()], { description });

const ParameterBody = Type.Object(
  {
    type: Type.Unsafe<ParameterType>(Type.Union(PARAMETER_TYPES.map((type) => Type.Literal(type)))),
    description: text('What it is for', RUNBOOK_LIMITS.description),
    required: flag('False: it may be left out. True unless it is given, or there is a default'),
    default: Type.Optional(value('What it is when nothing is given; not of secrets and files')),
    choices: list('Of a `choice`', RUNBOOK_LIMITS.choices),
    min: number('Of a `number`'),
    max: number('Of a `number`'),
    whole: flag('Of a `number`: no fractions'),
    min_length: length('Least characters'),
    max_length: length('Most characters'),
    characters: text('Of a `string`: those that may occur, and ranges of them, such as `a-z0-9._-`', 200),
    leading_dash: flag('Of a `string`: it may begin with `-`, so that a program takes it for an option'),
  },
  STRICT,
);

const DEFINITION = {
  description: text('What it does', RUNBOOK_LIMITS.description),
  command: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description:
        'A text, as the command of a push job; or a list of a program and its arguments, which no shell reads, and in which parameters stand as `{{name}}`',
    }),
  ),
  script: Type.Optional(Type.String({ description: 'In the place of a command: the text of a script' })),
  args: list('Of the script; parameters stand in them as `{{name}}`', 256),
  signature: text('Of the script and its arguments, as of a push job, where no argument is a parameter', 2000),
  file: Type.Optional(
    Type.String({ description: 'What is handed to the command as a file; parameters stand in it as `{{name}}`' }),
  ),
  parameters: Type.Optional(Type.Record(Type.String(), ParameterBody, { description: 'By name' })),
  available: flag('In the place of a quorum: whoever is up and accepts runs it'),
  runners: list(
    'Who may run it, without any further right: `alice`, `group:NAME`, `client:NAME`',
    RUNBOOK_LIMITS.runners,
  ),
  approval: Type.Optional(
    Type.Object(
      {
        by: list(
          'Who may grant it, and nobody else: as `runners`; unless given, those who have `push:write`',
          APPROVAL_LIMITS.approvers,
        ),
        grants: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: APPROVAL_LIMITS.grants,
            description: 'How many others have to agree, one unless it is given',
          }),
        ),
        within: Type.Optional(
          Type.Number({
            minimum: APPROVAL_LIMITS.leastWithin,
            maximum: APPROVAL_LIMITS.mostWithin,
            description: 'How long a run waits for it (seconds), a day unless it is given',
          }),
        ),
      },
      { ...STRICT, description: 'A second person has to agree to each run' },
    ),
  ),
};

const { search, nodes, node_group } = JobBody.properties;
const { quorum, run_timeout, node_timeout, voting_timeout, ack_timeout } = JobBody.properties;
const { batches, batch_pause, batch_confirm, on_failures } = JobBody.properties;
const { when_busy, wait_timeout, concurrency, start_rate, max_failures, user, dir, env, secrets } = JobBody.properties;
const JOB = {
  search,
  nodes,
  node_group,
  quorum,
  run_timeout,
  node_timeout,
  voting_timeout,
  ack_timeout,
  when_busy,
  wait_timeout,
  batches,
  batch_pause,
  batch_confirm,
  on_failures,
  concurrency,
  start_rate,
  max_failures,
  user,
  dir,
  env,
  secrets,
};

const Name = Type.String({
  pattern: RUNBOOK_NAME,
  description: 'Letters, digits, `.`, `_` and `-`; unique in the organization',
});

export const RunbookBody = Type.Object({ name: Name, ...DEFINITION, ...JOB }, STRICT);
export const DefinitionBody = Type.Object({ ...DEFINITION, ...JOB }, STRICT);
export type DefinitionFields = Static<typeof DefinitionBody>;

export const RunBody = Type.Object(
  {
    parameters: Type.Optional(
      Type.Record(Type.String(), value('A number may be given as text'), { description: 'By name' }),
    ),
    version: Type.Optional(Type.Integer({ minimum: 1, description: 'The newest unless it is given' })),
  },
  STRICT,
);
export type RunFields = Static<typeof RunBody>;
export const VersionQuery = Type.Object(
  { version: Type.Optional(Type.Integer({ minimum: 1, description: 'The newest unless it is given' })) },
  STRICT,
);

const Time = Type.String({ format: 'date-time' });
const BRIEF = {
  id: Type.String(),
  name: Type.String(),
  version: Type.Integer(),
  description: Type.String(),
  author: Type.String({ description: 'Who made or last changed it: nodes are asked with their rights' }),
  created_at: Time,
  updated_at: Time,
};
export const RunbookListAnswer = Type.Array(
  Type.Object({ ...BRIEF, runnable: Type.Boolean({ description: 'The caller may run it' }) }),
);
export const RunbookAnswer = Type.Object({
  ...BRIEF,
  definition: Type.Object({}, { additionalProperties: true, description: 'As it was handed in' }),
  unknown: Type.Array(Type.String(), {
    description: 'Of `runners` and `approval.by`: who is not there, or not yet, as people who have still to sign in',
  }),
});
export const UpdatedAnswer = Type.Object({
  ...RunbookAnswer.properties,
  unchanged: Type.Boolean({ description: 'It was so already: there is no new version' }),
});
export const VersionsAnswer = Type.Array(
  Type.Object({ version: Type.Integer(), author: Type.String(), created_at: Time }),
);
export const PlanAnswer = Type.Object({
  name: Type.String(),
  version: Type.Integer(),
  command: Type.String({ description: 'As the push job shows it' }),
  parameters: Type.Record(Type.String(), Type.String(), {
    description: 'As they are recorded: of a secret `***`, of a file its hash',
  }),
  approval: Type.Boolean({ description: 'It would wait for a second person' }),
  target: Type.String(),
  nodes: Type.Array(Type.String()),
  restricted: Type.Array(Type.String(), { description: 'Nodes the author may not run commands on' }),
  refusals: PreviewAnswer.properties.refusals,
  uncertain: PreviewAnswer.properties.uncertain,
  doubts: PreviewAnswer.properties.doubts,
  quorum: PreviewAnswer.properties.quorum,
  batches: PreviewAnswer.properties.batches,
  batch_pause: PreviewAnswer.properties.batch_pause,
  batch_confirm: PreviewAnswer.properties.batch_confirm,
});
export { AskedAnswer };
export const Nothing = { 204: Type.Null({ description: 'Done' }) };
