import { Type } from 'typebox';

/** Apps in Agave's shape, for /openapi.json: what `view.ts` makes. */

const text = (description = '') => Type.String(description === '' ? {} : { description });
const orNull = (type: ReturnType<typeof Type.String | typeof Type.Integer | typeof Type.Number>, description = '') =>
  Type.Union([type, Type.Null()], description === '' ? {} : { description });
const texts = (description = '') => Type.Array(Type.String(), description === '' ? {} : { description });
const Link = Type.Object({ href: text('Absolute') });

const SUMMARY = {
  id: text('`NAME-VERSION`'),
  name: text(),
  version: text(),
  revision: Type.Integer({ description: 'How often this version was registered' }),
  label: text(),
  shortDescription: text(),
  executionSystem: orNull(Type.String(), 'null: the default one'),
  isPublic: Type.Boolean(),
  lastModified: text('ISO 8601'),
};

const SEMANTICS = {
  minCardinality: Type.Integer(),
  maxCardinality: Type.Integer({ description: '-1: as many as one likes' }),
  ontology: texts(),
};

const VALUE = {
  visible: Type.Boolean(),
  required: Type.Boolean(),
  order: Type.Integer(),
  validator: orNull(Type.String(), 'Regular expression'),
  enquote: Type.Boolean(),
  default: Type.Unknown({ description: 'A value, several, or null' }),
};

const Details = Type.Object({
  label: text(),
  description: text(),
  argument: orNull(Type.String(), 'What stands before the value'),
  showArgument: Type.Boolean(),
  repeatArgument: Type.Boolean(),
});

export const AppSummaryAnswer = Type.Object({ ...SUMMARY, _links: Type.Object({ self: Link }) });

export const AppAnswer = Type.Object({
  ...SUMMARY,
  uuid: text(),
  owner: text(),
  longDescription: text(),
  helpURI: orNull(Type.String()),
  tags: texts(),
  ontology: texts(),
  modules: texts('Loaded before it runs'),
  available: Type.Boolean(),
  enabled: Type.Boolean({ description: 'The same' }),
  executionType: text('HPC, CONDOR or CLI'),
  parallelism: text('SERIAL, PARALLEL or PTHREAD'),
  checkpointable: Type.Boolean(),
  deploymentPath: orNull(Type.String()),
  deploymentSystem: orNull(Type.String()),
  templatePath: orNull(Type.String(), 'Of its wrapper, below the deployment'),
  template: orNull(Type.String(), 'Its wrapper'),
  command: Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'Program and arguments' }),
  defaultQueue: orNull(Type.String()),
  defaultNodeCount: orNull(Type.Integer()),
  defaultProcessorsPerNode: orNull(Type.Integer()),
  defaultMemoryPerNode: orNull(Type.Number(), 'GB'),
  defaultMaxRunTime: orNull(Type.String(), '`HH:mm:ss`'),
  inputs: Type.Array(
    Type.Object({
      id: text(),
      value: Type.Object(VALUE),
      details: Details,
      semantics: Type.Object({ ...SEMANTICS, fileTypes: texts() }),
    }),
  ),
  parameters: Type.Array(
    Type.Object({
      id: text(),
      value: Type.Object({
        ...VALUE,
        type: text('string, number, bool, flag or enumeration'),
        enum_values: Type.Optional(Type.Array(Type.Record(Type.String(), Type.String()))),
      }),
      details: Details,
      semantics: Type.Object(SEMANTICS),
    }),
  ),
  _links: Type.Object({ self: Link, executionSystem: Type.Optional(Link) }),
});
