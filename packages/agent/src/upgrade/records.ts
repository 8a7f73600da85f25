import { mkdir, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { durableFiles } from '../durable.js';
import { RECORD_BYTES } from '../limits.js';
import { livingOwner } from '../pid-file.js';
import { readSmallFile } from '../small-file.js';
import { HOST_FILES, hostsDirectory, tasksDirectory } from '../tasks/host-files.js';
import { isVersion } from './version.js';

/** A process that ran tasks when an agent handed over to its successor. */
export interface LivingHost {
  readonly directory: string;
  readonly pid: number;
}

/** An upgrade on its way, as the next agent has to know it. */
export interface Change {
  /** `tried`: the new version is not yet known to work. `rolled_back`: it does not, and the old one has to say so. */
  readonly phase: 'tried' | 'rolled_back';
  /** The push job that asked for it, and whether that wants output. */
  readonly jobId: string;
  readonly captured: boolean;
  readonly from: string;
  readonly to: string;
  /** Of the agent that began it. */
  readonly incarnation: string;
  /** Of the machine; null: it does not say. */
  readonly boot: string | null;
  readonly hosts: readonly LivingHost[];
  readonly probationMs: number;
  /** Why it was rolled back. */
  readonly reason: string | null;
}

/** The version that took the place of the installed one. */
export interface Current {
  readonly version: string;
  /** The installed one at that time: when that is another now, it was installed later, and counts. */
  readonly over: string;
}

/** Where an agent keeps versions and what is known of them; below its data directory. */
export function placesOf(dataDir: string) {
  const base = join(dataDir, 'upgrade');
  const versions = join(base, 'versions');
  return {
    base,
    /** The files of a release, until they are known to be right. */
    incoming: join(base, 'incoming'),
    versions,
    executable: (version: string) => join(versions, version, 'muster'),
    change: join(base, 'change.json'),
    current: join(base, 'current.json'),
    /** The process that watches over the agent, and the agent as it has started it. */
    supervisor: join(base, 'supervisor.pid'),
    child: join(base, 'child.pid'),
  };
}

/** Others may go through to the executable, as task hosts of other users do, and list nothing. */
export async function makePlaces(dataDir: string): Promise<void> {
  const { base, incoming, versions } = placesOf(dataDir);
  await mkdir(base, { recursive: true, mode: 0o711 });
  await mkdir(versions, { recursive: true, mode: 0o711 });
  await mkdir(incoming, { recursive: true, mode: 0o700 });
}

/** What an agent that was killed had fetched of a release. */
export async function clearIncoming(dataDir: string): Promise<void> {
  const { incoming } = placesOf(dataDir);
  for (const name of await readdir(incoming)) await rm(join(incoming, name), { force: true });
}

export async function readChange(dataDir: string): Promise<Change | null> {
  return changeIn(await record(placesOf(dataDir).change));
}

export function keepChange(dataDir: string, change: Change): Promise<void> {
  return durableFiles.write(placesOf(dataDir).change, `${JSON.stringify(change)}\n`);
}

export function dropChange(dataDir: string): Promise<void> {
  return durableFiles.remove(placesOf(dataDir).change);
}

export async function readCurrent(dataDir: string): Promise<Current | null> {
  const value = await record(placesOf(dataDir).current);
  if (!isMap(value)) return null;
  const { version, over } = value;
  return isVersionText(version) && typeof over === 'string' ? { version, over } : null;
}

/** Null: the installed one. */
export function keepCurrent(dataDir: string, current: Current | null): Promise<void> {
  const { current: path } = placesOf(dataDir);
  return current === null ? durableFiles.remove(path) : durableFiles.write(path, `${JSON.stringify(current)}\n`);
}

/** What was written, unless something in it is none of it. */
export function changeIn(value: unknown): Change | null {
  if (!isMap(value)) return null;
  const { phase, jobId, captured, from, to, incarnation, boot, hosts, probationMs, reason } = value;
  if (phase !== 'tried' && phase !== 'rolled_back') return null;
  if (typeof jobId !== 'string' || typeof incarnation !== 'string' || typeof captured !== 'boolean') return null;
  if (!isVersionText(from) || !isVersionText(to) || !Array.isArray(hosts)) return null;
  if (typeof probationMs !== 'number' || !(probationMs > 0)) return null;
  if (!isTextOrNull(boot) || !isTextOrNull(reason) || !hosts.every(isHost)) return null;
  return { phase, jobId, captured, from, to, incarnation, boot, hosts, probationMs, reason };
}

async function record(path: string): Promise<unknown> {
  const text = await readSmallFile(path, RECORD_BYTES, process.getuid?.() ?? null).catch(() => null);
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    // Written whole or not at all; another hand was here.
    return null;
  }
}

/** One that is another after each start of the machine. */
export async function bootOfMachine(): Promise<string | null> {
  return readFile('/proc/sys/kernel/random/boot_id', 'latin1').then(
    (text) => text.trim(),
    () => null,
  );
}

export async function livingHosts(dataDir: string): Promise<LivingHost[]> {
  const hosts = hostsDirectory(tasksDirectory(dataDir));
  const living: LivingHost[] = [];
  for (const name of await readdir(hosts).catch((): string[] => [])) {
    const directory = join(hosts, name);
    const pid = await livingOwner(join(directory, HOST_FILES.pid));
    if (pid !== null) living.push({ directory, pid });
  }
  return living;
}

/**
 * Removes versions but those named, and those that a process still runs from: it may start others of the same file. Without /proc
 * nobody can say which these are, and all stay.
 */
export async function removeVersions(dataDir: string, keep: ReadonlySet<string | null>): Promise<void> {
  const { versions } = placesOf(dataDir);
  const inUse = await executablesInUse();
  if (inUse === null) return;
  for (const version of await readdir(versions)) {
    const directory = join(versions, version);
    if (keep.has(version) || [...inUse].some((path) => path.startsWith(`${directory}/`))) continue;
    await rm(directory, { recursive: true, force: true });
  }
}

async function executablesInUse(): Promise<ReadonlySet<string> | null> {
  const names = await readdir('/proc').catch(() => null);
  if (names === null) return null;
  const pids = names.filter((name) => /^\d+$/.test(name));
  return new Set(await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/exe`).catch(() => ''))));
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isVersionText(value: unknown): value is string {
  return typeof value === 'string' && isVersion(value);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

function isHost(value: unknown): value is LivingHost {
  return isMap(value) && typeof value.directory === 'string' && typeof value.pid === 'number';
}
