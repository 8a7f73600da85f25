import { type Clock, Looks } from '@muster/base';
import { fence, type Lease, type Leases, type Store, type Write } from '@muster/store';
import { LeaseKeeper, type Turn } from '../upkeep/lease-keeper.js';
import type { LayerLog } from '../upkeep/logging.js';
import { BASE_URL, DELIVERIES_HINT, type StoredDelivery, settleDelivery } from './deliveries.js';
import { OUTBOUND_LIMITS } from './limits.js';
import { type Mailer, mailAddress } from './mail.js';
import { readRetries, retryAfter } from './retries.js';
import { signatureHeaders, webhookKey } from './signature.js';
import { postWebhook, type Sent, type WebhookOptions } from './webhook.js';

export interface DelivererDeps extends Pick<WebhookOptions, 'privateTargets'> {
  readonly store: Store;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly mailer: Mailer;
  /** What the keys are made of with which webhooks are signed. */
  readonly masterKey: Uint8Array;
  /** Where the server is reached, without a slash at the end. */
  readonly baseUrl: () => string;
  /** What is stored besides when the only delivery of a subscription is given up. */
  readonly gaveUp: (delivery: StoredDelivery) => readonly Write[];
  /** Sends one webhook; over HTTP unless given. */
  readonly post?: typeof postWebhook;
}

/** Sends what is stored to be sent: one process for all, as long as it holds the lease. */
export class Deliverer {
  readonly #keeper: LeaseKeeper;

  constructor(deps: DelivererDeps) {
    const begin = async (lease: Lease): Promise<Turn> => new Deliveries(deps, lease).start();
    this.#keeper = new LeaseKeeper({ ...deps, name: 'deliveries', begin });
  }

  get holds(): boolean {
    return this.#keeper.holds;
  }

  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }
}

/** Until what could not be stored is looked at again. */
const AGAIN_MS = 5000;

/**
 * What is to be sent is in the database; in memory is what is being sent. Each delivery is stored with what came of it: after a crash
 * in between it is sent again, with the same id.
 */
class Deliveries implements Turn {
  readonly #deps: DelivererDeps;
  readonly #fence: Write;
  readonly #looks: Looks;
  /** By their ids. */
  readonly #sending = new Map<string, Promise<void>>();
  /** One at a time for each subscription: its events in their order. */
  readonly #subscriptions = new Set<string>();
  readonly #hosts = new Map<string, number>();
  #deaf: (() => void) | null = null;
  #stopped = false;

