import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import { tellTable } from './resource.js';

/** What commands print with `--json`; asks no server. Loaded when it is asked for: the schemas of all commands are a lot. */
export function addSchema(program: Command, shell: Shell): void {
  const command = clientCommand(program, {
    usage: 'schema [command...]',
    summary: 'the JSON Schema of what a command prints with --json; without one, which there are. Asks no server',
    examples: ['muster schema push list', 'muster schema', 'muster schema job show | jq .properties.status'],
  });
  does<object>(command, shell, async (call) => (call.args.length === 0 ? list(call) : show(call)));
}

async function list(call: Call<object>): Promise<void> {
  const { PRINTED } = await import('../json/printed.js');
  const known = Object.entries(PRINTED).map(([name, { as, note = null }]) => ({ command: name, as, note }));
  known.sort((one, other) => (one.command < other.command ? -1 : 1));
  call.out.document(known);
  tellTable(
    call,
    known,
    { Command: ({ command }) => command, Prints: ({ as }) => as, Note: ({ note }) => note },
    undefined,
    { fit: true },
  );
}

async function show({ args, world }: Call<object>): Promise<void> {
  const [{ PRINTED }, { answersOfRoutes, jsonSchema }] = await Promise.all([
    import('../json/printed.js'),
    import('../json/schema.js'),
  ]);
  const name = args.join(' ').replace(/^muster /, '');
  const printed = Object.hasOwn(PRINTED, name) ? PRINTED[name] : undefined;
  if (printed === undefined) {
    const below = Object.keys(PRINTED).filter((each) => each.startsWith(`${name} `));
    const advice = below.length === 0 ? 'muster schema lists those' : `of those below it do ${below.sort().join(', ')}`;
    throw new MusterError('usage', { reason: `no command \`muster ${name}\` prints JSON: ${advice}` });
  }
  world.stdout.write(`${JSON.stringify(jsonSchema(name, printed, answersOfRoutes()), null, 2)}\n`);
}
