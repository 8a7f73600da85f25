import { signal } from '@preact/signals';
import { hrefOf, type Parameters, type Place, parsePlace } from './route.js';

/** Where the tab is. */
export const place = signal<Place>(parsePlace(location.pathname, location.search));

function read(): void {
  place.value = parsePlace(location.pathname, location.search);
}

addEventListener('popstate', read);

/** Goes somewhere else; `replace` for what is no step of its own, as a filter while it is typed. */
export function go(href: string, { replace = false } = {}): void {
  if (href === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
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
