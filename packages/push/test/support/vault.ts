import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
}

/**
 * Answers as HashiCorp Vault does: the KV engine of version 2 (`GET /v1/MOUNT/data/PATH`) and the login of an AppRole
 * (`POST /v1/auth/approle/login`).
 */
export class FakeVault {
  readonly asked: Asked[] = [];
  /** By `MOUNT/PATH`; null: its newest version was deleted. */
  readonly data = new Map<string, Readonly<Record<string, unknown>> | null>();
  readonly tokens = new Set<string>();
  readonly roles = new Map<string, string>();
  sealed = false;
  /** Answers nothing while it is set. */
  silent = false;
  leaseSeconds = 1200;
  #logins = 0;
  readonly #server = createServer((request, response) => {
    void this.#answer(request).then((answer) => {
      if (answer === null) return;
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer.body));
    });
  });

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: object } | null> {
    let text = '';
    for await (const piece of request) text += String(piece);
    const { method = '', url: path = '', headers } = request;
    const token = headers['x-vault-token'] as string | undefined;
    this.asked.push({ method, path, token, namespace: headers['x-vault-namespace'] as string | undefined });
    if (this.silent) return null;
    if (this.sealed) return { status: 503, body: { errors: ['Vault is sealed'] } };
    if (method === 'POST' && path === '/v1/auth/approle/login') return this.#login(text);
    if (token === undefined || !this.tokens.has(token)) return { status: 403, body: { errors: ['permission denied'] } };
    const [, mount = '', below = ''] = /^\/v1\/([^/]+)\/data\/(.+)$/.exec(path) ?? [];
    const data = this.data.get(`${mount}/${decodeURIComponent(below)}`);
    if (data === undefined) return { status: 404, body: { errors: [] } };
    const metadata = { created_time: '2026-11-01T00:00:00Z', custom_metadata: null, destroyed: false, version: 2 };
    const deletion = { deletion_time: data === null ? '2026-11-02T00:00:00Z' : '' };
    const body = { request_id: 'r', lease_duration: 0, data: { data, metadata: { ...metadata, ...deletion } } };
    return { status: data === null ? 404 : 200, body };
  }

  #login(text: string): { status: number; body: object } {
    const { role_id, secret_id } = JSON.parse(text) as { role_id: string; secret_id: string };
    if (this.roles.get(role_id) !== secret_id) return { status: 400, body: { errors: ['invalid role or secret ID'] } };
    this.#logins += 1;
    const token = `login-${this.#logins}`;
    this.tokens.add(token);
    const auth = { client_token: token, lease_duration: this.leaseSeconds, renewable: true, policies: ['muster'] };
    return { status: 200, body: { auth } };
  }
}
