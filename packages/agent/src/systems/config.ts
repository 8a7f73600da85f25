import { type Static, Type } from 'typebox';
import { SYSTEM_ROOTS } from '../limits.js';

/** Absolute, in its one spelling, and not the root of all. */
const ROOT = '^(/(?!\\.\\.?(/|$))[^/\\x00]+)+$';

export const SystemsSchema = Type.Object(
  {
    roots: Type.Array(Type.String({ pattern: ROOT, maxLength: 1024 }), {
      description: 'Directories that are there; systems are these, or below them. Files elsewhere are out of reach',
      minItems: 1,
      maxItems: SYSTEM_ROOTS,
    }),
    user: Type.String({
      description: 'Whom files and programs of jobs belong to. Programs may do whatever this user may',
      minLength: 1,
      maxLength: 64,
    }),
  },
  {
    additionalProperties: false,
    description: 'Execution systems of jobs on this node (type agent); none when absent',
  },
);

export type SystemsConfig = Static<typeof SystemsSchema>;

/** The directory of the owner's that a root is, or is below. Else why it is refused. */
export function allowedRoot(
  config: SystemsConfig | undefined,
  root: string,
): { readonly within: string } | { readonly refused: string } {
  if (config === undefined) {
    return {
      refused:
        'no execution systems of jobs are allowed on this node; its owner allows them with systems in agent.yaml, ' +
        'such as systems: {roots: [/scratch/jobs], user: jobs}',
    };
  }
  const within = config.roots.find((allowed) => root === allowed || root.startsWith(`${allowed}/`));
  if (within !== undefined && new RegExp(ROOT).test(root)) return { within };
  return { refused: `'${root}' is not below ${config.roots.join(', ')}: see systems.roots in agent.yaml` };
}
