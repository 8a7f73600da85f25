import { type Command, Option } from 'commander';
import { clientCommand, does, type Shell } from '../../shell.js';
import { chainOfServer, headingOf, type OfServer, type Sealed } from './chain.js';

/** RFC 5424: facility 13 is that of audits; severity 6 informs, 4 warns. */
const INFORMS = 13 * 8 + 6;
const WARNS = 13 * 8 + 4;

interface ExportOptions extends OfServer {
  readonly format: 'lines' | 'syslog';
  readonly afterSeal: number;
}

export function addExport(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'export',
    summary: 'the whole audit with its seals, to be kept elsewhere',
    examples: [
      'muster audit export > audit.jsonl',
      'muster audit verify audit.jsonl',
      'muster audit export --format syslog --after-seal 120 | nc -q1 logs.example.com 601',
    ],
  });
  command
    .addOption(
      new Option('--format <format>', 'lines: JSON lines, which `audit verify` reads; syslog: RFC 5424, a line each')
        .choices(['lines', 'syslog'])
        .default('lines'),
    )
    .option('--after-seal <n>', 'only what was sealed after this seal; `audit verify` wants all', Number, 0)
    .option('--of-server', 'of what concerns the whole server, and no one organization (server administrators)');
  does<ExportOptions>(command, shell, async (call) => {
    const { format, afterSeal } = call.options;
    const chain = await chainOfServer(call);
    const { hostname } = new URL(call.settings.url);
    const { stdout } = call.world;
    if (format === 'lines') stdout.write(`${JSON.stringify(headingOf(chain))}\n`);
    for await (const sealed of chain.sealed) {
      if (sealed.seal.number <= afterSeal) continue;
      const lines =
        format === 'lines'
          ? [...sealed.entries, sealText(sealed)]
          : sealed.entries.map((entry) => syslogLine(entry, hostname));
      stdout.write(`${lines.join('\n')}\n`);
    }
  });
}

function sealText({ seal }: Sealed): string {
  return JSON.stringify({ seal });
}

/** The entry itself is the message. */
export function syslogLine(entry: string, host: string): string {
  const { at, action, outcome } = JSON.parse(entry) as { at: string; action: string; outcome: string };
  return `<${outcome === 'done' ? INFORMS : WARNS}>1 ${at} ${host} muster - ${action} - ${entry}`;
}
