import { ENV_VARIABLES } from '../limits.js';
import { isDangerous } from './dangerous-names.js';

/** Which variables whoever asks for a command may set for it: the decision of the node's owner. */
export interface VariableRules {
  /** Names, and prefixes that end with `*`. */
  readonly allowed: readonly string[];
  /** Names of Chef's `allowed_overwritable_env_vars`. When there are any, other variables are renamed (sheet §6.6). */
  readonly overwritable: readonly string[] | undefined;
  /** Where the names are allowed, as it is told who asked for another. */
  readonly place: string;
}

export type Variables = Readonly<Record<string, string>>;

const RENAMED = 'CHEF_PUSH_ENV_';
/** What a shell takes for a variable; `BASH_FUNC_x%%` is none. */
const PORTABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Null when the variables may be set, those that are renamed included. */
export function refuseVariables(env: Variables, rules: VariableRules): string | null {
  const names = Object.keys(env);
  if (names.length > ENV_VARIABLES) return `more than ${ENV_VARIABLES} environment variables`;
  for (const name of names) {
    const refusal = refuseForm(name, env[name] ?? '') ?? refuseName(name, rules);
    if (refusal !== null) return refusal;
  }
  return null;
}

function refuseForm(name: string, value: string): string | null {
  if (name === '' || name.includes('=') || name.includes('\0')) return `invalid environment variable name '${name}'`;
  if (value.includes('\0')) return `environment variable '${name}' contains a zero byte`;
  // Shells from before 2014 ran what followed such a function.
  return value.startsWith('() {') ? `environment variable '${name}' holds a shell function` : null;
}

function refuseName(name: string, rules: VariableRules): string | null {
  if (rules.overwritable !== undefined || isAllowed(name, rules)) return null;
  return isDangerous(name) || !PORTABLE.test(name)
    ? `environment variable '${name}' can change what a program runs; it is allowed only by its full name in allow_env of ${rules.place}`
    : `environment variable '${name}' is not allowed on this node; its owner allows names with allow_env in ${rules.place}`;
}

function isAllowed(name: string, { allowed, overwritable }: Omit<VariableRules, 'place'>): boolean {
  if (overwritable?.includes(name) === true) return true;
  if (!PORTABLE.test(name)) return false;
  const matches = (pattern: string) => pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1));
  return allowed.includes(name) || (!isDangerous(name) && allowed.some(matches));
}

/** The variables under the names they get. Only for those that were not refused. */
export function renamedVariables(env: Variables, rules: Omit<VariableRules, 'place'>): Record<string, string> {
  const renamed = Object.entries(env).map(([name, value]) => [isAllowed(name, rules) ? name : RENAMED + name, value]);
  return Object.fromEntries(renamed);
}
