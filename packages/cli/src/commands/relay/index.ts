import { type Command, Option } from 'commander';
import { collect, does, type Shell, subcommand } from '../../shell.js';
import { type RelayFlags, runRelay } from './run.js';
import { type StatusFlags, showStatus } from './status.js';

export function addRelay(program: Command, shell: Shell): void {
  const relay = subcommand(program, {
    usage: 'relay',
    summary: 'the relay: a client of one server or relay above, a server to many event clients below',
    examples: [
      'MUSTER_TOKEN=TOKEN muster relay --upstream stomp://muster:61613 --listen 127.0.0.1:61623 --login default/relay1',
      'muster relay --upstream stomp+tls://muster:61613 --listen 0.0.0.0:61613 --insecure --login default/relay1 --key relay1.pem',
      'muster relay status',
    ],
  });
  // `muster relay` alone runs it.
  const run = subcommand(
    relay,
    {
      usage: 'run',
      summary: 'run a relay until it is stopped (what `muster relay` alone does); --help lists its options',
      examples: [
        'muster relay run --upstream stomp://muster:61613 --login default/relay1 --passcode-file /etc/muster/relay.token',
        'muster relay run --upstream stomp://rabbit:61613 --anonymous --login guest --passcode guest',
      ],
    },
    { isDefault: true },
  );
  run
    .option('--upstream <url>', 'what is above: stomp://HOST:PORT, stomp+tls://, ws:// or wss://')
    .option(
      '--listen <address>',
      'where clients connect: HOST:PORT or such a URL; may be repeated (default: 127.0.0.1:61613)',
      collect,
    )
    .option('--login <org/name>', 'user, service or node that the relay is to what is above')
    .option('--passcode <token>', 'its access token; better in MUSTER_TOKEN or a file, as others see command lines')
    .option('--passcode-file <file>', 'file with the token, read at each attempt to connect')
    .option('--key <file>', 'private key to log in with, instead of a token')
    .option('--anonymous', 'upstream is no Muster and knows no logins of ours: whoever connects may do everything')
    .option('--virtual-host <name>', 'header host for a broker with virtual hosts (default: / with --anonymous)')
    .option('--tls-cert <file>', 'certificate (PEM) for stomp+tls:// and wss:// addresses to listen on')
    .option('--tls-key <file>', 'its private key')
    .option(
      '--ca <file>',
      'PEM file of the authority that signed the certificate of what is above (default: MUSTER_CA)',
    )
    .option('--insecure', 'listen without TLS beyond this machine')
    .option('--workers <count>', 'processes that share the load, each with its own connection upstream (default: 1)')
    .option('--status <address>', 'HOST:PORT of an HTTP server for /status and /metrics (default: none)')
    .option('--retry <duration>', 'between two attempts to reach upstream, give or take half (default: 5s)')
    .option('--send-timeout <duration>', 'for upstream to confirm an event (default: 10s)')
    .option('--heart-beat <duration>', 'offered both ways; a peer is dead after two of them in silence (default: 30s)')
    .option(
      '--max-event <size>',
      'largest event: type, attributes and body (default: as on the server, 4KiB below another broker)',
    )
    .option('--max-queued <size>', 'unsent bytes per client before it counts as slow (default: 8MiB)')
    .option('--json', 'changes nothing: logs are JSON anyway')
    .addOption(
      new Option('--log-level <level>', 'least important line that is logged')
        .choices(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    );
  does<RelayFlags>(run, shell, runRelay);

  const status = subcommand(relay, {
    usage: 'status',
    summary: 'show the relays that run here: upstream, clients, rates, drops with cause',
    examples: ['muster relay status', 'muster relay status --status http://10.0.0.5:61614 --json'],
  })
    .option('--status <address>', 'a relay elsewhere: URL or HOST:PORT of its --status, or the path of its socket')
    .option('--json', 'JSON instead of text');
  does<StatusFlags>(status, shell, showStatus);
}
