import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Navigation, NavigationButton, TABS, TITLES } from './frame-navigation.jsx';
import { go } from './navigation.js';
import { CloseDialog, Dialog } from './parts/dialog.jsx';
import { Glyph } from './parts/glyph.jsx';
import { lazy } from './parts/lazy.jsx';
import { timeOfDay } from './parts/when.js';
import { hrefOf, type Screen } from './route.js';
import { signedIn, signOut } from './session/session.js';
import icon from './style/icon.svg';
import { plainKey, setSingleKeys, singleKeys } from './table/keys.js';

const Palette = lazy(async () => (await import('./palette/palette.jsx')).Palette);

interface Props {
  readonly org: string;
  readonly screen: Screen | null;
  readonly children: ComponentChildren;
}

/** What is around every screen: where to go, whether it is live, who is signed in. */
export function Frame({ org, screen, children }: Props) {
  const help = useSignal(false);
  /** Where there is little room the navigation is a menu. */
  const menu = useSignal(false);
  const palette = useSignal(false);
  /** When `g` was pressed. */
  const leader = useRef(Number.NEGATIVE_INFINITY);
  const name = screen?.name ?? null;
  const main = useRef<HTMLElement>(null);
  const shown = useRef(JSON.stringify(screen));

  useEffect(() => {
    const subject = screen === null ? '' : subjectOf(screen);
    document.title = `${name === null ? 'No such page' : TITLES[name]}${subject} · ${org} · Muster`;
    menu.value = false;
    // Who reads with their ears hears of another page; the first one they hear anyway.
    const text = JSON.stringify(screen);
    if (shown.current !== text) main.current?.focus({ preventScroll: true });
    shown.current = text;
  }, [JSON.stringify(screen), org]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        event.preventDefault();
        if (document.querySelector('dialog[open]') === null) palette.value = true;
        return;
      }
      const key = plainKey(event);
      if (key === null || event.defaultPrevented || document.querySelector('dialog[open]') !== null) {
        if (event.key === 'Escape' && event.target instanceof HTMLInputElement) event.target.blur();
        return;
      }
      const tab = performance.now() - leader.current < 1500 ? TABS.find((each) => each.key === key) : undefined;
      leader.current = Number.NEGATIVE_INFINITY;
      if (tab !== undefined) go(hrefOf(org, tab.screen));
      else if (key === 'g') leader.current = performance.now();
      else if (key === '?') help.value = true;
      else if (key === 'c') go(hrefOf(org, { name: 'new-job' }));
      else if (key === '/') focus('[data-filter]');
      else if (key === 'j' || key === 'k') {
        const table = document.querySelector<HTMLElement>('[data-table]');
        if (table === null || table === document.activeElement) return;
        table.focus();
        table.dispatchEvent(new KeyboardEvent('keydown', { key }));
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [org]);

  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <NavigationButton open={menu} />
        <a class="brand" href={hrefOf(org, { name: 'overview' })}>
          <img src={icon} alt="" width={26} height={26} />
          <span>Muster</span>
          <span class="org cut">{org}</span>
        </a>
        <div class="right">
          <button
            type="button"
            class="button plain small"
            title="Ctrl-K"
            onClick={() => {
              palette.value = true;
            }}
          >
            <Glyph name="search" />
            <span class="wide">Go to …</span>
            <span class="unseen">Go to anything</span>
          </button>
          <ConnectionSign />
          <UserMenu onHelp={() => (help.value = true)} />
        </div>
      </header>
      <div class="shell">
        <Navigation org={org} name={name} open={menu} />
        <main class="main" id="content" ref={main} tabIndex={-1}>
          {children}
        </main>
      </div>
      {palette.value && <Palette onClose={() => (palette.value = false)} />}
      {help.value && <Help onClose={() => (help.value = false)} />}
    </>
  );
}

/** What of its kind the page is about, as titles of tabs have it. */
function subjectOf(screen: Screen): string {
  if ('node' in screen) return ` ${screen.node}`;
  if ('runbook' in screen) return ` ${screen.runbook}`;
  if ('queue' in screen) return ` ${screen.queue}`;
  return 'id' in screen ? ` ${screen.id.slice(0, 24)}` : '';
}

function focus(selector: string): void {
  const element = document.querySelector<HTMLInputElement>(selector);
  element?.focus();
  element?.select();
}

/** Whether what is seen is what is. */
function ConnectionSign() {
  const { value } = signedIn().live.connection;
  const { glyph, tone, word, title } = {
    connecting: { glyph: 'dots', tone: 'idle', word: 'connecting', title: 'Not connected yet' },
    live: { glyph: 'circle', tone: 'ok', word: 'live', title: 'What happens is shown as it happens' },
    lost: {
      glyph: 'loop',
      tone: 'warn',
      word: 'reconnecting',
      title: 'Not connected; what is missed is caught up with',
    },
    closed: { glyph: 'cross', tone: 'bad', word: 'not live', title: 'Not connected; load the page again' },
  }[value.state] as { glyph: 'dots'; tone: string; word: string; title: string };
  return (
    <span
      class="connection"
      role="status"
      title={'why' in value && value.why !== '' ? `${title}: ${value.why}` : title}
    >
      <Glyph name={glyph} tone={tone} />
      <span>{word}</span>
    </span>
  );
}

function UserMenu({ onHelp }: { readonly onHelp: () => void }) {
  const { session } = signedIn();
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => menu.current?.removeAttribute('open');
  useEffect(() => {
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !menu.current?.contains(event.target)) close();
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close();
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('keydown', onKey);
    };
  }, []);
  const until = new Date(session.expires_at);
  return (
    <details class="menu" ref={menu}>
      <summary class="button plain">
        <span class="cut">{session.user}</span> <Glyph name="down" />
      </summary>
      <div>
        <p class="quiet">
          Signed in to {session.organization}
          {Number.isNaN(until.getTime()) ? '' : ` until ${timeOfDay(until.getTime())}`}
        </p>
        <button
          type="button"
          class="button plain"
          onClick={() => {
            close();
            onHelp();
          }}
        >
          Keys <kbd>?</kbd>
        </button>
        <button type="button" class="button plain" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </details>
  );
}

const KEYS = [
  ['Ctrl-K', 'Go to a screen, node, job, queue or runbook'],
  ['/', 'Filter'],
  ['j k', 'Next and previous row; arrows, Page, Home and End do as well'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['c', 'New push job'],
  ['Esc', 'Close, leave a field'],
  ['?', 'These keys'],
] as const;

function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
        <dt>
          <kbd>g</kbd>
        </dt>
        <dd>
          Then a letter:
          <ul class="letters">
            {TABS.map(({ key, word }) => (
              <li key={key}>
                <kbd>{key}</kbd> {word}
              </li>
            ))}
          </ul>
        </dd>
      </dl>
      <label class="line">
        <input
          type="checkbox"
          class="check"
          checked={singleKeys.value}
          onChange={(event) => setSingleKeys(event.currentTarget.checked)}
        />
        Single keys (turn them off if you dictate)
      </label>
      <CloseDialog />
    </Dialog>
  );
}
