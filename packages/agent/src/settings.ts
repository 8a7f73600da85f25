import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type AgentConfig, loadAgentConfig, parseAgentConfig } from './config.js';
import { readIfThere } from './durable.js';
import { ownKeyFile } from './enrol.js';
import { MusterError } from './errors.js';
import type { NodeIdentity } from './link/configuration-request.js';

/** How an agent is started. What is given here counts more than the configuration file. */
export interface AgentOptions {
  /** URL of the server. */
  readonly server?: string;
  readonly org?: string;
  /** Defaults to the host name. */
  readonly name?: string;
  /** Private key file; DATA_DIR/client.pem when absent. */
  readonly key?: string;
  /** Enrolment token; ignored while the server knows the node. */
  readonly enroll?: string;
  /** File with the enrolment token; need not be there once the node has enrolled. */
  readonly enrollFile?: string;
  readonly dataDir?: string;
  /** Configuration file, read again by `reload`. */
  readonly config?: string;
  /** Ends an enrolment that waits for its server. */
  readonly signal?: AbortSignal;
}

/**
 * Everything but the key, which enrolment may yet have to make. Paths are absolute: a command that runs in a directory of
 * its own is told where its file is.
 */
export interface AgentSettings {
  readonly config: AgentConfig;
  readonly server: URL;
  readonly org: string;
  readonly name: string;
  readonly dataDir: string;
  readonly keyFile: string;
  readonly fileDir: string;
  readonly ca: string | null;
}

/** Reads the configuration file and puts the options over it. Throws `invalid_configuration`. */
export async function loadSettings(options: AgentOptions): Promise<AgentSettings> {
  const config = options.config === undefined ? parseAgentConfig({}) : await loadAgentConfig(options.config);
  const server = options.server ?? config.server;
  const dataDir = resolve(options.dataDir ?? config.data_dir ?? './muster-agent');
  if (server === undefined) throw invalid('the URL of the server is missing (--server)');
  return {
    config,
    server: parseUrl(server),
    org: options.org ?? config.org ?? 'default',
    name: options.name ?? config.name ?? hostname(),
    dataDir,
    keyFile: resolve(options.key ?? config.key ?? ownKeyFile(dataDir)),
    fileDir: resolve(config.file_dir ?? join(dataDir, 'files')),
    ca: config.ca === undefined ? null : await readText(config.ca, 'ca'),
  };
}

/** The settings that differ and that an agent takes at its start only, by their names in the configuration file. */
export function changedForNextStart(started: AgentSettings, reread: AgentSettings): string[] {
  const [before, after] = [atStart(started), atStart(reread)];
  return Object.keys(before).filter((name) => !isDeepStrictEqual(before[name], after[name]));
}

function atStart({ server, org, name, dataDir, keyFile, ca, config }: AgentSettings): Record<string, unknown> {
  const { limits, events } = config;
  return { server: server.href, org, name, data_dir: dataDir, key: keyFile, ca, limits, events };
}

/** The identity that signs. Throws `not_enrolled`, or `invalid_configuration` when the key cannot be read. */
export async function loadIdentity(settings: AgentSettings): Promise<NodeIdentity> {
  const { server, org, name, ca, keyFile, dataDir } = settings;
  // A key that was named is expected to be there.
  if (keyFile === ownKeyFile(dataDir) && (await readIfThere(keyFile)) === null) {
    throw new MusterError('not_enrolled', { path: keyFile });
  }
  const pem = await readText(keyFile, 'key');
  try {
    return { server, org, name, ca, key: createPrivateKey(pem) };
  } catch (error) {
    throw invalid(`key: ${keyFile} is not a private key`, error);
  }
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw invalid(`server: '${text}' is not a URL`, error);
  }
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw invalid(`server: '${text}' must begin with http:// or https://`);
}

async function readText(file: string, key: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw invalid(`${key}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

function invalid(reason: string, cause?: unknown): MusterError {
  return new MusterError('invalid_configuration', { reason }, { cause });
}
