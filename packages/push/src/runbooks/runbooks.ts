import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@muster/base';
import {
  type AuditEntry,
  type Auth,
  actorOf,
  type Identity,
  type Organization,
  principalNow,
  type RandomBytes,
  unknownMembers,
  whilePresent,
} from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Secrets } from '@muster/platform/secrets';
import type { Store } from '@muster/store';
import { SECRET_FILE, secretInFile } from '@muster/wire';
import { type Needs, together } from '../approvals/needs.js';
import type { RunbookOrder } from '../approvals/order.js';
import { policyNeeds } from '../approvals/policies.js';
import { MusterError } from '../errors.js';
import type { PushFiles } from '../files/push-files.js';
import { pushSettings } from '../repository/settings.js';
import { invalid } from '../request/fields.js';
import {
  forecast,
  judgeQuorum,
  type Preview,
  type PreviewDeps,
  type QuorumVerdict,
  surroundings,
  tallied,
} from '../request/preview.js';
import {
  admit,
  checkRequest,
  defaultQuorum,
  type StoredAlong,
  type SubmissionDeps,
  submitJob,
} from '../request/submission.js';
import { type ChosenNodes, chooseNodes, describeTarget, nodesNow } from '../request/targets.js';
import { runOwner } from '../secrets/sealed-runs.js';
import type { RunbookMark } from '../types.js';
import { checkDefinition } from './check.js';
import { type Compiled, commandOf, compile, keptFile, targetOf } from './compile.js';
import type { Definition, Terms } from './definition.js';
import { runbookRan, runbookRemoved, runbookStored } from './events.js';
import { RUNBOOK_LIMITS } from './limits.js';
import type { Values } from './places.js';
import { allRunbooks, findRunbook, findVersion, type RunbookRow, type VersionRow, versionsOf } from './reads.js';
import { checkGiven, readValues, toldValues } from './values.js';
import { addRunbook, changeRunbook, countRunbooks, deleteRunbooks } from './writes.js';

export interface RunbooksDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'repository' | 'rights' | 'standing'>;
  readonly submission: SubmissionDeps;
  readonly secrets: Pick<Secrets, 'seal'>;
  readonly previews: PreviewDeps;
  readonly files: Pick<PushFiles, 'append' | 'begin'>;
}

/** One version of a saved command. */
export interface Version {
  readonly row: RunbookRow;
  readonly version: number;
  readonly definition: Definition;
  readonly author: string;
  readonly createdAt: number;
}

/** What runs of a version have in common: it is looked up once for as many as are planned. */
export interface Course {
  readonly version: Version;
  /** With whose rights nodes are asked. */
  readonly author: Identity;
  /** As of a `Plan`. */
  readonly asked: Needs | null;
}

/** On which its runs are, whatever their parameters are. */
export interface CourseNodes {
  readonly names: ReadonlySet<string>;
  /** In words, for people. */
  readonly target: string;
}

/** What a run would be, or is. */
export interface Plan extends Compiled {
  readonly mark: RunbookMark;
  /** With whose rights nodes are asked. */
  readonly author: Identity;
  /** Who has to agree before it is started; null: nobody, unless policies of its nodes say so. */
  readonly asked: Needs | null;
}

/** What its runs will be whatever their parameters are, for those who agree to something that starts them. */
export interface Standing {
  readonly id: string;
  readonly version: number;
  readonly definition: Definition;
  readonly author: { readonly principalId: string; readonly name: string };
  /** In words, for people. */
  readonly command: string;
  readonly target: string;
  /** Who would have to agree to a run now; null: nobody. */
  readonly needs: Needs | null;
}

/** By whom, and what is stored with it. */
export interface StartRun {
  /** Whose job it is. */
  readonly asker: Identity;
  /** With whose rights nodes are asked. */
  readonly author: Identity;
  readonly along?: (jobId: string) => StoredAlong;
  /** As of an `Occasion`. */
  readonly agreed?: (now: Needs) => void;
}

export interface Asked {
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Absent: the newest. */
  readonly version?: number;
}

/** Saved commands: kept in versions, and run as push jobs. Who may is decided by the routes. */
export class Runbooks {
  readonly #deps: RunbooksDeps;

  constructor(deps: RunbooksDeps) {
    this.#deps = deps;
  }