  constructor(deps: DelivererDeps, lease: Lease) {
    this.#deps = deps;
    this.#fence = fence(lease);
    this.#looks = new Looks({
      clock: deps.clock,
      againMs: AGAIN_MS,
      look: () => this.#begin(),
      failed: (error) => deps.log.warn({ err: error }, 'what is to be delivered could not be read; trying again'),
    });
  }

  start(): this {
    this.#deaf = this.#deps.store.hints.listen(DELIVERIES_HINT, () => this.#looks.ask());
    return this;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deaf?.();
    await this.#looks.stop();
    await Promise.all([...this.#sending.values()]);
  }

  async #begin(): Promise<void> {
    const now = this.#deps.clock.now();
    for (const delivery of await this.#due()) {
      if (this.#sending.size >= OUTBOUND_LIMITS.atOnce) return;
      if (delivery.next_attempt !== null && delivery.next_attempt > now) {
        this.#looks.askBy(delivery.next_attempt);
        return;
      }
      if (this.#mayBegin(delivery)) this.#send(delivery);
    }
  }

  /** The earliest first; besides those that are being sent there are as many as may be. */
  #due(): Promise<StoredDelivery[]> {
    const busy = [...this.#subscriptions];
    let query = this.#deps.store.read.selectFrom('deliveries').selectAll().where('outcome', '=', 'waiting');
    if (busy.length > 0) query = query.where('subscription', 'not in', busy);
    return query
      .orderBy('next_attempt')
      .orderBy('created')
      .orderBy('id')
      .limit(OUTBOUND_LIMITS.atOnce * OUTBOUND_LIMITS.atOncePerHost)
      .execute();
  }

  #mayBegin({ subscription, url }: StoredDelivery): boolean {
    const host = this.#hosts.get(hostOf(url)) ?? 0;
    return !this.#subscriptions.has(subscription) && host < OUTBOUND_LIMITS.atOncePerHost;
  }

  #send(delivery: StoredDelivery): void {
    const { id, subscription, url } = delivery;
    const host = hostOf(url);
    this.#subscriptions.add(subscription);
    this.#hosts.set(host, (this.#hosts.get(host) ?? 0) + 1);
    const sending = this.#sendOne(delivery).finally(() => {
      this.#sending.delete(id);
      this.#subscriptions.delete(subscription);
      const left = (this.#hosts.get(host) ?? 1) - 1;
      if (left === 0) this.#hosts.delete(host);
      else this.#hosts.set(host, left);
      this.#looks.ask();
    });
    this.#sending.set(id, sending);
  }

  async #sendOne(delivery: StoredDelivery): Promise<void> {
    const { clock, log, store } = this.#deps;
    const at = clock.now();
    const sent = await this.#attempt(delivery, at);
    // What came of it is stored by whoever has the lease now: it is sent again there.
    if (this.#stopped) return;
    try {
      const { writes, forgotten } = this.#result(delivery, sent, at);
      await store.transact(async (trx, write) => {
        write([this.#fence, ...writes]);
        if (forgotten) await trx.deleteFrom('deliveries').where('id', '=', delivery.id).execute();
      });
    } catch (error) {
      log.warn({ err: error, delivery: delivery.id }, 'what came of a delivery could not be stored; it is sent again');
      await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
    }
  }

  async #attempt({ id, org_id: orgId, url, title, body }: StoredDelivery, now: number): Promise<Sent> {
    const { mailer, masterKey, baseUrl, privateTargets, post = postWebhook } = this.#deps;
    const mail = mailAddress(url);
    if (mail !== null) return sendMail(mailer, mail, title, body);
    const address = url.replaceAll(BASE_URL, encodeURIComponent(baseUrl()));
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
      return { delivered: false, code: null, detail: 'it is neither a web address nor a mail address', final: true };
    }
    const headers = signatureHeaders(webhookKey(masterKey, orgId), id, now, body);
    return post(address, body, headers, { privateTargets });
  }

  /** `forgotten`: whoever subscribed wanted nothing kept of what could not be delivered. */
  #result(delivery: StoredDelivery, { delivered, code, detail, final, logged }: Sent, at: number) {
    const { clock, log, gaveUp } = this.#deps;
    const { id } = delivery;
    const attempts = delivery.attempts + 1;
    const policy = readRetries(JSON.parse(delivery.policy));
    const wait = delivered || final === true ? null : retryAfter(policy, attempts);
    const over = logged === true ? 'logged' : 'given_up';
    const outcome = delivered ? 'delivered' : wait === null ? over : 'waiting';
    const next = wait === null ? null : clock.now() + wait;
    const row = settleDelivery({
      id,
      attempts,
      next_attempt: next,
      response_code: code,
      outcome,
      detail,
      last_sent: at,
    });
    if (outcome !== 'given_up') return { writes: [row], forgotten: false };
    log.info({ delivery: id, attempts, code, detail }, 'a delivery is given up');
    const besides = delivery.only === 1 ? gaveUp(delivery) : [];
    if (!policy.saveOnFailure) return { writes: besides, forgotten: true };
    return { writes: [row, ...besides], forgotten: false };
  }
}

/** Of mail; whoever looks at deliveries is to know that nobody gets it. */
const ONLY_LOGGED = 'not sent, only logged: this server has no mail server (outbound.smtp_url)';

async function sendMail(mailer: Mailer, to: string, title: string, body: string): Promise<Sent> {
  try {
    const text = `${title}\n\n${JSON.stringify(JSON.parse(body), null, 2)}\n`;
    const sent = await mailer.send({ to, subject: title, text });
    if (sent) return { delivered: true, code: null, detail: '' };
    return { delivered: false, code: null, detail: ONLY_LOGGED, final: true, logged: true };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const refused = { delivered: false, code: null, detail: detail.slice(0, OUTBOUND_LIMITS.detailLength) };
    return isPermanent(error) ? { ...refused, final: true } : refused;
  }
}

/** The mail server has refused this mail, or its reader, for good (RFC 5321 §4.2.1), and not those who send it. */
function isPermanent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, responseCode } = error as Error & { readonly code?: unknown; readonly responseCode?: unknown };
  return typeof responseCode === 'number' && responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE');
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
