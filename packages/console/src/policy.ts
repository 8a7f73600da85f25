import linesUrl from './output/lines.worker.ts?worker&url';

/** Where browsers want to be told which URLs are programs: ours of the worker, and no other. */
interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

const rules = {
  createScriptURL(url: string): string {
    if (url !== linesUrl) throw new TypeError(`${url} is no program of this page`);
    return url;
  },
};

const { trustedTypes } = globalThis as { readonly trustedTypes?: Policies };
const policy = trustedTypes?.createPolicy('muster', rules) ?? rules;

/** Reads and searches output beside the page. */
export function linesWorker(): Worker {
  return new Worker(policy.createScriptURL(linesUrl), { type: 'module' });
}
