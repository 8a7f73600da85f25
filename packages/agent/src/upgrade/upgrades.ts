import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CommandOptions, UPGRADE_FILES, UPGRADE_PLACE, type UpgradeFile, upgradeFileAt } from '@muster/wire';
import type { AllowedPlace } from '../files/allowed-paths.js';
import { SELF_CHECK_MS, SIGNED_BYTES } from '../limits.js';
import type { AgentLog } from '../logging.js';
import { readSmallFile } from '../small-file.js';
import type { UpgradeEnd, UpgradeOutcome } from './end.js';
import { NO_UPGRADES, type UpgradePolicy } from './policy.js';
import { bootOfMachine, livingHosts, placesOf } from './records.js';
import { mistaken, type SignedRelease, signedRelease } from './release.js';
import type { UpgradeSupervisor } from './supervised.js';

export interface UpgradesSetup {
  readonly dataDir: string;
  readonly logger: AgentLog;
  /** What runs. */
  readonly version: string;
  readonly incarnation: string;
  readonly supervisor: UpgradeSupervisor;
  /** As its owner has it now; null: none. */
  readonly policy: () => UpgradePolicy | null;
  /** Whether processes have tasks that the server may not know to have begun. */
  readonly hasTasks: () => boolean;
  /** This agent stops, and its push job goes on in the next one. */
  readonly handOver: () => void;
}

export interface UpgradeOrder {
  readonly jobId: string;
  readonly version: string;
  readonly captured: boolean;
}

const failed = (reason: string): UpgradeOutcome => ({ outcome: 'failed', exitCode: null, signal: null, reason });

/** This agent's part of an upgrade: everything until the moment at which it ends. */
export class Upgrades {
  readonly #setup: UpgradesSetup;

  constructor(setup: UpgradesSetup) {
    this.#setup = setup;
  }

  /** Where a file of a release is kept until it is known to be right; null: it is none. */
  placeOf(dest: string): AllowedPlace | null {
    const name = upgradeFileAt(dest);
    return name === null ? null : { root: placesOf(this.#setup.dataDir).incoming, names: [name] };
  }

  /** Why the release that has come is not the one that was asked for, or not signed; null: it is. `at`: where its files are. */
  async refuse(
    version: string,
    { uploads = [] }: CommandOptions,
    at: (dest: string) => string | null,
  ): Promise<string | null> {
    const policy = this.#setup.policy();
    if (policy === null) return NO_UPGRADES;
    try {
      const release = await read(policy, (name) => at(`${UPGRADE_PLACE}/${name}`) ?? '');
      const executable = uploads.find(({ dest }) => upgradeFileAt(dest) === 'muster');
      return mistaken(release, version) ?? (executable?.sha256 === release.sha256 ? null : NOT_IT);
    } catch (error) {
      return refusal(error);
    }
  }

  /** Its files are in their place. @throws what may be wrong with the disk, and the reason of the signal when that is aborted */
  async run({ jobId, version, captured }: UpgradeOrder, signal: AbortSignal): Promise<UpgradeEnd> {
    const { dataDir, supervisor, incarnation, version: from, logger, hasTasks, handOver } = this.#setup;
    if (version === from) return { outcome: 'succeeded', exitCode: 0, signal: null, reason: null };
    const policy = this.#setup.policy();
    if (policy === null) return failed(NO_UPGRADES);
    const wrong = await this.#install(version, policy, signal);
    if (wrong !== null) return failed(wrong);
    const hosts = hasTasks() ? await livingHosts(dataDir) : [];
    const boot = await bootOfMachine();
    signal.throwIfAborted();
    const { probationMs } = policy;
    const change = { jobId, captured, from, to: version, incarnation, boot, hosts, probationMs };
    const refused = await supervisor.switchTo({ ...change, phase: 'tried', reason: null });
    if (refused !== null) return failed(`the upgrade cannot be written down: ${refused}`);
    logger.info({ job: jobId, from, to: version }, 'this agent ends, and the new version is started');
    handOver();
    return 'handed over';
  }

  /** Puts the executable beside the others, where nothing runs it yet. Why it is not wanted; null: it is there. */
  async #install(version: string, policy: UpgradePolicy, signal: AbortSignal): Promise<string | null> {
    const places = placesOf(this.#setup.dataDir);
    const here = (name: UpgradeFile) => join(places.incoming, name);
    let release: SignedRelease;
    try {
      release = await read(policy, here);
    } catch (error) {
      return refusal(error);
    }
    const other =
      mistaken(release, version) ?? ((await hashOf(here('muster'), signal)) === release.sha256 ? null : NOT_IT);
    if (other !== null) return other;
    const executable = places.executable(version);
    const directory = dirname(executable);
    // The processes of other users that run tasks start more of the same file.
    await mkdir(directory, { recursive: true });
    await chmod(directory, 0o755);
    await chmod(here('muster'), 0o755);
    await rename(here('muster'), executable);
    await synced(directory);
    await synced(places.versions);
    return selfCheck(executable, version, signal);
  }
}

const NOT_IT = `the executable is not the one that is signed: its SHA-256 is another (${UPGRADE_FILES[1]})`;

async function read({ key }: UpgradePolicy, path: (name: UpgradeFile) => string): Promise<SignedRelease> {
  const [, sums, signature] = UPGRADE_FILES;
  const text = (name: UpgradeFile) => readSmallFile(path(name), SIGNED_BYTES, null);
  return signedRelease(await text(sums), await text(signature), key);
}

function refusal(error: unknown): string {
  return `the release is not taken: ${error instanceof Error ? error.message : String(error)}`;
}

async function hashOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { signal })) hash.update(piece as Buffer);
  return hash.digest('hex');
}

async function synced(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether it runs on this machine at all, and is what it was signed as. */
async function selfCheck(executable: string, version: string, signal: AbortSignal): Promise<string | null> {
  try {
    return await askVersion(executable, version, signal);
  } catch (error) {
    signal.throwIfAborted();
    return `version ${version} does not run on this node: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function askVersion(executable: string, version: string, signal: AbortSignal): Promise<string | null> {
  const { PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME = '/', TMPDIR } = process.env;
  const env = { PATH, HOME, LANG: 'C.UTF-8', ...(TMPDIR !== undefined && { TMPDIR }) };
  const options = { cwd: '/', env, signal, timeout: SELF_CHECK_MS, killSignal: 'SIGKILL', maxBuffer: 4096 } as const;
  return new Promise((resolve, reject) => {
    execFile(executable, ['--version'], options, (error, stdout, stderr) => {
      if (signal.aborted) return reject(signal.reason);
      const said = stdout.trim();
      if (error !== null) {
        const why = stderr.trim().slice(0, 500) || error.message;
        return resolve(`version ${version} does not run on this node: ${why}`);
      }
      resolve(said === version ? null : `the executable of version ${version} says that it is ${said.slice(0, 100)}`);
    }).stdin?.end();
  });
}
