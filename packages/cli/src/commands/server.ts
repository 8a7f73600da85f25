import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { type Call, does, type Shell, subcommand } from '../shell.js';
import { runUntil, toldToStop } from '../stopping.js';

interface ServerFlags {
  readonly config?: string;
  readonly checkConfig?: boolean;
  /** False: given. */
  readonly workers?: boolean;
  readonly json?: boolean;
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
      'muster server --database-url postgres://muster@db/muster --broker-url amqp://muster@mq --no-workers',
      'muster server --cluster --database-url postgres://muster@db/muster --name a.example.com   # one of several',
      'muster server --config /etc/muster/server.yaml --check-config',
    ],
  });
  command
    .option('--config <file>', 'settings of the server, JSON or YAML')
    .option(
      '--check-config',
      'check settings, certificates and key files, print the settings that would be used, as JSON, and stop',
    )
    .option('--no-workers', 'leave jobs to `muster worker`, as --jobs-slots 0 does')
    .option('--json', 'changes nothing: logs and settings are JSON anyway');
  if (withFlags) {
    const { describeConfig } = await import('@muster/platform/config');
    for (const { flag, type, description, default: fallback } of describeConfig()) {
      const about =
        fallback === undefined || fallback === 'false' ? description : `${description} (default: ${fallback})`;
      command.option(type === 'boolean' ? flag : `${flag} <${type}>`, about);
    }
    // After the flag that it turns off: so neither of them has a default of its own.
    command.option('--no-console', 'serve no web console');
  }
  does<ServerFlags>(command, shell, serve);
}

async function serve(call: Call<ServerFlags>): Promise<number> {
  const { expiredCertificates, loadConfig, redactConfig } = await import('@muster/platform/config');
  const { checkKeyFiles } = await import('@muster/platform/secrets');
  const { startClusterMember, startServer } = await import('@muster/server');
  const { config: file, checkConfig, workers, json: _, ...flags } = call.options;
  const none = workers === false ? { jobsSlots: '0' } : {};
  const config = loadConfig({ file, env: call.world.env, flags: { ...flags, ...none } });
  if (checkConfig === true) {
    checkKeyFiles(config);
    for (const warning of expiredCertificates(config, call.world.now())) call.out.note(`warning: ${warning}`);
    call.world.stdout.write(`${JSON.stringify(redactConfig(config), null, 2)}\n`);
    return EXIT.ok;
  }
  const told = toldToStop(call.world);
  const start = config.cluster ? startClusterMember : startServer;
  const server = await start(config, { print: (line) => call.out.note(line) });
  await runUntil(told, server);
  return EXIT.ok;
}
