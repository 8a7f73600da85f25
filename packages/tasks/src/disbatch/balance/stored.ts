import type { DisbatchDeps } from '../interface.js';
import { balanceOf } from '../reads.js';
import type { BalanceDocument } from './document.js';

export async function storedBalance(
  { store }: Pick<DisbatchDeps, 'store'>,
  orgId: string,
): Promise<BalanceDocument | undefined> {
  const text = await balanceOf(store.read, orgId);
  return text === undefined ? undefined : (JSON.parse(text) as BalanceDocument);
}
