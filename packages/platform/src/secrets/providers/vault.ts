import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { parseJson, readBody } from '../../http/body.js';
import { checkHost, publicLookup } from '../../outbound/addresses.js';
import type { VaultDefinition } from './definition.js';
import { PROVIDER_LIMITS } from './limits.js';
import { ProviderRefusal, type SecretProvider, type Wanted } from './types.js';

const DEFAULT_FIELD = 'value';
/** A login is made anew so long before it ends. */
const MARGIN_MS = 10_000;

export interface VaultDeps {
  readonly now: () => number;
  /** `outbound.private_targets` */
  readonly privateTargets: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** HashiCorp Vault's key-value engine, version 2: `GET /v1/MOUNT/data/PATH`. A reference is `PATH#FIELD`, of the field `value` unless it says. */
export function vaultProvider(definition: VaultDefinition, deps: VaultDeps): SecretProvider {
  const { mount = 'secret', path = '' } = definition;
  const vault = new Vault(definition, deps);
  return {
    async fetch({ organization, reference }: Wanted) {
      const [below = '', field = DEFAULT_FIELD] = reference.split('#');
      const parts = [...path.replaceAll('{organization}', organization).split('/'), ...below.split('/')];
      const at = parts.filter((part) => part !== '').map(encodeURIComponent);
      const { status, body } = await vault.read(`${trimmed(mount)}/data/${at.join('/')}`);
      if (status === 404)
        throw new ProviderRefusal(`there is nothing at ${at.join('/')} in ${mount}, or it was deleted`);
      if (status !== 200) throw refusal(status, body);
      const data = within(body, 'data', 'data');
      const value =
        typeof data === 'object' && data !== null && Object.hasOwn(data, field) ? within(data, field) : null;
      if (typeof value === 'string') return value;
      throw new ProviderRefusal(`what is at ${at.join('/')} in ${mount} has no text under the name ${field}`);
    },
  };
}

/** One Vault, and who we are there. */
class Vault {
  readonly #definition: VaultDefinition;
  readonly #deps: VaultDeps;
  readonly #ca: Buffer | undefined;
  /** Of an AppRole, until it ends. */
  #login: { readonly token: string; readonly until: number } | null = null;

  constructor(definition: VaultDefinition, deps: VaultDeps) {
    this.#definition = definition;
    this.#deps = deps;
    this.#ca = definition.ca === undefined ? undefined : readFileSync(definition.ca);
  }

  /** A login that was ended meanwhile is made anew, once. */
  async read(path: string): Promise<Answer> {
    const { app_role } = this.#definition;
    const known = this.#login;
    const answer = await this.#send('GET', path, await this.#token());
    if (answer.status !== 403 || app_role === undefined || known === null || this.#login !== known) return answer;
    this.#login = null;
    return this.#send('GET', path, await this.#token());
  }

  async #token(): Promise<string> {
    const { token_file, app_role } = this.#definition;
    // Read each time: whoever renews it writes the file anew.
    if (token_file !== undefined) return secretIn(token_file);
    if (app_role === undefined) throw new ProviderRefusal('it has neither token_file nor app_role');
    const now = this.#deps.now();
    if (this.#login !== null && this.#login.until > now) return this.#login.token;
    const { role_id, secret_id_file, mount = 'approle' } = app_role;
    const body = { role_id, secret_id: await secretIn(secret_id_file) };
    const { status, body: answer } = await this.#send('POST', `auth/${trimmed(mount)}/login`, null, body);
    if (status !== 200) throw refusal(status, answer, 'the login of the AppRole: ');
    const token = within(answer, 'auth', 'client_token');
    const seconds = within(answer, 'auth', 'lease_duration');
    if (typeof token !== 'string') throw new ProviderRefusal('the login of the AppRole gave no token');
    // 0: it does not end.
    const ms = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 - MARGIN_MS : Number.POSITIVE_INFINITY;
    this.#login = { token, until: now + ms };
    return token;
  }

  async #send(method: 'GET' | 'POST', path: string, token: string | null, body?: object): Promise<Answer> {
    const { address, namespace, timeout = PROVIDER_LIMITS.seconds, private: priv = false } = this.#definition;
    const url = new URL(`${address.replace(/\/+$/, '')}/v1/${path}`);
    const anywhere = priv || this.#deps.privateTargets;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const signal = AbortSignal.timeout(timeout * 1000);
    try {
      if (!anywhere) checkHost(url);
      const response = await new Promise<IncomingMessage>((done, failed) => {
        const sent = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
          method,
          signal,
          agent: false,
          headers: {
            accept: 'application/json',
            // Proxies of Vault may be told to refuse what lacks it.
            'x-vault-request': 'true',
            ...(token !== null && { 'x-vault-token': token }),
            ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
            ...(text !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(text),
            }),
          },
          ...(this.#ca !== undefined && { ca: this.#ca }),
          ...(!anywhere && { lookup: publicLookup() }),
        });
        sent.on('response', done);
        sent.on('error', failed);
        sent.end(text);
      });
      try {
        const bytes = await readBody(response, PROVIDER_LIMITS.answerBytes);
        return { status: response.statusCode ?? 0, body: bytes.length === 0 ? null : read(bytes) };
      } finally {
        response.destroy();
      }
    } catch (error) {
      if (signal.aborted) throw new ProviderRefusal(`${url.host} did not answer within ${timeout} s`);
      if (error instanceof ProviderRefusal) throw error;
      throw new ProviderRefusal(`${url.host}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** A proxy before it may answer with a page. */
function read(bytes: Buffer): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return null;
  }
}

function refusal(status: number, body: unknown, what = ''): ProviderRefusal {
  const errors = within(body, 'errors');
  const said = Array.isArray(errors) ? errors.filter((one) => typeof one === 'string').join('; ') : '';
  const about =
    status === 503 ? 'it is sealed or in standby' : said.replace(/\s+/g, ' ').slice(0, PROVIDER_LIMITS.reason);
  return new ProviderRefusal(`${what}it answers with status ${status}${about === '' ? '' : `: ${about}`}`);
}

function within(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (at, name) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined,
    value,
  );
}

async function secretIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ProviderRefusal(`${file} cannot be read (${code})`);
  }
}

function trimmed(mount: string): string {
  return mount.replace(/^\/+|\/+$/g, '');
}
