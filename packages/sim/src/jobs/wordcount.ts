import type { App } from '@muster/jobs/parts';
import { APP, HPC, INPUT, ORG, STORAGE } from './organization.js';

const ARGUMENT = {
  visible: true,
  required: false,
  order: 0,
  validator: null,
  enquote: false,
  minCardinality: 0,
  maxCardinality: 1,
  label: '',
  description: '',
  argument: '',
  showArgument: false,
  repeatArgument: false,
  ontology: [],
} as const;

/** The one app that there is. */
export function appOf(enabled: boolean): App {
  return {
    uuid: 'app-uuid',
    orgId: ORG.id,
    id: APP,
    name: 'wc',
    version: '1.0',
    label: '',
    shortDescription: '',
    longDescription: '',
    helpUri: null,
    tags: [],
    ontology: [],
    modules: [],
    executionSystem: HPC,
    executionType: 'CLI',
    parallelism: 'SERIAL',
    checkpointable: false,
    program: { kind: 'command', argv: ['/usr/bin/wc', `\${data}`] },
    deployment: null,
    defaults: { queue: null, nodeCount: null, processorsPerNode: null, memoryMb: null, maxSeconds: null },
    inputs: [{ ...ARGUMENT, id: 'data', default: [], fileTypes: [] }],
    parameters: [],
    owner: 'anna',
    isPublic: true,
    enabled,
    revision: 1,
    created: 0,
    lastUpdated: 0,
  };
}

/** What people submit. */
export function requestOf(name: string, archive: boolean): object {
  return {
    name,
    appId: APP,
    inputs: { data: `agave://${STORAGE}/${INPUT.path}` },
    archive,
    ...(archive && { archivePath: '', archiveSystem: STORAGE }),
  };
}
