import type { Identity, Organization } from '@muster/platform/auth';
import {
  type Granted,
  type RunbookLayer,
  type Standing,
  type StandingOrder,
  type Startable,
  stillMay,
} from '@muster/push';
import { isAnother } from './another.js';
import type { AgreedTo, Rules } from './directory.js';
import { MusterError } from './errors.js';
import type { Starting } from './starting.js';
import type { Asked, Rule } from './types.js';

/** A rule as it will be once others have agreed, with the runbook as it is: everything that decides what it starts, and when. */
interface Content {
  /** Of the one that is changed, as it was looked at; null: it is made. */
  readonly before: { readonly id: string; readonly updatedAt: number } | null;
  readonly rule: Asked;
  readonly runbook: Pick<Standing, 'author' | 'definition' | 'id' | 'version'>;
}

export interface GrantedRulesDeps {
  readonly rules: Pick<Rules, 'change' | 'create' | 'find'>;
  readonly starting: Pick<Starting, 'assertMay' | 'assertMayChange'>;
  readonly runbooks: Pick<RunbookLayer, 'approvals' | 'runbooks'>;
}

/** Rules whose runs wait for nobody, as others have agreed to the rule. */
export class GrantedRules implements Startable<'rule'> {
  readonly #deps: GrantedRulesDeps;

  constructor(deps: GrantedRulesDeps) {
    this.#deps = deps;
  }

  /**
   * Asks those who have to agree to it as it would be; null: nobody has to, or they are asked at each event.
   * @param before The one that is changed; null: it is made.
   */
  async ask(org: Organization, name: string, before: Rule | null, asked: Partial<Asked>, asker: Identity) {
    const rule = { ...(before && contentOf(before)), ...asked } as Asked;
    // One that is off starts nothing: who switches it on asks.
    if (rule.asks === 'each' || rule.work.kind !== 'runbook' || !rule.enabled) return null;
    if (before !== null && before.agreement !== null && !isAnother(before, asked, asker.principalId)) return null;
    const standing = await this.#standing(org, rule);
    if (standing === null || standing.needs === null) return null;
    const { id, version, definition, author, command, target, needs } = standing;
    const content: Content = {
      before: before && { id: before.id, updatedAt: before.updatedAt },
      rule,
      runbook: { id, version, definition, author },
    };
    const order: StandingOrder = {
      ...{ kind: 'rule', name, command, target: `${target}, on ${rule.selector}` },
      ...{ content: { ...content }, files: [], script: null },
    };
    return this.#deps.runbooks.approvals.ask(org, order, asker, needs);
  }

  async #standing(org: Organization, { work }: Asked): Promise<Standing | null> {
    if (work.kind !== 'runbook') return null;
    const { runbooks } = this.#deps.runbooks;
    return runbooks.standing(org, await runbooks.existing(org, work.runbook), { oneNode: work.node !== null });
  }

  async void(org: Organization, order: StandingOrder, asker: Identity): Promise<string | null> {
    const { before, rule, runbook } = readContent(order);
    const { rules, starting } = this.#deps;
    const now = await rules.find(org, order.name);
    if (before === null && now !== null) return `there is a rule ${order.name} by now`;
    if (before !== null && (now?.id !== before.id || now.updatedAt !== before.updatedAt)) {
      return `rule ${order.name} was changed or deleted meanwhile`;
    }
    return stillMay(asker, async () => {
      await starting.assertMay(asker, org, rule.work);
      if (now !== null) await starting.assertMayChange(asker, now);
      const standing = await this.#standing(org, rule);
      const same = standing?.id === runbook.id && standing.version === runbook.version;
      return same ? null : 'its runbook was changed meanwhile';
    });
  }

  async start(org: Organization, order: StandingOrder, { asker, approval, along, agreed }: Granted): Promise<string> {
    const { before, rule, runbook } = readContent(order);
    const { rules } = this.#deps;
    const standing = await this.#standing(org, rule);
    const { id, version } = runbook;
    const agreement = { approval, needs: agreed(standing?.needs ?? { needs: [] }), runbook: { id, version } };
    const to: AgreedTo = { agreement, along };
    if (before === null) return (await rules.create(org, order.name, rule, asker, to)).id;
    const now = await rules.find(org, order.name);
    if (now?.id !== before.id || now.updatedAt !== before.updatedAt)
      throw new MusterError('not_found', { kind: 'rule', name: order.name });
    return (await rules.change(now, rule, asker, to)).id;
  }
}

/** What of it others agree to. */
function contentOf({ asks, atMost, blackout, enabled, notDuring, selector, work }: Rule): Asked {
  return { asks, atMost, blackout, enabled, notDuring, selector, work };
}

/** Written by `ask`. */
function readContent({ content }: StandingOrder): Content {
  return content as unknown as Content;
}
