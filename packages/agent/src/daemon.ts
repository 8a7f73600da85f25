import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Clock, Timer } from '@muster/base';
import { VERSION } from '@muster/base/version';
import { type Facts, isTaskOrder, type ServerMessage } from '@muster/wire';
import { type CommandPolicy, commandPolicy } from './execution/command-policy.js';
import { COMMANDS_ONLY, policyAtServer, withoutBuiltins } from './execution/elsewhere.js';
import type { ExecutionSettings } from './execution/execution.js';
import { type NotedRun, RunNote } from './execution/run-note.js';
import { toldCommands } from './execution/told-commands.js';
import { sameFacts } from './facts.js';
import { type FilePolicy, filePolicy } from './files/policy.js';
import { fetchSecrets } from './files/secrets.js';
import type { Host } from './host.js';
import type { Journal, LookBack } from './incarnation.js';
import { SETTLE_AGAIN_MS, STOP_COMMAND_MS, STOP_FLUSH_MS } from './limits.js';
import type { NodeIdentity } from './link/configuration-request.js';
import { Link } from './link/link.js';
import { Outbox } from './link/outbox.js';
import type { ServerPin } from './link/server-pin.js';
import type { AgentLog } from './logging.js';
import { type PushLink, PushSlot } from './push/push-slot.js';
import type { AgentSettings } from './settings.js';
import type { SystemHelpers } from './systems/helpers.js';
import type { HostEvents, TaskHosts } from './tasks/hosts.js';
import { offerOf } from './tasks/plugins.js';
import { TaskSlot } from './tasks/task-slot.js';
import { type UpgradePolicy, upgradePolicy } from './upgrade/policy.js';
import type { Resumed } from './upgrade/resume.js';
import type { UpgradeSupervisor } from './upgrade/supervised.js';
import { Upgrades } from './upgrade/upgrades.js';

export interface DaemonSetup {
  readonly settings: AgentSettings;
  readonly identity: NodeIdentity;
  readonly pin: ServerPin;
  readonly journal: Journal;
  readonly past: LookBack;
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly random: () => number;
  readonly host: Host;
  /** What runs tasks of queues; null: nothing does. */
  readonly taskHosts: ((events: HostEvents) => TaskHosts) | null;
  /** What serves execution systems of jobs; null: nothing does. */
  readonly systems: Pick<SystemHelpers, 'open' | 'stop'> | null;
  /** What can replace this agent by another version; null: nothing can. */
  readonly upgrading: Upgrading | null;
}

export interface Upgrading {
  readonly supervisor: UpgradeSupervisor;
  /** In the middle of which this agent takes over; null: of none. */
  readonly resumed: Resumed | null;
  /** This agent is to be stopped, so that another one goes on. */
  handedOver(): void;
}

/** The note of the push job's command that runs. */
export function pushNote(settings: AgentSettings, host: Pick<Host, 'files'>): RunNote {
  return new RunNote(join(settings.dataDir, 'running'), host.files);
}

/** The agent at work: ties the link to the server to the places for commands. */
export class Daemon {
  readonly #setup: DaemonSetup;
  readonly #outbox: Outbox;
  readonly #link: Link;
  readonly #push: PushSlot;
  readonly #tasks: TaskSlot | null;
  #settings: AgentSettings;
  #policy: CommandPolicy;
  #filePolicy: FilePolicy;
  #upgradePolicy: UpgradePolicy | null;
  /** An upgrade of which this agent has yet to tell how it has ended. */
  #resumed: Resumed | null;
  #settling = false;
  #handedOver = false;
  #told: { readonly facts: Facts; readonly labels: string } | null = null;
  #toldCommands: string | null = null;
  /** What the program of the node's owner wrote last; null: it has yet to end for the first time. */
  #ownFacts: Facts | null = null;
  #asksForFacts = false;
  #timers: Partial<Record<'facts' | 'sweep' | 'settle', Timer>> = {};

