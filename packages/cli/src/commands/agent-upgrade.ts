import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { MusterError } from '../errors.js';
import { readingOf } from '../files.js';
import { MAX_SIGNED_BYTES } from '../limits.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import { bringFile } from './push/bring.js';
import { addOutputFlag, addStagingFlags } from './push/job-flags.js';
import { withJobId } from './push/job-id.js';
import { type LaunchOptions, launch } from './push/launch.js';
import { type JobOptions, requestWithoutCommand } from './push/request.js';
import { refuseQueryAsName } from './push/stray-query.js';
import { chooseTarget, type TargetOptions } from './push/target.js';

interface UpgradeFlags extends TargetOptions, JobOptions, LaunchOptions {
  readonly to: string;
  readonly release: string;
}

export function addUpgrade(agent: Command, shell: Shell): void {
  const command = clientCommand(agent, {
    usage: 'upgrade [query]',
    summary:
      'put a signed release in the place of the agents of nodes, as a push job; what does not come back is rolled back',
    examples: [
      'muster agent upgrade role:web --to 1.2.3 --release release --first 1 --then 10% --then rest --max-failures 0',
      "muster agent upgrade 'agent_version:1.2.2' --to 1.2.3 --release release --dry-run",
      'muster agent upgrade --node web1 --to 1.2.3 --release release --json',
      'muster node list --columns name,status,agent_version',
    ],
  });
  command
    .usage('[options] [QUERY]')
    .requiredOption('--to <version>', 'the version that is to run; of the release, and of every agent at the end')
    .requiredOption(
      '--release <directory>',
      'a signed release: muster, SHA256SUMS, SHA256SUMS.minisig and muster.pub, as `npm run release -- --sign` makes them',
    )
    .option('--node <name...>', 'these nodes')
    .option('--node-group <name>', 'the nodes of this group')
    .option('--from-job <id>', 'nodes of an earlier job …')
    .option('--job-status <status>', '… that ended so; several separated by commas');
  addOutputFlag(addStagingFlags(command))
    .addOption(new Option('--available', 'no quorum: the nodes that are up and accept').conflicts('quorum'))
    .option('--detach', 'do not wait for the end')
    .addOption(
      new Option('--dry-run', 'show which nodes would do it, which would refuse and why, and start nothing').conflicts(
        'detach',
      ),
    )
    .option('-y, --yes', 'do not ask, however many nodes it is');
  does<UpgradeFlags>(command, shell, upgrade);
}

async function upgrade(call: Call<UpgradeFlags>): Promise<number> {
  const { UPGRADE_COMMAND, UPGRADE_FILES, UPGRADE_PLACE } = await import('@muster/agent/release');
  const { to, release } = call.options;
  const directory = resolve(call.world.cwd, release);
  await checkRelease(directory, to);
  const { target } = await withJobId(call, chooseTarget(call.args, [], call.options));
  await refuseQueryAsName(call, call.options.node ?? []);
  const command = `${UPGRADE_COMMAND} ${to}`;
  const bring = async () => {
    const uploads = [];
    for (const name of UPGRADE_FILES) {
      uploads.push({ ...(await bringFile(call, join(directory, name))), dest: `${UPGRADE_PLACE}/${name}` });
    }
    return { command, uploads };
  };
  const body = requestWithoutCommand(target, call.options, call.world.cwd);
  return launch(call, target, body, { what: command, asks: { command, uploads: true }, bring });
}

/** What any node would refuse is not sent to all of them. @throws MusterError `usage` */
async function checkRelease(directory: string, version: string): Promise<void> {
  const { readMinisignKey, signedRelease } = await import('@muster/agent/release');
  const text = (name: string) => {
    const path = join(directory, name);
    return readingOf(path, () => {
      if (statSync(path).size > MAX_SIGNED_BYTES) throw new MusterError('usage', { reason: `${path} is too long` });
      return readFileSync(path, 'utf8');
    });
  };
  const [sums, signature, publicKey] = ['SHA256SUMS', 'SHA256SUMS.minisig', 'muster.pub'].map(text) as [
    string,
    string,
    string,
  ];
  const wrong = (reason: string) => new MusterError('usage', { reason: `${directory}: ${reason}` });
  let signed: ReturnType<typeof signedRelease>;
  try {
    signed = signedRelease(sums, signature, readMinisignKey(publicKey.split('\n')[1] ?? ''));
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
  if (signed.version !== version) throw wrong(`the release is version ${signed.version}, not ${version}`);
  const executable = join(directory, 'muster');
  if ((await hashOf(executable)) !== signed.sha256) throw wrong('the executable muster is not the one that is signed');
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  } catch (error) {
    throw new MusterError('usage', { reason: `cannot read ${path} (${(error as NodeJS.ErrnoException).code})` });
  }
  return hash.digest('hex');
}
