import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, systemClock, type Timer } from '@muster/base';
import { VERSION } from '@muster/base/version';
import { advertised, NodeFront } from '@muster/nodes/fronts';
import { nodeSockets } from '@muster/nodes/zmtp';
import { systemRandom } from '@muster/platform/auth';
import {
  askOthers,
  CLUSTER_LIMITS,
  ClusterServers,
  checkSharedKey,
  clusterMigrations,
  Election,
  type Fence,
  PassingOn,
  Vouching,
} from '@muster/platform/cluster';
import {
  formatHostPort,
  isEverywhere,
  onThisHost,
  parseHostPort,
  readTls,
  type ServerConfig,
} from '@muster/platform/config';
import type { ClusterStatus } from '@muster/platform/http';
import { Metrics } from '@muster/platform/metrics';
import { openSealingKey, type SealingKey } from '@muster/platform/secrets';
import { createLogger } from '@muster/platform/upkeep';
import type { CertificatePair } from '@muster/signing';
import { lockDirectory, open, type Store, schemaIsNewer } from '@muster/store';
import type { Logger } from 'pino';
import { DECLARED } from '../compose.js';
import { MusterError } from '../errors.js';
import { failing } from '../failing.js';
import { type RunningServer, type ServerOptions, startServer } from '../server.js';
import { Front } from './front.js';
import { countLead } from './leading.js';

/** One server of a cluster: it follows, or leads. */
export interface ClusterMember {
  readonly url: string;
  readonly stompUrl: string;
  readonly incarnation: string;
  readonly role: 'leader' | 'follower';
  /** Resolves when it cannot go on; then it is to be stopped, and started again. */
  readonly failed: Promise<MusterError>;
  /** Gives the lead to another one, if it has it, and lets go. */
  stop(): Promise<void>;
}

/**
 * Starts a server of a cluster, and resolves when it listens. It follows the server that leads, and takes over when there is none.
 * @throws MusterError as `startServer`, `invalid_configuration`: it is not given what the others have
 */
export async function startClusterMember(config: ServerConfig, options: ServerOptions = {}): Promise<ClusterMember> {
  const { clock = systemClock } = options;
  const logger = options.logger ?? createLogger(config.log_level);
  const { database_url: url } = config;
  if (url === undefined) throw new MusterError('invalid_configuration', { reason: 'database_url is missing' });
  const lock = lockDirectory(config.data_dir);
  let store: Store | null = null;
  try {
    const sealingKey = openSealingKey(config, { make: true });
    const access = { fence: null, lost: () => undefined };
    store = await open(
      { kind: 'postgres', url },
      { migrations: [clusterMigrations], clock, random: systemRandom, log: logger, cluster: access },
    );
    await checkSharedKey(store, sealingKey);
    const member = new Member({ config, options, clock, logger, store, sealingKey, release: () => lock.release() });
    await member.start();
    return member;
  } catch (error) {
    await store?.close().catch(() => undefined);
    lock.release();
    throw error;
  }
}

interface MemberDeps {
  readonly config: ServerConfig;
  readonly options: ServerOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For who leads, and who there is; what the cluster does is stored by a server that leads, behind its fence. */
  readonly store: Store;
  readonly sealingKey: SealingKey;
  readonly release: () => void;
}

class Member implements ClusterMember {
  readonly incarnation = randomUUID();
  readonly failed: Promise<MusterError>;
  readonly #deps: MemberDeps;
  readonly #fail: (what: string, cause: unknown) => void;
  /** By which the others know it. */
  readonly #name: string;
  readonly #startedAt: number;
  readonly #metrics = new Metrics();
  readonly #tls: { readonly http: CertificatePair | undefined; readonly stomp: CertificatePair | undefined };
  readonly #vouching: Vouching;
  readonly #passing: PassingOn;
  /** With the ports that it listens at, whatever it was told: it keeps them when it leads. */
  #config: ServerConfig;
  #servers: ClusterServers | null = null;
  #election: Election | null = null;
  #front: Front | null = null;
  #nodes: NodeFront | null = null;
  #leading: RunningServer | null = null;
  /** One change of the role at a time. */
  #changing: Promise<void> = Promise.resolve();
  /** Until it is looked who leads; null: it is looked now, or never yet. */
  #looking: Timer | null = null;
  /** That was asked for, and is not to wait as long as otherwise. */
  #soon = false;
  #stopping: Promise<void> | null = null;
  #over = false;