  constructor(setup: DaemonSetup) {
    this.#setup = setup;
    this.#settings = setup.settings;
    this.#policy = this.#policyOf(setup.settings);
    this.#filePolicy = this.#filePolicyOf(setup.settings);
    this.#upgradePolicy = upgradePolicy(setup.settings.config, VERSION);
    this.#resumed = setup.upgrading?.resumed ?? null;
    this.#outbox = new Outbox(
      () => this.#push.heartbeat(),
      () => this.#push.takeOutput() ?? this.#tasks?.take() ?? null,
    );
    const { clock, logger, random, identity, host, settings } = setup;
    const { incarnation } = setup.past;
    this.#link = new Link({ identity, incarnation, clock, logger, random, host, pin: setup.pin }, this.#outbox, {
      connected: () => this.#connected(),
      heard: () => this.#push.heard(),
      message: (message) => {
        this.#message(message);
        void this.#settle();
      },
      offline: () => {
        this.#push.serverLost();
        this.#tasks?.serverLost();
      },
      online: () => this.#online(),
      tick: () => {
        this.#push.tick();
        this.#tasks?.tick();
      },
    });
    this.#push = new PushSlot({
      clock,
      logger,
      random,
      host,
      nodeName: settings.name,
      settings: () => this.#executionSettings(),
      note: pushNote(settings, host),
      link: this.#pushLink(),
      fileSource: (jobId, sha256, from, signal) =>
        host.file(identity, { jobId, sha256, from, now: clock.now() }, signal),
      secretSource: (jobId) => host.secrets(identity, { jobId, now: clock.now() }),
      upgrades: this.#upgrades(setup),
    });
    this.#tasks = this.#taskSlot(setup);
  }

  #upgrades({ upgrading, settings, logger, past }: DaemonSetup): Upgrades | null {
    if (upgrading === null) return null;
    return new Upgrades({
      dataDir: settings.dataDir,
      logger,
      version: VERSION,
      incarnation: past.incarnation,
      supervisor: upgrading.supervisor,
      policy: () => this.#upgradePolicy,
      hasTasks: () => this.#tasks?.hasBegun ?? false,
      handOver: () => {
        this.#handedOver = true;
        upgrading.handedOver();
      },
    });
  }

  #taskSlot({ clock, logger, settings, host, taskHosts, identity }: DaemonSetup): TaskSlot | null {
    if (taskHosts === null) return null;
    const link = this.#link;
    return new TaskSlot({
      clock,
      logger,
      secrets: ({ id, attempt }, names, signal) => {
        const source = () => host.taskSecrets(identity, { id, attempt, now: clock.now() });
        return fetchSecrets({ clock, source }, id, names, signal);
      },
      link: {
        get bodyLimit() {
          return link.configuration?.max_body_size ?? 0;
        },
        readable: () => this.#outbox.onReadable(),
      },
      hosts: taskHosts,
      offer: offerOf(settings.config, coresOf(host)),
      graceMs: () => this.#settings.config.grace * 1000,
    });
  }

  start(interrupted: NotedRun | null): void {
    if (this.#resumed?.incarnation === undefined || this.#resumed.incarnation === null) {
      this.#push.begin(this.#setup.past.start, interrupted);
    } else {
      this.#push.resume(this.#resumed);
    }
    this.#tasks?.begin().catch((error: unknown) => {
      this.#setup.logger.error({ err: error }, 'the agent cannot run tasks of queues');
    });
    this.#sweep();
    this.#lookAtFacts();
    this.#link.reconfigure('starting');
  }

  get online(): boolean {
    return this.#link.online;
  }

  get incarnation(): string {
    return this.#setup.past.incarnation;
  }

  get established(): boolean {
    return this.#link.established;
  }

  get machine() {
    return this.#push.machine;
  }

  reconfigure(): void {
    this.#link.reconfigure('asked to');
  }

  /** New allow-list, labels and limits; a command that runs is not touched. */
  reload(settings: AgentSettings): void {
    const policy = this.#policyOf(settings);
    const files = this.#filePolicyOf(settings);
    const upgrades = upgradePolicy(settings.config, VERSION);
    this.#settings = settings;
    this.#upgradePolicy = upgrades;
    this.#policy = policy;
    this.#filePolicy = files;
    this.#tasks?.reload(offerOf(settings.config, coresOf(this.#setup.host)));
    this.#lookAtFacts();
    this.#tellCommands(false);
  }

  async stop(): Promise<void> {
    for (const timer of Object.values(this.#timers)) timer.cancel();
    if (this.#handedOver) return this.#makeWay();
    const graceMs = this.#settings.config.grace * 1000;
    const gone = await this.#push.stop(graceMs + STOP_COMMAND_MS);
    if (!gone) this.#setup.logger.error('the command could not be killed; it is left behind');
    this.#stopTasks();
    await this.#link.close(STOP_FLUSH_MS);
    await this.#setup.journal.saveIncarnation(this.#nextIncarnation());
  }

  /** The next agent goes on under the same incarnation, which is in what it is handed (see upgrade/records.ts), not in the journal. */
  async #makeWay(): Promise<void> {
    await this.#push.handOver();
    this.#stopTasks();
    await this.#link.close(STOP_FLUSH_MS, true);
  }

  #stopTasks(): void {
    this.#setup.systems?.stop();
    this.#tasks?.stop();
    for (let last = this.#tasks?.takeNews() ?? null; last !== null; last = this.#tasks?.takeNews() ?? null) {
      this.#outbox.push(last);
    }
  }

  /** The server has answered on the command channel: this agent works. */
  async #settle(): Promise<void> {
    const { clock, upgrading, logger } = this.#setup;
    const resumed = this.#resumed;
    if (upgrading === null || resumed === null || this.#settling || !this.#link.established) return;
    this.#settling = true;
    const refused = await upgrading.supervisor.settle();
    if (refused !== null) {
      logger.error(`it cannot be written down how the upgrade has ended: ${refused}`);
      this.#timers.settle = clock.after(SETTLE_AGAIN_MS, () => {
        this.#settling = false;
        void this.#settle();
      });
      return;
    }
    this.#resumed = null;
    if (resumed.incarnation !== null) this.#push.resumedEnded(resumed);
  }

  /**
   * The server sends what it has heard nothing of again to an agent of the same incarnation, for that would have it. The next
   * agent does not have what ran here if the node is rebooted before: it is another one then.
   */
  #nextIncarnation(): string {
    return this.#tasks?.hasBegun === true ? randomUUID() : this.#setup.past.incarnation;
  }

  #policyOf(settings: AgentSettings): CommandPolicy {
    const elsewhere = this.#setup.host.processes.elsewhere !== undefined;
    const policy = commandPolicy(settings.config, elsewhere ? policyAtServer(settings.name) : undefined);
    for (const note of policy.notes) this.#setup.logger.warn(note);
    return elsewhere ? withoutBuiltins(policy) : policy;
  }

  #filePolicyOf({ config }: AgentSettings): FilePolicy {
    if (this.#setup.host.processes.elsewhere !== undefined) return COMMANDS_ONLY;
    return filePolicy(config, this.#setup.settings.org);
  }

  #executionSettings(): ExecutionSettings {
    const { config, fileDir } = this.#settings;
    return {
      policy: this.#policy,
      files: this.#filePolicy,
      upgrades: this.#upgradePolicy,
      fileDir,
      graceMs: config.grace * 1000,
      environment: config.environment,
    };
  }

  #pushLink(): PushLink {
    const link = this.#link;
    const outbox = this.#outbox;
    return {
      get established() {
        return link.online && link.established;
      },
      get outputLimit() {
        return link.configuration?.output_limit ?? 0;
      },
      get bodyLimit() {
        return link.configuration?.max_body_size ?? 0;
      },
      send: (message) => outbox.push(message),
      outputReadable: () => outbox.onReadable(),
    };
  }

  #connected(): void {
    this.#push.resendOutput();
    this.#outbox.greet();
    this.#tellFacts(true);
    this.#tellCommands(true);
    this.#tasks?.connected();
  }

  #online(): void {
    this.#outbox.greet();
    this.#push.serverBack();
    this.#push.resendOutput();
    this.#tellFacts(true);
    this.#tellCommands(true);
    this.#tasks?.serverBack();
  }

  #message(message: ServerMessage): void {
    if (isTaskOrder(message)) return this.#tasks?.receive(message);
    switch (message.type) {
      case 'prepare':
      case 'start':
        // §4.3: requests are accepted again once the server is online.
        if (this.#link.online) this.#push.receive(message);
        return;
      case 'abort':
        return this.#push.receive(message);
      case 'welcome':
        return this.#push.resendOutput();
      case 'reconfigure':
        return this.#link.reconfigureSoon('the server asks for it');
      case 'output_stored':
        return this.#push.outputStored(message);
      case 'system_open':
        return this.#setup.systems?.open(message, this.#settings.config.systems);
    }
  }

  /** Without its own those that the server knows of would be gone for a moment, so the first telling waits for them. */
  #tellFacts(always: boolean): void {
    if (this.#ownFacts === null) return;
    const facts = { ...this.#ownFacts, ...this.#setup.host.facts() };
    const { labels } = this.#settings.config;
    const text = JSON.stringify(labels);
    if (!always && this.#told !== null && sameFacts(this.#told.facts, facts) && this.#told.labels === text) return;
    if (this.#outbox.push({ type: 'facts', facts, labels })) this.#told = { facts, labels: text };
  }

  /** What is not taken now is told with the next connection. */
  #tellCommands(always: boolean): void {
    const commands = toldCommands(this.#settings.config);
    const text = JSON.stringify(commands);
    if (!always && this.#toldCommands === text) return;
    if (this.#outbox.push({ type: 'commands', commands })) this.#toldCommands = text;
  }

  /** Now, and then every so often. */
  #lookAtFacts(): void {
    const { interval } = this.#settings.config.facts;
    this.#timers.facts?.cancel();
    this.#timers.facts = this.#setup.clock.after(interval * 1000, () => this.#lookAtFacts());
    void this.#askForFacts();
    this.#tellFacts(false);
  }

  /** One program at a time; the facts of one that fails stay as they were, none at first. */
  async #askForFacts(): Promise<void> {
    const { program, timeout } = this.#settings.config.facts;
    if (this.#asksForFacts) return;
    if (program === undefined) {
      this.#ownFacts = {};
      return;
    }
    this.#asksForFacts = true;
    try {
      this.#ownFacts = await this.#setup.host.ownFacts({ program, timeoutMs: timeout * 1000 });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#setup.logger.warn({ program }, `no facts of its own: ${why}`);
      this.#ownFacts ??= {};
    }
    this.#asksForFacts = false;
    this.#tellFacts(false);
  }

  #sweep(): void {
    const expiryMs = this.#settings.config.file_dir_expiry * 1000;
    void this.#setup.host.sweepJobFiles(this.#settings.fileDir, expiryMs, this.#setup.clock.now());
    this.#timers.sweep = this.#setup.clock.after(expiryMs, () => this.#sweep());
  }
}

/** Processors of the node. */
function coresOf({ facts }: Pick<Host, 'facts'>): number {
  const { cpus } = facts();
  return typeof cpus === 'number' && cpus > 0 ? cpus : 1;
}
