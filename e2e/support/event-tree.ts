import { type Client, type ClientOptions, connect } from '@muster/fabric/client';
import { type ConnectOptions, RawClient } from '../../packages/fabric/test/support/raw-client.js';
import type { Reply } from './api-client.js';
import { Cluster, type ClusterOptions } from './cluster.js';
import { expectDone, sharedKey } from './personas.js';
import { freePorts } from './ports.js';
import { RelayProcess } from './relay-process.js';

/** Whoever a test connects as: the first admin, who may do everything. */
export const LOGIN = 'default/admin';
const RELAY = 'default/relay';

/** A server as the root, relays below it, and clients: the first two as processes of their own. */
export class EventTree {
  readonly cluster: Cluster;
  /** Of `LOGIN`. */
  readonly token: string;
  readonly #relayToken: string;
  readonly #raw: RawClient[] = [];
  readonly #clients: Client[] = [];

  private constructor(cluster: Cluster, token: string, relayToken: string) {
    this.cluster = cluster;
    this.token = token;
    this.#relayToken = relayToken;
  }

  static async start(options: ClusterOptions = {}): Promise<EventTree> {
    const cluster = await Cluster.start(options);
    const { api } = cluster;
    const { publicKey } = sharedKey();
    expectDone(await api.post('services', { name: 'relay', public_key: publicKey }));
    expectDone(await api.put('groups/event_relays', { users: [], clients: ['relay'], groups: [] }));
    const body = { ttl: 3600 };
    const mine = expectDone(await api.call('POST', '/access_tokens', { body }));
    const relays = expectDone(await api.post('services/relay/access_tokens', body));
    const tokenIn = ({ json }: Reply) => (json as { readonly token: string }).token;
    return new EventTree(cluster, tokenIn(mine), tokenIn(relays));
  }

  /** Port of the server on 127.0.0.1. */
  get port(): number {
    return this.cluster.ports[3] ?? 0;
  }

  /** Starts a relay below that port and waits until it takes clients. */
  async relay(name: string, upstreamPort: number, flags: readonly string[] = []): Promise<RelayProcess> {
    const relay = await this.launchRelay(name, `stomp://127.0.0.1:${upstreamPort}`, flags);
    await relay.serving();
    return relay;
  }

  /** As `relay`, without waiting. */
  async launchRelay(name: string, upstream: string, flags: readonly string[] = []): Promise<RelayProcess> {
    const [stomp = 0, ws = 0, status = 0] = await freePorts(3);
    const place = { name, upstream, login: RELAY, token: this.#relayToken, runtimeDir: this.cluster.dir, flags };
    const launch = this.cluster.launch.bind(this.cluster);
    return new RelayProcess(launch, { ...place, ports: [stomp, ws, status] });
  }

  /** Logged in, with nothing that hides the frames. */
  async client(port: number, options: ConnectOptions = {}): Promise<RawClient> {
    const client = this.connection(port);
    await client.connect(LOGIN, { passcode: this.token, ...options });
    return client;
  }

  /** Connected, nothing sent. */
  connection(port: number): RawClient {
    const client = new RawClient(port);
    this.#raw.push(client);
    return client;
  }

  /** Our own library, connected; it connects again by itself. */
  async program(port: number, options: Partial<ClientOptions> = {}): Promise<Client> {
    const url = `stomp://127.0.0.1:${port}`;
    const reconnect = { minMs: 50, maxMs: 200 };
    const program = connect({ url, login: LOGIN, passcode: this.token, reconnect, ...options });
    this.#clients.push(program);
    await program.ready();
    return program;
  }

  /** Ends the clients. */
  async hangUp(): Promise<void> {
    for (const { socket } of this.#raw.splice(0)) socket.destroy();
    await Promise.all(this.#clients.splice(0).map((client) => client.close()));
  }

  async stop(): Promise<void> {
    await this.hangUp();
    await this.cluster.stop();
  }
}
