import { EXIT } from '@muster/wire';
import type { Command } from 'commander';
import { type Call, does, type Shell, subcommand } from '../shell.js';

interface ServerOptions {
  readonly config?: string;
  readonly checkConfig?: boolean;
}

/** The flags come from the configuration schema, which only the server package knows; it is loaded when needed. */
export async function addServer(program: Command, shell: Shell, withFlags: boolean): Promise<void> {
  const command = subcommand(program, {
    usage: 'server',
    summary: 'the server: API, push controller, everything in one process',
    examples: [
      'muster server',
      'muster server --data-dir /var/lib/muster --http 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem',
      'muster server --database-url postgres://muster@db/muster',
      'muster server --config /etc/muster/server.yaml --check-config',
    ],
  });
  command
    .option('--config <file>', 'settings of the server, JSON or YAML')
    .option('--check-config', 'print the settings that would be used, and stop');
  if (withFlags) {
    const { describeConfig } = await import('@muster/server');
    for (const row of describeConfig()) {
      const flag = row.type === 'boolean' ? row.flag : `${row.flag} <${row.type}>`;
      command.option(flag, row.description + (row.default === undefined ? '' : ` (default: ${row.default})`));
    }
  }
  does<ServerOptions>(command, shell, serve);
}

async function serve(call: Call<ServerOptions>): Promise<number> {
  const { loadConfig, redactConfig, startServer } = await import('@muster/server');
  const { config: file, checkConfig, ...flags } = call.options;
  const config = loadConfig({ file, env: call.world.env, flags });
  if (checkConfig === true) {
    call.world.stdout.write(`${JSON.stringify(redactConfig(config), null, 2)}\n`);
    return EXIT.ok;
  }
  const server = await startServer(config);
  await new Promise<void>((resolve) => call.world.onSignal(() => resolve()));
  await server.stop();
  return EXIT.ok;
}
