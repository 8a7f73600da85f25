import { connect, isIP, type Socket } from 'node:net';
import { type Clock, certificateError } from '@muster/base';
import type { Client, Entry } from 'ldapts';
import { checkHost, hostOf, publicLookup } from '../../../outbound/addresses.js';
import { startTls } from './start-tls.js';
import { LDAP_LIMITS, type LdapPlace } from './types.js';

const PORTS: Readonly<Record<string, number>> = { 'ldap:': 389, 'ldaps:': 636 };

/** A directory has answered that it does not do what was asked. */
export class DirectoryRefusal extends Error {
  override readonly name = 'DirectoryRefusal';
  /** Of RFC 4511 §4.1.9. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface Opening {
  /** By which it is waited for. */
  readonly clock: Clock;
  /** Also at a private address. */
  readonly privateTargets: boolean;
  /** Closes it. */
  readonly signal?: AbortSignal | undefined;
}

interface Search {
  readonly base: string;
  readonly scope: 'base' | 'sub';
  readonly filter: string;
  readonly attributes: readonly string[];
  /** Entries that are wanted. There may be one, or a page, more: that there are more is for who asks to see. */
  readonly most: number;
  readonly paged: boolean;
}

/**
 * One connection to a directory, over TLS from the first byte that matters. Every question has a bound in time and in what is
 * answered; referrals are not followed, nor aliases.
 */
export class LdapConnection {
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #ca: string | null;

  private constructor(client: Client, socket: Socket, clock: Clock, ca: string | null) {
    this.#client = client;
    this.#socket = socket;
    this.#clock = clock;
    this.#ca = ca;
  }

  /** @throws Error that says why it cannot be had */
  static async open({ url, ca }: LdapPlace, { clock, privateTargets, signal }: Opening): Promise<LdapConnection> {
    const { Client: LdapClient } = await import('ldapts');
    const place = new URL(url);
    const host = hostOf(place);
    const port = place.port === '' ? PORTS[place.protocol] : Number(place.port);
    if (port === undefined) throw new Error('it must be an ldaps or ldap URL');
    if (!privateTargets) checkHost(place);
    signal?.throwIfAborted();
    const socket = connect({ host, port, ...(!privateTargets && { lookup: publicLookup() }) });
    const abort = (): unknown => socket.destroy();
    signal?.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal?.removeEventListener('abort', abort));
    // Whoever waits for it is told; before and after nobody is.
    socket.on('error', () => undefined);
    const connecting = async (): Promise<void> => {
      await new Promise<void>((done, failed) => socket.once('connect', done).once('error', failed));
      if (place.protocol === 'ldap:') await startTls(socket);
    };
    await bounded({ socket, clock, ms: LDAP_LIMITS.connectMs }, connecting).catch((error: unknown) => {
      socket.destroy();
      throw error;
    });
    const client = new LdapClient({
      // It is connected to by the socket; the certificate is for the host.
      url: 'ldaps://directory.invalid',
      tlsOptions: {
        ...{ socket, host, minVersion: 'TLSv1.2' as const },
        ...(ca !== null && { ca }),
        ...(isIP(host) === 0 && { servername: host }),
      },
    });
    return new LdapConnection(client, socket, clock, ca);
  }

  /** Proves to be somebody. Without a password it would prove nothing (RFC 4513 §5.1.2). @throws DirectoryRefusal, Error */
  async bind(dn: string, password: string): Promise<void> {
    if (dn === '' || password === '') throw new Error('nobody proves anything without a name and a password');
    await this.#ask(() => this.#client.bind(dn, password));
  }

  /** @throws DirectoryRefusal, Error */
  async search({ base, scope, filter, attributes, most, paged }: Search): Promise<readonly Entry[]> {
    const options = { scope, filter, attributes: [...attributes] };
    if (!paged) {
      const answer = await this.#ask(() => this.#client.search(base, { ...options, sizeLimit: most + 1 }));
      return answer.searchEntries;
    }
    const found: Entry[] = [];
    const pages = this.#client.searchPaginated(base, { ...options, paged: { pageSize: LDAP_LIMITS.pageSize } });
    while (found.length <= most) {
      const page = await this.#ask(() => pages.next());
      if (page.done === true) break;
      found.push(...page.value.searchEntries);
    }
    return found;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    const socket = this.#socket;
    if (socket.destroyed) throw new Error('it has closed the connection');
    try {
      return await bounded({ socket, clock: this.#clock, ms: LDAP_LIMITS.answerMs }, question);
    } catch (error) {
      if (error instanceof Error && 'code' in error && typeof error.code === 'number')
        throw new DirectoryRefusal(error.code, error.message);
      if (certificateError(error) === 'certificate_untrusted') throw untrusted(error, this.#ca);
      throw error;
    }
  }
}

function untrusted(error: unknown, ca: string | null): Error {
  const told = error instanceof Error ? error.message : String(error);
  const whose = ca === null ? 'the system does not trust' : 'the authority that was given has not signed';
  const way = 'name the one that has signed it, or the certificate itself: --ldap-ca FILE (directory.ca)';
  return new Error(`${told}: ${whose} its certificate; ${way}`, { cause: error });
}

/** What takes longer, or says more, costs it the connection. */
async function bounded<Answer>(
  { socket, clock, ms }: { readonly socket: Socket; readonly clock: Clock; readonly ms: number },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const before = socket.bytesRead;
  let end: (reason: string) => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(new Error(reason));
      socket.destroy();
    };
  });
  // Whoever has something to say of it, such as of a certificate, says so first: TLS that is cut off says nothing by itself.
  const closed = (): unknown => setImmediate(() => end('it closes the connection'));
  socket.once('close', closed);
  const late = clock.after(ms, () => end(`it does not answer within ${ms / 1000} s`));
  const read = setInterval(() => {
    const most = LDAP_LIMITS.answerBytes;
    if (socket.bytesRead - before > most) end(`it answers with more than ${most} bytes`);
  }, 50);
  try {
    return await Promise.race([work(), ended]);
  } finally {
    socket.off('close', closed);
    late.cancel();
    clearInterval(read);
  }
}
