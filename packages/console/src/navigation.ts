import { signal } from '@preact/signals';
import { hrefOf, type Parameters, type Place, parsePlace } from './route.js';

/** Where the tab is. */
export const place = signal<Place>(parsePlace(location.pathname, location.search));

/** Entries of the history whose scrolled tables are known. */
const MOST_ENTRIES = 100;
/** How far each table of an entry was scrolled, by the number of the entry, the one left last at the end. */
const scrolled = new Map<number, Map<string, number>>();
/** Somebody went back or forward to this entry, and did nothing there yet that is another place. */
let returned = false;
/** How often somebody went back or forward. */
export const returns = signal(0);

/** The number of the entry of the history where the tab is. */
function entry(): number {
  const { state } = history as { readonly state: unknown };
  return typeof state === 'number' ? state : 0;
}

/** @param of The label of the table. */
export function keepScroll(of: string, top: number): void {
  const kept = scrolled.get(entry()) ?? new Map<string, number>();
  scrolled.delete(entry());
  scrolled.set(entry(), kept.set(of, top));
  const [oldest] = scrolled.keys();
  if (scrolled.size > MOST_ENTRIES && oldest !== undefined) scrolled.delete(oldest);
}

/** Where a table is to be: where it was, for those who come back to it. */
export function keptScroll(of: string): number {
  return (returned && scrolled.get(entry())?.get(of)) || 0;
}

function read(): void {
  place.value = parsePlace(location.pathname, location.search);
}

addEventListener('popstate', () => {
  returned = true;
  returns.value += 1;
  read();
});

/** Goes somewhere else; `replace` for what is no step of its own, as a filter while it is typed. */
export function go(href: string, { replace = false } = {}): void {
  if (href === location.pathname + location.search) return;
  returned = false;
  // A page that was loaded again counts on from what no page before it has reached.
  if (replace) history.replaceState(history.state, '', href);
  else history.pushState(Math.max(entry() + 1, Date.now()), '', href);
  const before = place.value;
  read();
  const { screen } = place.value;
  if (JSON.stringify(before.screen) !== JSON.stringify(screen)) scrollTo(0, 0);
}

/** The same screen with other parameters. */
export function setParameters(changed: Parameters, options: { readonly replace?: boolean } = { replace: true }): void {
  const { org, screen, query } = place.value;
  if (org === null || screen === null) return;
  go(hrefOf(org, screen, { ...Object.fromEntries(query), ...changed }), options);
}

/** Links of the console are followed without loading the page again. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!link.pathname.startsWith('/console/') || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
});
