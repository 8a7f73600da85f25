import { text } from 'node:stream/consumers';
import type { AgentOptions } from '@muster/agent';
import type { UpgradeSupervisor } from '@muster/agent/supervisor';
import { EXIT, systemClock } from '@muster/base';
import { type Command, Option } from 'commander';
import { MusterError } from '../errors.js';
import { type Call, does, type Shell, subcommand } from '../shell.js';
import { shownToken } from '../shown-token.js';
import { toldToStop } from '../stopping.js';
import { addUpgrade } from './agent-upgrade.js';

interface AgentFlags {
  readonly server?: string;
  readonly org?: string;
  readonly name?: string;
  readonly key?: string;
  readonly enrollFile?: string;
  /** Refused. */
  readonly enroll?: string;
  readonly dataDir?: string;
  readonly config?: string;
  readonly logLevel: string;
}

export function addAgent(program: Command, shell: Shell): void {
  const agent = subcommand(program, {
    usage: 'agent',
    summary: 'the agent: runs on a managed node and executes commands',
    examples: [
      'muster agent --server https://muster:8443 --org default --name web1 --enroll-file /etc/muster/agent.token --data-dir /var/lib/muster-agent',
      'muster agent --config /etc/muster/agent.yaml',
      'muster agent doctor --config /etc/muster/agent.yaml',
      'muster agent upgrade role:web --to 1.2.3 --release release',
    ],
  });
  // `muster agent` alone runs it.
  const run = withAgentFlags(
    subcommand(
      agent,
      {
        usage: 'run',
        summary: 'run the agent until it is stopped; SIGHUP reads its configuration again, SIGUSR1 asks the server',
        examples: [
          'muster agent run --config /etc/muster/agent.yaml',
          'muster agent run --enroll-file - --server URL < token',
        ],
      },
      { isDefault: true },
    ),
  );
  run.addOption(
    new Option('--log-level <level>', 'least important line that is logged')
      .choices(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
      .default('info'),
  );
  does<AgentFlags>(run, shell, runAgent);

  const doctor = withAgentFlags(
    subcommand(agent, {
      usage: 'doctor',
      summary: 'check from this node everything an agent needs, in one paragraph; disturbs nothing',
      examples: ['muster agent doctor --config /etc/muster/agent.yaml'],
    }),
  );
  does<AgentFlags>(doctor, shell, examine);
  addUpgrade(agent, shell);
}

function withAgentFlags(command: Command): Command {
  return command
    .option('--server <url>', 'URL of the server')
    .option('--org <name>', 'organization (default: default)')
    .option('--name <name>', 'name of this node (default: the host name)')
    .option('--key <file>', 'private key (default: client.pem in the data directory)')
    .option(
      '--enroll-file <file>',
      'file with an enrolment token, - for standard input: make a key and register it; ignored while the server knows this node',
    )
    .addOption(new Option('--enroll <token>').hideHelp())
    .option('--data-dir <dir>', 'where key, incarnation and job files live (default: ./muster-agent)')
    .option('--config <file>', 'commands it accepts, labels and the settings above, JSON or YAML')
    .option('--json', 'JSON instead of text');
}

async function runAgent(call: Call<AgentFlags>): Promise<number> {
  const {
    createAgentLogger: loggerOf,
    ownSupervisor,
    superviseAgent,
    supervisionOf,
  } = await import('@muster/agent/supervisor');
  const supervisor = ownSupervisor();
  const { logLevel: level, ...asked } = call.options;
  const supervision = supervisor === null && asked.config !== undefined ? await supervisionOf(asked) : null;
  if (supervision === null) return runChild(call, supervisor);
  if (asked.enrollFile === '-') {
    throw new MusterError('usage', {
      reason:
        'an agent that may be upgraded (upgrade in its configuration) is started anew by itself, and standard input has the token only once; use --enroll-file FILE',
    });
  }
  const [file, script = '', ...words] = process.argv as [string, ...string[]];
  const installed = { file, args: [...process.execArgv, script] };
  const running = await superviseAgent(
    { ...supervision, installed, words },
    { clock: systemClock, logger: loggerOf(level) },
  );
  call.world.onSignal(['SIGINT', 'SIGTERM'], () => running.stop());
  call.world.onSignal(['SIGHUP', 'SIGUSR1'], (signal) => running.signal(signal));
  return running.ended;
}

async function runChild(call: Call<AgentFlags>, supervisor: UpgradeSupervisor | null): Promise<number> {
  const [{ createAgentLogger, startAgent }, { SYSTEM_HELPER }] = await Promise.all([
    import('@muster/agent'),
    import('@muster/jobs/system-helper'),
  ]);
  const { logLevel, ...flags } = call.options;
  const options = await withToken(call, flags);
  const leaving = new AbortController();
  const told = [toldToStop(call.world), ...(supervisor === null ? [] : [supervisor.toldToStop])];
  const stopped = Promise.race(told).then(() => leaving.abort());
  const starting = startAgent(
    { ...options, signal: leaving.signal },
    {
      clock: systemClock,
      logger: createAgentLogger(logLevel),
      random: Math.random,
      systemHelper: SYSTEM_HELPER,
      supervisor,
    },
  );
  const agent = await starting.catch((error: unknown) => {
    supervisor?.release();
    if (leaving.signal.aborted) return null;
    throw error;
  });
  if (agent === null) return EXIT.ok;
  call.world.onSignal(['SIGHUP'], () => void agent.reload());
  call.world.onSignal(['SIGUSR1'], () => agent.reconfigure());
  await Promise.race([stopped, agent.handedOver]);
  await agent.stop();
  supervisor?.release();
  return EXIT.ok;
}

async function withToken(
  { world }: Call<AgentFlags>,
  { enroll, enrollFile, ...options }: Omit<AgentFlags, 'logLevel'>,
): Promise<AgentOptions> {
  if (enroll !== undefined) throw shownToken('--enroll', 'the agent');
  if (enrollFile === undefined) return options;
  if (enrollFile !== '-') return { ...options, enrollFile };
  const { tokenOf } = await import('@muster/agent');
  return { ...options, enroll: tokenOf(await text(world.stdin), 'standard input') };
}

async function examine(call: Call<AgentFlags>): Promise<number> {
  const { doctor } = await import('@muster/agent');
  const { logLevel: _, enroll: __, enrollFile: ___, ...options } = call.options;
  const found = await doctor(options, systemClock);
  call.out.document(found);
  for (const { name, ok, warning, detail } of found.checks) {
    const result = warning ? 'warning' : ok ? 'ok' : 'failed';
    call.out.line(`${call.out.status(result)}${' '.repeat(9 - result.length)}${name}: ${detail}`);
  }
  call.out.line();
  call.out.line(found.paragraph);
  return found.ok ? EXIT.ok : EXIT.failed;
}