  all(org: Organization): Promise<readonly RunbookRow[]> {
    return allRunbooks(this.#deps.store.read, org.id);
  }

  /** @throws MusterError `runbook_not_found` */
  async existing(org: Organization, name: string): Promise<RunbookRow> {
    const row = await findRunbook(this.#deps.store.read, org.id, name);
    if (row === undefined) throw notFound(name);
    return row;
  }

  /** The newest unless another is named. @throws MusterError `runbook_version_not_found` */
  async version(row: RunbookRow, number = row.version): Promise<Version> {
    const found = await findVersion(this.#deps.store.read, row.id, number);
    if (found === undefined) throw new MusterError('runbook_version_not_found', { name: row.name, version: number });
    const { version, definition, author_name: author, created_at: createdAt } = found;
    return { row, version, definition: JSON.parse(definition) as Definition, author, createdAt };
  }

  /** Of those who are said to run it and to agree to that. */
  unknownMembers(org: Organization, { runners = [], approval }: Definition): Promise<readonly string[]> {
    return unknownMembers(this.#deps.auth.repository, org.id, [...runners, ...(approval?.by ?? [])]);
  }

  versions(row: RunbookRow): ReturnType<typeof versionsOf> {
    return versionsOf(this.#deps.store.read, row.id);
  }

  /** @throws MusterError `runbook_exists`, `too_many_runbooks`, `invalid_field` and whatever POST jobs refuses. */
  async create(org: Organization, name: string, definition: Definition, by: Identity): Promise<Version> {
    const { recorder, random } = this.#deps;
    checkDefinition(definition, this.#limits);
    const id = Buffer.from(random(12)).toString('hex');
    const made = this.#rows({ id, org_id: org.id, name, version: 1 }, definition, by);
    await whilePresent(
      org,
      recorder.transact(async (trx, record, write) => {
        if ((await findRunbook(trx, org.id, name)) !== undefined) throw new MusterError('runbook_exists', { name });
        if ((await countRunbooks(trx, org.id)) >= RUNBOOK_LIMITS.runbooks) {
          throw new MusterError('too_many_runbooks', { limit: RUNBOOK_LIMITS.runbooks });
        }
        await addRunbook(trx, made.row, made.version);
        record([runbookStored(org, made.row, by.name)]);
        write(this.#audited(org, by, 'runbook.create', name, { version: 1 }));
      }),
    );
    return this.version(made.row);
  }

  /** From then on nodes are asked with the rights of whoever changed it. Its author makes no version of what it is already. @throws MusterError as `create`, `runbook_changed` */
  async update(org: Organization, before: RunbookRow, definition: Definition, by: Identity): Promise<Version> {
    const { recorder, auth } = this.#deps;
    const { id, name, version } = before;
    checkDefinition(definition, this.#limits);
    const current = await this.version(before);
    if (before.author_id === by.principalId && isDeepStrictEqual(current.definition, definition)) return current;
    const next = { id, org_id: org.id, name, version: version + 1, created_at: before.created_at };
    const made = this.#rows(next, definition, by);
    await whilePresent(
      org,
      recorder.transact(async (trx, record, write) => {
        if (!(await changeRunbook(trx, made.row, made.version))) throw new MusterError('runbook_changed', { name });
        record([runbookStored(org, made.row, by.name)]);
        write(this.#audited(org, by, 'runbook.update', name, { version: version + 1 }));
      }),
    );
    // Who follows a run of it may have lost the right to.
    auth.standing.changed();
    return this.version(made.row);
  }

  /** What it has started goes on. */
  async remove(org: Organization, row: RunbookRow, by: Identity): Promise<void> {
    const { recorder, auth } = this.#deps;
    await whilePresent(
      org,
      recorder.transact(async (trx, record, write) => {
        await deleteRunbooks(trx, [row.id]);
        record([runbookRemoved(org, row, by.name)]);
        write(this.#audited(org, by, 'runbook.delete', row.name, {}));
      }),
    );
    auth.standing.changed();
  }

  /** @throws MusterError `invalid_field` for a parameter, `runbook_without_author` */
  async plan(org: Organization, row: RunbookRow, { parameters: given, version: number }: Asked): Promise<Plan> {
    return this.planOn(org, await this.course(org, row, number), given);
  }

  /** @throws MusterError `runbook_version_not_found`, `runbook_without_author` */
  async course(org: Organization, row: RunbookRow, number?: number): Promise<Course> {
    const version = await this.version(row, number);
    const author = await this.#author(org, row);
    return { version, author, asked: await this.#asked(org, row.name, version.definition) };
  }

  /** Whether a run can go well with values for these, as it is now. @throws MusterError `invalid_field` for a parameter */
  async checkGiven(org: Organization, name: string, given: readonly string[]): Promise<void> {
    const { definition } = await this.version(await this.existing(org, name));
    checkGiven(definition.parameters ?? {}, given);
  }

  /** @throws MusterError `invalid_field` for a parameter */
  planOn(org: Organization, { version: of, author, asked }: Course, given: Asked['parameters']): Plan {
    const { row, version, definition } = of;
    const { parameters = {} } = definition;
    const values = readValues(parameters, given);
    const compiled = compile(row.name, definition, values, this.#limits);
    const told = toldValues(parameters, values);
    const { id, name } = row;
    const sealed = this.#sealed(org, id, compiled, values);
    const mark = { id, name, version, parameters: told, secret: sealed !== undefined, ...(sealed && { sealed }) };
    return { ...compiled, mark, author, asked };
  }

  /** What nodes fetch of a run; undefined: nothing. */
  #sealed(org: Organization, id: string, { secretFile, request }: Compiled, values: Values): string | undefined {
    if (secretFile === null) return undefined;
    const { secretFile: names = [] } = request.options;
    const secrets = names.map((name) => [secretInFile(name), values.get(name) ?? ''] as const);
    const all = { [SECRET_FILE]: secretFile, ...Object.fromEntries(secrets) };
    return this.#deps.secrets.seal(runOwner(org.id, id), all);
  }

  /** On which nodes it would run now, and what they would say to it by what is known of them. @throws MusterError when its start would be refused */
  async forecast(
    caller: Identity,
    org: Organization,
    { request, author, asked }: Plan,
  ): Promise<{ chosen: ChosenNodes; preview: Preview; quorum: QuorumVerdict; approval: boolean }> {
    const { store, submission, previews } = this.#deps;
    const { command, options, target } = request;
    const script = options.script !== undefined;
    const chosen = await chooseNodes(submission, author, org, target);
    const wish = { command: script ? null : command, script, uploads: false, fetch: false, ...surroundings(options) };
    const nodes = [...chosen.allowed, ...chosen.denied];
    const { needs } = await policyNeeds(submission, org, nodes);
    const approval = asked !== null || needs.length > 0;
    const preview = forecast(previews, org, chosen, wish);
    const settings = await pushSettings(store.read, org.id);
    if (!approval) submission.limits.check(caller, org, settings);
    const usual = defaultQuorum(settings);
    const quorum = judgeQuorum(request, nodes.length, tallied(nodes.length, preview), usual);
    return { chosen, preview, quorum, approval };
  }

  /** @param oneNode Its runs are each on one of its nodes. @throws MusterError `runbook_without_author` */
  async standing(org: Organization, row: RunbookRow, { oneNode }: { readonly oneNode: boolean }): Promise<Standing> {
    const { submission } = this.#deps;
    const { version, definition } = await this.version(row);
    const author = await this.#author(org, row);
    const target = targetOf(definition, this.#limits);
    const nodes = await nodesNow(submission, author, org, target);
    const policies = await policyNeeds(submission, org, nodes, oneNode ? 1 : nodes.length);
    const { principalId, name } = author;
    return {
      ...{ id: row.id, version, definition, author: { principalId, name } },
      ...{ command: commandOf(definition), target: describeTarget(target) },
      needs: together(await this.#asked(org, row.name, definition), policies),
    };
  }

  /** Whatever its nodes are. */
  async #asked(org: Organization, name: string, definition: Definition): Promise<Needs | null> {
    const terms = definition.approval ?? (await this.#termsOf(org));
    return terms && needsOf(name, terms);
  }

  /** @throws MusterError as POST jobs: there are none, or too many */
  async nodes(org: Organization, { version, author }: Course): Promise<CourseNodes> {
    const wanted = targetOf(version.definition, this.#limits);
    const { allowed, denied, target } = await chooseNodes(this.#deps.submission, author, org, wanted);
    return { names: new Set([...allowed, ...denied]), target };
  }

  /** The same on one of its nodes alone. @throws MusterError `invalid_field`: the runbook does not run there */
  narrow(plan: Plan, { names, target }: CourseNodes, node: string): Plan {
    if (!names.has(node)) throw invalid('node', `${node} is none of ${target}`);
    return { ...plan, request: { ...plan.request, target: { kind: 'nodes', nodes: [node] } } };
  }

  /** What its parameters have made of it is nothing that is started here. @throws MusterError as `start` */
  checkPlan({ request }: Plan): void {
    checkRequest(this.#deps.submission.config, request);
  }

  /** The rest that is judged before a start, which is the same whatever its parameters are. @throws MusterError as `start` */
  async admitPlan(org: Organization, { author, request }: Plan): Promise<void> {
    // Its script is brought when it is started.
    const { script: _, ...options } = request.options;
    await admit(this.#deps.submission, author, org, { ...request, options });
  }

  /** Everything that decides what a run is. */
  orderOf({ request, script, mark: runbook, author }: Plan): RunbookOrder {
    const { principalId, name } = author;
    return {
      kind: 'runbook',
      request,
      script: script?.toString('base64') ?? null,
      runbook,
      author: { principalId, name },
    };
  }

  /** Id of the push job. @throws ApprovalNeeded; MusterError as POST jobs */
  async start(org: Organization, { request, script, runbook }: RunbookOrder, by: StartRun): Promise<string> {
    const { submission, auth } = this.#deps;
    const { asker, author: nodesOf, along = () => ({ writes: [], events: [] }), agreed } = by;
    if (script !== null) await this.#bring(org, Buffer.from(script, 'base64'));
    const { name, version, parameters } = runbook;
    const both = (job: string): StoredAlong => {
      const { writes, events } = along(job);
      const ran = entry(org, asker, 'runbook.run', name, { version, job, parameters: shown(parameters) });
      return {
        writes: [auth.audit.write(ran), ...writes],
        events: [runbookRan(org, runbook, { by: asker.name, job, parameters }), ...events],
      };
    };
    return submitJob(submission, asker, org, request, { along: both, nodesOf, runbook, ...(agreed && { agreed }) });
  }

  /** What the organization asks of every runbook. */
  async #termsOf(org: Organization): Promise<Terms | null> {
    const { approval } = await pushSettings(this.#deps.store.read, org.id);
    return approval === 'runbooks' ? {} : null;
  }

  get #limits(): { readonly maxNodes: number } {
    return this.#deps.submission;
  }

  #rows(
    about: Pick<RunbookRow, 'id' | 'name' | 'org_id' | 'version'> & Partial<Pick<RunbookRow, 'created_at'>>,
    definition: Definition,
    by: Identity,
  ): { readonly row: RunbookRow; readonly version: VersionRow } {
    const now = this.#deps.clock.now();
    const { description = '', runners = [] } = definition;
    const author = { author_id: by.principalId, author_name: by.name };
    const texts = { description, runners: JSON.stringify(runners) };
    const row = { created_at: now, ...about, ...texts, ...author, updated_at: now };
    const { id: runbook_id, version } = about;
    const kept = { runbook_id, version, definition: JSON.stringify(definition), author_name: by.name, created_at: now };
    return { row, version: kept };
  }

  /** @throws MusterError `runbook_without_author` when they may start nothing any more. */
  async #author(org: Organization, { name, author_id, author_name }: RunbookRow): Promise<Identity> {
    const { auth } = this.#deps;
    const author = await principalNow(auth.repository, org, { principalId: author_id, name: author_name });
    if (author !== null && (await auth.authorize(author, org, 'push:execute'))) return author;
    throw new MusterError('runbook_without_author', { name, author: author_name });
  }

  /** Its script may have gone from the files, as no job has named it for some time. */
  async #bring(org: Organization, script: Buffer): Promise<void> {
    const { files } = this.#deps;
    const kept = keptFile(script);
    let standing = await files.begin(org.id, kept);
    while (!standing.complete) {
      const { stored, piece } = standing;
      standing = await files.append(org.id, kept.sha256, stored, script.subarray(stored, stored + piece));
    }
  }

  #audited(org: Organization, by: Identity, action: string, target: string, detail: Detail) {
    const { auth } = this.#deps;
    return [auth.organizations.present(org), auth.audit.write(entry(org, by, action, target, detail))];
  }
}

function needsOf(name: string, { by = [], grants = 1, within }: Terms): Needs {
  return { needs: [{ by, grants, why: `runbook ${name}` }], ...(within !== undefined && { within }) };
}

type Detail = NonNullable<AuditEntry['detail']>;

function entry(org: Organization, by: Identity, action: string, target: string, detail: Detail): AuditEntry {
  return { orgId: org.id, actor: actorOf(by), action, target, outcome: 'done', detail };
}

/** Of a run, for the audit. */
const PARAMETERS_SHOWN = 2000;

function shown(parameters: RunbookMark['parameters']): string {
  return JSON.stringify(parameters).slice(0, PARAMETERS_SHOWN);
}

function notFound(name: string): MusterError {
  return new MusterError('runbook_not_found', { name: name.slice(0, RUNBOOK_LIMITS.name) });
}
