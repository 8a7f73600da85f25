import { BalanceAnswer } from '../balance/answer.js';
import { BadPlan, type BalanceDocument, readPlan } from '../balance/document.js';
import { storedBalance } from '../balance/stored.js';
import { answer, byWhom, type DisbatchCall, type DisbatchDeps, type DisbatchRoute, queuesOf } from '../interface.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';
import { saveBalance } from '../writes.js';
import { monitoring } from './monitoring.js';

/** Balance, monitoring, info (sheet §4E). */
export function operationRoutes(deps: DisbatchDeps, routes: () => readonly DisbatchRoute[]): readonly DisbatchRoute[] {
  const { settings } = deps;
  return [
    {
      method: 'GET',
      path: '/balance',
      permission: 'task:read',
      operationId: 'disbatchGetBalance',
      summary: 'How threads are shared out by the time of day, and whether they are',
      answers: BalanceAnswer,
      handle: async (call) => answer(await shownBalance(deps, call), true),
    },
    {
      method: 'POST',
      path: '/balance',
      permission: 'task:write',
      operationId: 'disbatchSetBalance',
      summary: 'Say how threads are shared out',
      handle: async (call) => {
        await setBalance(deps, call);
        return answer({ status: 'success: queuebalance modified' });
      },
    },
    {
      method: 'GET',
      path: '/monitoring',
      permission: 'task:read',
      operationId: 'disbatchMonitoring',
      summary: 'Are there nodes, and are threads shared out?',
      handle: async (call) => answer(await monitoring(deps, call)),
    },
    {
      method: 'GET',
      path: '/info',
      permission: 'task:read',
      operationId: 'disbatchInfo',
      summary: 'The routes that there are',
      handle: ({ organization }) =>
        answer({
          database: organization.name,
          web_extensions: [],
          routes: Object.fromEntries(
            (['GET', 'POST', 'DELETE'] as const).map((method) => [
              method,
              routes()
                .filter((route) => route.method === method)
                .map(({ path }) => path),
            ]),
          ),
          ...(settings.dialect === '4.4' && {
            dashboard: { refresh_ms: DISBATCH_LIMITS.refreshMs, live_window_ms: DISBATCH_LIMITS.liveWindowMs },
          }),
        }),
    },
  ];
}

async function shownBalance(deps: DisbatchDeps, { organization }: DisbatchCall): Promise<Record<string, unknown>> {
  const document = await storedBalance(deps, organization.id);
  return {
    ...(document ?? { notice: 'balance document not found' }),
    known_queues: queuesOf(deps, organization.id)
      .map(({ name }) => name)
      .sort(),
    settings: deps.settings.balance,
  };
}

/** @throws Refusal whose key is `status`, as clients of this route expect. */
async function setBalance(deps: DisbatchDeps, call: DisbatchCall): Promise<void> {
  const { store, clock } = deps;
  const { id: orgId } = call.organization;
  const known = new Set(queuesOf(deps, orgId).map(({ name }) => name));
  try {
    const plan = readPlan(call.said, known, Math.floor(clock.now() / 1000));
    const before = await storedBalance(deps, orgId);
    const document: BalanceDocument = { disabled: null, ...before, ...plan };
    const { record = [] } = byWhom(deps, call, {
      action: 'queue.balance',
      target: 'balance',
      detail: { queues: plan.queues.flat().length },
    });
    await store.commit([saveBalance({ org_id: orgId, document: JSON.stringify(document) }), ...record]);
  } catch (error) {
    if (!(error instanceof BadPlan)) throw error;
    throw new Refusal({ status: `failed: invalid json passed: ${error.message}` });
  }
}
