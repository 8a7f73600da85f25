import { Type } from 'typebox';

/** Systems in Agave's shape, for /openapi.json: what `agave.ts` makes. */

const text = (description = '') => Type.String(description === '' ? {} : { description });
const orNull = (type: ReturnType<typeof Type.String | typeof Type.Integer>, description = '') =>
  Type.Union([type, Type.Null()], description === '' ? {} : { description });
const Link = Type.Object({ href: text('Absolute') });

const PLACE = {
  type: text('local, ssh, agent or tasks'),
  host: orNull(Type.String(), 'Of type ssh'),
  node: orNull(Type.String(), 'Of type agent: the node whose agent reaches it'),
  queue: orNull(Type.String(), 'Of type tasks: the queue that runs its jobs'),
};
const LACKED = { description: 'What Agave’s shape lacks' };

const SUMMARY = {
  id: text('Its name'),
  name: text(),
  type: text('EXECUTION'),
  status: text('UP, or DOWN when it is disabled'),
  available: Type.Boolean({ description: 'It is enabled' }),
  public: Type.Boolean(),
  default: Type.Boolean({ description: 'Jobs that name none run there, and archive to it' }),
  muster: Type.Object(PLACE, LACKED),
  _links: Type.Object({ self: Link }),
};

const Auth = Type.Object({ type: text('SSHKEYS or LOCAL'), username: orNull(Type.String()) });
const ACCESS = { host: orNull(Type.String()), port: orNull(Type.Integer()), protocol: text(), auth: Auth };

export const SystemSummaryAnswer = Type.Object(SUMMARY);

export const SystemAnswer = Type.Object({
  ...SUMMARY,
  uuid: text(),
  owner: text(),
  executionType: text('HPC or CLI'),
  scheduler: text('FORK, SLURM or TASKS'),
  scratchDir: text('Below rootDir: where jobs work'),
  maxSystemJobs: orNull(Type.Integer()),
  maxSystemJobsPerUser: orNull(Type.Integer()),
  queues: Type.Array(
    Type.Object({
      name: text(),
      default: Type.Boolean(),
      maxJobs: orNull(Type.Integer()),
      maxUserJobs: orNull(Type.Integer()),
      maxNodes: orNull(Type.Integer()),
      maxProcessorsPerNode: orNull(Type.Integer()),
      maxMemoryPerNode: orNull(Type.String(), 'Such as 64GB'),
      maxRequestedTime: orNull(Type.String(), '`HH:mm:ss`'),
      customDirectives: text('Lines for the head of the batch script'),
    }),
    { description: 'Batch queues' },
  ),
  login: Type.Object(ACCESS),
  storage: Type.Object({ ...ACCESS, rootDir: text('Paths of users are below it'), homeDir: text() }),
  muster: Type.Object(
    {
      ...PLACE,
      scheduler: text('fork, slurm or tasks'),
      hostKey: orNull(Type.String(), 'SHA-256 of the host’s key, base64'),
      environment: Type.Record(Type.String(), Type.String()),
    },
    LACKED,
  ),
});
