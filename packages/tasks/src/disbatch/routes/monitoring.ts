import type { BalanceDocument } from '../balance/document.js';
import { storedBalance } from '../balance/stored.js';
import type { DisbatchCall, DisbatchDeps } from '../interface.js';
import { DISBATCH_LIMITS } from '../limits.js';

interface Finding {
  readonly status: string;
  readonly message: string;
  readonly [detail: string]: unknown;
}

const DISABLED: Finding = { status: 'OK', message: 'monitoring disabled' };

/** GET /monitoring: 200 whatever it says, as what asks it reads the words (sheet §4E). */
export async function monitoring(
  deps: DisbatchDeps,
  call: DisbatchCall,
): Promise<{ readonly disbatch: Finding; readonly queuebalance: Finding }> {
  if (!deps.settings.monitoring) return { disbatch: DISABLED, queuebalance: DISABLED };
  const balance = deps.settings.balance.enabled
    ? balanceFinding(await storedBalance(deps, call.organization.id), deps.clock.now())
    : { status: 'OK', message: 'queuebalance disabled' };
  return { disbatch: nodesFinding(deps, call), queuebalance: balance };
}

function nodesFinding({ controller, clock }: DisbatchDeps, { organization }: DisbatchCall): Finding {
  const all = controller.nodes(organization.id);
  if (all.length === 0) return { status: 'WARNING', message: 'No Disbatch nodes found' };
  const ages = (live: boolean): Record<string, number> =>
    Object.fromEntries(
      all
        .filter((node) => node.live === live)
        .map(({ node, seenAt }) => [node, Math.max(0, Math.floor((clock.now() - seenAt) / 1000))]),
    );
  const [fresh, stale] = [ages(true), ages(false)];
  const nodes = {
    ...(Object.keys(fresh).length > 0 && { fresh }),
    ...(Object.keys(stale).length > 0 && { stale }),
  };
  if (Object.keys(fresh).length === 0) return { status: 'CRITICAL', message: 'No active Disbatch nodes found', nodes };
  return { status: 'OK', message: 'Disbatch is running on one or more nodes', nodes };
}

const VALID: readonly unknown[] = ['OK', 'WARNING', 'CRITICAL'];

function balanceFinding(document: BalanceDocument | undefined, nowMs: number): Finding {
  const { status, message = '', timestamp } = document ?? {};
  if (status === 'CRITICAL' && timestamp === undefined) return { status, message };
  const silent = Math.floor(nowMs / 1000) - (timestamp ?? 0);
  if (silent * 1000 > DISBATCH_LIMITS.balanceSilentMs) {
    return { status: 'CRITICAL', message: `queuebalanced not running for ${silent}s` };
  }
  if (status !== undefined && VALID.includes(status)) return { status, message };
  return { status: 'CRITICAL', message: 'queuebalanced unknown status', result: document };
}
