import { type Static, Type } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { readSettingsFile } from '../../config/sources.js';
import { MusterError } from '../../errors.js';
import { PROVIDER_LIMITS } from './limits.js';

const STRICT = { additionalProperties: false } as const;
const Text = Type.String({ minLength: 1, maxLength: PROVIDER_LIMITS.text });
const Path = Type.String({ pattern: '^[^/].*$|^$', maxLength: PROVIDER_LIMITS.text });

const COMMON = {
  /** Which organizations may name it: no other reaches what it reaches. */
  organizations: Type.Array(Text, { minItems: 1, maxItems: PROVIDER_LIMITS.organizations }),
  /** Seconds for one value. */
  timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: PROVIDER_LIMITS.mostSeconds })),
};

const Command = Type.Object(
  {
    type: Type.Literal('command'),
    ...COMMON,
    /** Program and arguments; `{organization}` and `{reference}` in them are replaced. No shell. */
    command: Type.Array(Text, { minItems: 1, maxItems: 64 }),
  },
  STRICT,
);

const Vault = Type.Object(
  {
    type: Type.Literal('vault'),
    ...COMMON,
    address: Text,
    /** Of the KV engine, version 2. */
    mount: Type.Optional(Text),
    /** References are below it; `{organization}` is replaced. */
    path: Type.Optional(Path),
    namespace: Type.Optional(Text),
    /** PEM file of the authority that signed its certificate. */
    ca: Type.Optional(Text),
    /** It may be at a private address, whatever `outbound.private_targets` says. */
    private: Type.Optional(Type.Boolean()),
    token_file: Type.Optional(Text),
    app_role: Type.Optional(Type.Object({ role_id: Text, secret_id_file: Text, mount: Type.Optional(Text) }, STRICT)),
  },
  STRICT,
);

export type CommandDefinition = Static<typeof Command>;
export type VaultDefinition = Static<typeof Vault>;
export type ProviderDefinition = CommandDefinition | VaultDefinition;

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/;

/** The file of providers, which the owner of the server writes. @throws MusterError `invalid_configuration` that says what is wrong with it */
export function readProviders(file: string): ReadonlyMap<string, ProviderDefinition> {
  const tree = readSettingsFile(file);
  const refuse = (reason: string): never => {
    throw new MusterError('invalid_configuration', { reason: `${file}: ${reason}` });
  };
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) {
    return refuse('expected an object: {NAME: {type: command or vault, …}}');
  }
  const providers = new Map<string, ProviderDefinition>();
  for (const [name, definition] of Object.entries(tree)) {
    if (!NAME.test(name)) refuse(`'${name.slice(0, 100)}' is no name: letters, digits and _ . -`);
    providers.set(name, definitionOf(name, definition, refuse));
  }
  if (providers.size > PROVIDER_LIMITS.providers) refuse(`at most ${PROVIDER_LIMITS.providers} providers`);
  return providers;
}

function definitionOf(name: string, given: unknown, refuse: (reason: string) => never): ProviderDefinition {
  const type: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, 'type') : undefined;
  if (type !== 'command' && type !== 'vault') return refuse(`${name}.type must be command or vault`);
  const schema = type === 'command' ? Command : Vault;
  if (!Check(schema, given)) {
    const [problem] = Errors(schema, given);
    const at = problem?.instancePath.replaceAll('/', '.') ?? '';
    return refuse(`${name}${at}: ${problem?.message ?? 'is not as it must be'}`);
  }
  const definition: ProviderDefinition = given;
  if (definition.type === 'vault') checkVault(name, definition, refuse);
  return definition;
}

function checkVault(name: string, { address, token_file, app_role }: VaultDefinition, refuse: (why: string) => never) {
  if (!URL.canParse(address)) refuse(`${name}.address is no URL`);
  const { protocol, hostname, username, password } = new URL(address);
  const here = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && here)) {
    refuse(`${name}.address must begin with https://; http:// only on this machine`);
  }
  if (username !== '' || password !== '') refuse(`${name}.address must not hold a password: see token_file`);
  if ((token_file === undefined) === (app_role === undefined)) refuse(`${name} needs one of token_file and app_role`);
}