  constructor(deps: MemberDeps) {
    const { config, clock, logger, sealingKey } = deps;
    this.#deps = deps;
    const { failed, fail } = failing();
    this.failed = failed;
    this.#fail = fail;
    this.#config = config;
    this.#name = config.name ?? hostname();
    this.#startedAt = clock.now();
    this.#tls = { http: readTls(config, 'http'), stomp: readTls(config, 'stomp') };
    this.#vouching = new Vouching(sealingKey.derive('cluster'), clock);
    this.#passing = new PassingOn({
      vouching: this.#vouching,
      trustedProxies: config.http.trusted_proxies,
      log: logger,
      doubtful: () => this.#lookSoon(),
    });
    this.#metrics.collectProcess();
    countLead(this.#metrics, () => false);
  }

  get role(): 'leader' | 'follower' {
    return this.#leading === null ? 'follower' : 'leader';
  }

  get url(): string {
    return `${this.#tls.http === undefined ? 'http' : 'https'}://${reachable(this.#config.http.listen)}`;
  }

  get stompUrl(): string {
    return `${this.#tls.stomp === undefined ? 'stomp' : 'stomp+tls'}://${reachable(this.#config.stomp.listen)}`;
  }

  async start(): Promise<void> {
    const { clock, logger, store, config } = this.#deps;
    await this.#follow();
    const name = this.#name;
    const own = {
      ...{ incarnation: this.incarnation, name, version: VERSION, startedAt: this.#startedAt },
      url: config.cluster_url ?? addressOf(this.#config.http.listen, this.#tls.http !== undefined, name),
      certificate: this.#tls.http?.cert ?? null,
    };
    const servers = new ClusterServers({ store, clock, log: logger, own });
    this.#servers = servers;
    await servers.start();
    const election = new Election({
      ...{ store, clock, log: logger, incarnation: this.incarnation },
      eligible: async () => {
        if (await servers.isDrained(name)) return 'it is drained (muster cluster undrain)';
        if (await schemaIsNewer(store.read, DECLARED.migrations))
          return 'the database was brought up to date by a newer version: upgrade this server';
        return null;
      },
      others: () => askOthers(servers.others),
      elected: (fence) => this.#change(() => this.#lead(fence)),
      deposed: (why) => this.#deposed(why),
    });
    this.#election = election;
    election.start();
    await this.#look();
    logger.info({ url: this.url, cluster: own.url, name, version: VERSION }, 'muster server of a cluster is up');
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { store, release, logger } = this.#deps;
    this.#over = true;
    this.#looking?.cancel();
    // Somebody else does already what this one would give up.
    if (this.#election?.state.role === 'deposed') return;
    await this.#election?.stop();
    await this.#changing;
    await this.#leading?.stop();
    await this.#election?.resign();
    this.#passing.stop();
    await this.#nodes?.stop();
    await this.#front?.close();
    await this.#servers?.stop();
    await store.close();
    release();
    logger.info({ incarnation: this.incarnation }, 'muster server of a cluster has stopped');
  }

  #change(work: () => Promise<void>): void {
    this.#changing = this.#changing
      .then(async () => {
        if (!this.#over) await work();
      })
      .catch((error: unknown) => this.#fail('the server could not take over, or give up the lead', error));
  }

  /** Listens for whoever leads. */
  async #follow(): Promise<void> {
    const { http, stomp } = this.#config;
    const front = await Front.open({
      http: { listen: http.listen, tls: this.#tls.http },
      stomp: { listen: stomp.listen, tls: this.#tls.stomp },
      passing: this.#passing,
      metrics: this.#metrics,
      status: () => this.#status(),
    });
    this.#front = front;
    this.#config = {
      ...this.#config,
      http: { ...http, listen: withPort(http.listen, front.ports.http) },
      stomp: { ...stomp, listen: withPort(stomp.listen, front.ports.stomp) },
    };
    await this.#takeNodes();
  }

  /** Nodes connect to followers, too: the leader says which. */
  async #takeNodes(): Promise<void> {
    const { config, clock, logger: log } = this.#deps;
    const name = this.#name;
    const failed = (error: unknown): void => this.#fail('the sockets for nodes', error);
    const nodes = new NodeFront({
      sockets: nodeSockets({ ...config, spec1: {} }, { clock, failed }),
      ...{ clock, log, name, weight: config.cluster_weight, incarnation: randomUUID() },
      advertised: (endpoints) => advertised(config, name, endpoints),
      dial: () => this.#passing.nodes(),
    });
    await nodes.start();
    this.#nodes = nodes;
  }

  async #lead(fence: Fence): Promise<void> {
    const { options, logger, sealingKey } = this.#deps;
    const servers = this.#servers;
    if (servers === null) return;
    logger.info({ epoch: fence.epoch }, 'this server leads the cluster from now on');
    this.#passing.lead(null);
    const server = await startServer(this.#config, {
      ...options,
      logger,
      leading: {
        ...{ fence, sealingKey, vouching: this.#vouching, servers },
        lost: () => this.#election?.fencedOff(),
        status: () => ({ ...this.#known(), role: 'leader' }),
        socketsNeeded: async () => {
          await Promise.all([this.#nodes?.stop(), this.#front?.closeStomp()]);
          this.#nodes = null;
        },
        httpNeeded: async () => {
          await this.#front?.closeHttp();
          this.#front = null;
        },
        changed: () => this.#lookSoon(),
      },
    });
    this.#leading = server;
    void server.failed.then((error) => this.#fail('the leading server', error));
  }

  /** It was told, over HTTP, that it shall not lead: that answer is sent before it stops. Rejects when the database does not answer. */
  async #resignIfDrained(): Promise<void> {
    const { logger } = this.#deps;
    if (this.#leading === null || (await this.#servers?.isDrained(this.#name)) !== true) return;
    this.#change(async () => {
      if (this.#leading === null) return;
      logger.info('this server gives the lead to another one');
      const server = this.#leading;
      await server.stop();
      this.#leading = null;
      await this.#follow();
      await this.#election?.resign();
    });
  }

  #deposed(why: string): void {
    this.#over = true;
    this.#deps.logger.error({ why }, 'this server does not lead any more, and ends: it is to be started again');
    this.#fail(why, new Error('start it again, as its supervisor does: it follows then'));
  }

  /** However many ask for it, it is not put off by them. */
  #lookSoon(): void {
    if (this.#soon) return;
    this.#soon = true;
    if (this.#looking !== null) this.#lookLater();
  }

  #lookLater(): void {
    if (this.#over) return;
    this.#looking?.cancel();
    const { lookMs } = CLUSTER_LIMITS;
    this.#looking = this.#deps.clock.after(this.#soon ? lookMs / 10 : lookMs, () => void this.#look());
  }

  /** Who leads, and whether that is to be another one. */
  async #look(): Promise<void> {
    this.#looking = null;
    this.#soon = false;
    try {
      await this.#resignIfDrained();
      const leader = (await this.#servers?.leader()) ?? null;
      if (this.#leading === null) this.#passing.lead(leader?.incarnation === this.incarnation ? null : leader);
    } catch (error) {
      // Whoever led is asked until it is known better.
      this.#deps.logger.debug({ err: error }, 'who leads could not be looked up');
    }
    this.#lookLater();
  }

  /** Who leads, as far as this server knows: itself, as soon as it is elected. */
  #known(): Omit<ClusterStatus, 'role'> {
    const state = this.#election?.state;
    if (state?.role === 'leader') return { leader: this.#name, epoch: state.epoch };
    const { leader } = this.#passing;
    return { leader: leader?.name ?? null, epoch: leader?.epoch ?? 0 };
  }

  #status(): object {
    const { clock, store } = this.#deps;
    const health = store.health();
    return {
      status: "it's alive",
      incarnation_id: this.incarnation,
      uptime: (clock.now() - this.#startedAt) / 1000,
      store: health.ok ? { ok: true } : { ok: false, problem: health.problem },
      certificates: [],
      cluster: { ...this.#known(), role: 'follower' },
      events: { clients: 0 },
    };
  }
}

/** Where a caller on this host reaches what listens there. */
function reachable(listen: string): string {
  const { host = '', port = 0 } = parseHostPort(listen) ?? {};
  return formatHostPort(onThisHost(host), port);
}

/** Where the other servers reach it. What listens everywhere is reached by the name of the server. */
function addressOf(listen: string, secure: boolean, name: string): string {
  const { host = '', port = 0 } = parseHostPort(listen) ?? {};
  return `${secure ? 'https' : 'http'}://${formatHostPort(isEverywhere(host) ? name : host, port)}`;
}

function withPort(listen: string, port: number): string {
  return `${listen.slice(0, listen.lastIndexOf(':'))}:${port}`;
}
