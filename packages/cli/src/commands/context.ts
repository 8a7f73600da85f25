import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import {
  contextFile,
  contextNames,
  currentContext,
  mustExist,
  removeContext,
  useContext,
  writeContext,
} from '../contexts.js';
import { MusterError } from '../errors.js';
import { nameOf, textOf } from '../files.js';
import { checkContext, mustBeOf, readSettings, SETTING_KEYS, type SettingsOfFile, serverUrl } from '../settings.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { shownToken } from '../shown-token.js';
import { type KeptSignIn, keptSignIn } from '../sign-ins.js';
import type { World } from '../world.js';
import { addList, tellDone } from './resource.js';

interface Context {
  readonly name: string;
  readonly used: boolean;
  readonly url: string | null;
  readonly org: string;
  /** Whose the key or the sign-in is; null: nobody's, or a token's, which only the server knows. */
  readonly user: string | null;
  /** Why it cannot be used; null: nothing is known against it. */
  readonly problem: string | null;
}

interface AddFlags {
  readonly from?: string;
  readonly url?: string;
  readonly org?: string;
  readonly user?: string;
  readonly key?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  /** One of the flags of all commands. */
  readonly ca?: string;
}

export function addContext(program: Command, shell: Shell): void {
  const context = subcommand(program, {
    usage: 'context',
    summary: 'servers that one works with, under names',
    examples: [
      'muster context add prod --url https://muster.example.com --user alice --key alice.pem',
      'muster context use prod',
    ],
  });
  addAdd(context, shell);
  addList<Context>(context, shell, {
    summary: 'contexts, and which is in use',
    examples: ['muster context list'],
    read: async ({ world, out }) => {
      const contexts = contextNames(world).map((name) => contextOf(world, name));
      for (const { name, problem } of contexts) {
        if (problem === null) continue;
        out.note(`context ${name} cannot be used: ${problem}; \`muster context rm ${name}\` removes it`);
      }
      return contexts;
    },
    columns: {
      '': ({ used, problem }) => `${used ? '*' : ''}${problem === null ? '' : '!'}`,
      Name: ({ name }) => name,
      URL: ({ url }) => url ?? '-',
      Organization: ({ org }) => org,
      User: ({ user }) => user ?? '-',
    },
    none: 'There are none. `muster context add NAME --url URL --user NAME --key FILE` makes one.',
  });
  addUse(context, shell);
  const remove = clientCommand(context, {
    usage: 'rm <name>',
    summary: 'forget a context; keys and what is on the server stay',
    examples: ['muster context rm staging'],
  });
  does<object>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    removeContext(call.world, name);
    tellDone(call, { document: { name, removed: true }, line: `removed context ${name}` });
  });
}

function addAdd(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'add <name>',
    summary: 'keep the settings of a server under a name; the first one is used at once',
    examples: [
      'muster context add prod --url https://muster.example.com --user alice --key alice.pem',
      'muster context add staging --from /etc/muster/staging.yaml',
      'muster context add work --url https://muster.example.com --org ops',
      'muster context add ci --url https://muster.example.com --token-file ci.token',
    ],
  });
  command
    .option('--from <file>', 'a settings file, whose settings are taken over')
    .option('--url <url>', 'URL of the server')
    .option('--org <name>', 'organization; default when absent')
    .option(
      '--user <name>',
      'who signs, or whose token it is for `muster event`: nothing proves that before, and `context list` leaves it out',
    )
    .option('--key <file>', 'its private key, a PEM file that stays where it is')
    .option(
      '--token-file <file>',
      'a bearer token instead of a key, which is kept with the settings; -: standard input',
    )
    .addOption(new Option('--token <token>').hideHelp());
  does<AddFlags>(command, shell, async (call) => {
    const { world, options, args } = call;
    const [name = ''] = args;
    const { from, url, org, user, key, ca } = options;
    const token = await tokenOf(call);
    const taken = from === undefined ? {} : readSettings(resolve(world.cwd, from));
    const at = (path: string | undefined) => (path === undefined ? undefined : resolve(world.cwd, path));
    const given = { url, org, user, key: at(key), token, ca: at(ca) };
    const settings: Record<string, string> = {};
    for (const setting of SETTING_KEYS) {
      const value = (setting === 'confirm_above' ? undefined : given[setting]) ?? taken[setting];
      if (value !== undefined) settings[setting] = value;
    }
    checkContext(settings);
    checkUser(settings);
    writeContext(world, name, stringify(settings));
    if (currentContext(world) === undefined) useContext(world, name);
    const context = contextOf(world, name);
    tellDone(call, { document: context, line: `added context ${name}${context.used ? ', which is in use now' : ''}` });
  });
}

/** Whoever signs in is who asks: a name beside that would say somebody else. @throws MusterError `usage` */
function checkUser({ user, key, token }: SettingsOfFile): void {
  if (user === undefined || key !== undefined || token !== undefined) return;
  const reason = `nothing proves that you are ${user}: give --key FILE, or --token-file FILE, or leave the user out and \`muster login\``;
  throw new MusterError('usage', { reason });
}

async function tokenOf({ world, options: { token, tokenFile } }: Call<AddFlags>): Promise<string | undefined> {
  if (token !== undefined) throw shownToken('--token', 'you');
  if (tokenFile === undefined) return undefined;
  const given = (await textOf(world, tokenFile)).trim();
  if (/^\S+$/.test(given)) return given;
  throw new MusterError('usage', { reason: `${nameOf(tokenFile)} does not hold one token` });
}

function addUse(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'use <name>',
    summary: 'use a context from now on, where neither --context, --config nor a variable says another',
    examples: ['muster context use prod'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    mustExist(call.world, name);
    const context = { ...contextOf(call.world, name), used: true };
    if (context.problem !== null)
      throw new MusterError('usage', { reason: `context ${name} cannot be used: ${context.problem}` });
    useContext(call.world, name);
    tellDone(call, { document: context, line: `using context ${name}: ${context.url}` });
  });
}

/** Also of one that cannot be used, as far as its file tells. */
function contextOf(world: World, name: string): Context {
  const used = currentContext(world) === name;
  let settings: SettingsOfFile = {};
  let signedIn: KeptSignIn | undefined;
  let problem: string | null = null;
  try {
    settings = readSettings(contextFile(world, name));
    checkContext(settings);
    signedIn = signInOf(world, settings);
    if (signedIn !== undefined) mustBeOf(signedIn, settings.user);
  } catch (error) {
    if (!(error instanceof MusterError)) throw error;
    problem = error.message;
  }
  const { url = null, org = 'default', user, token } = settings;
  const known = token === undefined ? (user ?? signedIn?.user ?? null) : null;
  return { name, used, url, org, user: known, problem };
}

function signInOf(world: World, { url, org = 'default', key, token }: SettingsOfFile): KeptSignIn | undefined {
  if (url === undefined || key !== undefined || token !== undefined) return undefined;
  return keptSignIn(world, { url: serverUrl(url), org });
}
