import { SECRET_LIMITS, SECRET_NAME } from '@muster/platform/secrets';
import type { CommandOptions } from '@muster/wire';
import { type Body, has, invalid, isObject } from './fields.js';

const NAME = new RegExp(SECRET_NAME);
const VARIABLE = /^(?:[A-Za-z_][A-Za-z0-9_]{0,99})?$/;

/** `secrets` of a POST jobs body: names of secrets, each with the variable that names its file, or ''. @throws MusterError `invalid_field` */
export function readSecrets(body: Body): Pick<CommandOptions, 'secrets'> {
  if (!has(body, 'secrets')) return {};
  const { secrets } = body;
  if (!isObject(secrets)) throw invalid('secrets', 'must be an object: {"NAME": "VARIABLE"}');
  if (has(body, 'fetch')) throw invalid('secrets', 'must not be given with fetch');
  const named = Object.entries(secrets);
  const most = SECRET_LIMITS.perJob;
  if (named.length === 0 || named.length > most) throw invalid('secrets', `must be 1 to ${most}`);
  const variables = new Set(isObject(body.env) ? Object.keys(body.env) : []);
  return {
    secrets: Object.fromEntries(
      named.map(([name, variable]) => {
        const field = `secrets.${name.slice(0, 64)}`;
        if (!NAME.test(name)) throw invalid(field, 'is no name of a secret');
        if (typeof variable !== 'string' || !VARIABLE.test(variable)) {
          throw invalid(field, 'must be the name of a variable, or ""');
        }
        if (variable !== '' && variables.has(variable)) throw invalid(field, `${variable} is set twice`);
        variables.add(variable);
        return [name, variable] as const;
      }),
    ),
  };
}
