import type { ParameterValue } from '../types.js';

export type ExecutionType = 'HPC' | 'CONDOR' | 'CLI';
export type Parallelism = 'SERIAL' | 'PARALLEL' | 'PTHREAD';
export type ParameterType = 'string' | 'number' | 'bool' | 'flag' | 'enumeration';

/** What inputs and parameters have in common. */
interface AppArgument {
  /** A safe name of a variable: its value reaches the program in one of that name (see `safe-names.ts`). */
  readonly id: string;
  /** False: its default is its value, and nobody gives another. */
  readonly visible: boolean;
  readonly required: boolean;
  /** Of its place among the others on a form; lower ones come first. */
  readonly order: number;
  /** A regular expression that each value matches from its beginning to its end. */
  readonly validator: string | null;
  /** Values are in double quotes where the template has them. */
  readonly enquote: boolean;
  readonly minCardinality: number;
  /** null: as many as one likes. */
  readonly maxCardinality: number | null;
  readonly label: string;
  readonly description: string;
  /** What stands before the value in the template, such as `--query `. */
  readonly argument: string;
  readonly showArgument: boolean;
  /** Of several values: before each, not only before the first. */
  readonly repeatArgument: boolean;
  readonly ontology: readonly string[];
}

/** A file, or several, that are staged into the work directory. */
export interface AppInput extends AppArgument {
  /** Paths on the app's storage system, or URIs. */
  readonly default: readonly string[];
  readonly fileTypes: readonly string[];
}

export interface AppParameter extends AppArgument {
  readonly type: ParameterType;
  readonly default: readonly ParameterValue[];
  /** Of an enumeration: what may be chosen, with what a form says of it. */
  readonly enumValues: readonly { readonly value: string; readonly label: string }[];
}

/** What is run. */
export type Program =
  /** Program and arguments. `${ID}` in one stands for that input's or parameter's value, and for a macro's (sheet §1.5). */
  | { readonly kind: 'command'; readonly argv: readonly [string, ...string[]] }
  /** A wrapper script as it stands in the definition, with `${ID}` and macros to be replaced by quoted values. */
  | { readonly kind: 'template'; readonly text: string }
  /** A wrapper script in the deployment, by its path below `deployment.path`. */
  | { readonly kind: 'deployed'; readonly templatePath: string };

/** What can be run as a job, and what it takes: Agave's app. */
export interface App {
  readonly uuid: string;
  readonly orgId: string;
  /** `NAME-VERSION`. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly label: string;
  readonly shortDescription: string;
  readonly longDescription: string;
  readonly helpUri: string | null;
  readonly tags: readonly string[];
  readonly ontology: readonly string[];
  /** Modules of the execution system that are loaded before it runs. */
  readonly modules: readonly string[];
  /** Name of a system; null: the organization's default one. */
  readonly executionSystem: string | null;
  readonly executionType: ExecutionType;
  readonly parallelism: Parallelism;
  readonly checkpointable: boolean;
  readonly program: Program;
  /** Files that are staged beside the inputs. `system` null: the default system. */
  readonly deployment: { readonly system: string | null; readonly path: string } | null;
  /** What a job has that does not say (sheet §1.3). null: not said here either. */
  readonly defaults: {
    readonly queue: string | null;
    readonly nodeCount: number | null;
    readonly processorsPerNode: number | null;
    readonly memoryMb: number | null;
    readonly maxSeconds: number | null;
  };
  readonly inputs: readonly AppInput[];
  readonly parameters: readonly AppParameter[];
  readonly owner: string;
  /** Every user of the organization may run it, not its owner alone. */
  readonly isPublic: boolean;
  readonly enabled: boolean;
  readonly revision: number;
  readonly created: number;
  readonly lastUpdated: number;
}
