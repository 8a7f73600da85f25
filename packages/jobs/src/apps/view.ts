import { runTimeText } from '../definition/quantities.js';
import type { ParameterValue } from '../types.js';
import type { App, AppInput, AppParameter } from './types.js';

const time = (ms: number): string => new Date(ms).toISOString();
const link = (href: string) => ({ href });

/** As Agave lists apps. @param root Before `/apps/v2`. */
export function appSummary(app: App, root: string) {
  return {
    id: app.id,
    name: app.name,
    version: app.version,
    revision: app.revision,
    label: app.label,
    shortDescription: app.shortDescription,
    executionSystem: app.executionSystem,
    isPublic: app.isPublic,
    lastModified: time(app.lastUpdated),
    _links: { self: link(`${root}/apps/v2/${encodeURIComponent(app.id)}`) },
  };
}

/** One app, as Agave shows it: what it takes to register it again. */
export function appView(app: App, root: string) {
  const { program, deployment, defaults } = app;
  return {
    ...appSummary(app, root),
    uuid: app.uuid,
    owner: app.owner,
    longDescription: app.longDescription,
    helpURI: app.helpUri,
    tags: app.tags,
    ontology: app.ontology,
    modules: app.modules,
    available: app.enabled,
    enabled: app.enabled,
    executionType: app.executionType,
    parallelism: app.parallelism,
    checkpointable: app.checkpointable,
    deploymentPath: deployment?.path ?? null,
    deploymentSystem: deployment?.system ?? null,
    templatePath: program.kind === 'deployed' ? program.templatePath : null,
    template: program.kind === 'template' ? program.text : null,
    command: program.kind === 'command' ? program.argv : null,
    defaultQueue: defaults.queue,
    defaultNodeCount: defaults.nodeCount,
    defaultProcessorsPerNode: defaults.processorsPerNode,
    defaultMemoryPerNode: defaults.memoryMb === null ? null : defaults.memoryMb / 1024,
    defaultMaxRunTime: defaults.maxSeconds === null ? null : runTimeText(defaults.maxSeconds),
    inputs: app.inputs.map((input) => ({
      ...argumentView(input, {}),
      semantics: { ...semantics(input), fileTypes: input.fileTypes },
    })),
    parameters: app.parameters.map((parameter) => ({
      ...argumentView(parameter, parameterFields(parameter)),
      semantics: semantics(parameter),
    })),
    _links: {
      self: link(`${root}/apps/v2/${encodeURIComponent(app.id)}`),
      ...(app.executionSystem !== null && {
        executionSystem: link(`${root}/systems/v2/${encodeURIComponent(app.executionSystem)}`),
      }),
    },
  };
}

function argumentView(argument: AppInput | AppParameter, more: object) {
  const { id, visible, required, order, validator, enquote, label, description } = argument;
  const { argument: before, showArgument, repeatArgument } = argument;
  return {
    id,
    value: { visible, required, order, validator, enquote, default: single(argument.default), ...more },
    details: { label, description, argument: before === '' ? null : before, showArgument, repeatArgument },
  };
}

function parameterFields({ type, enumValues }: AppParameter) {
  if (type !== 'enumeration') return { type };
  return { type, enum_values: enumValues.map(({ value, label }) => ({ [value]: label })) };
}

function semantics({ minCardinality, maxCardinality, ontology }: AppInput | AppParameter) {
  return { minCardinality, maxCardinality: maxCardinality ?? -1, ontology };
}

function single(values: readonly ParameterValue[]): ParameterValue | readonly ParameterValue[] | null {
  return values.length > 1 ? values : (values[0] ?? null);
}
