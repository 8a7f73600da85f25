import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { go } from './navigation.js';
import { Dialog } from './parts/dialog.jsx';
import { Glyph } from './parts/glyph.jsx';
import { hrefOf, type Screen } from './route.js';
import { signedIn, signOut } from './session/session.js';
import icon from './style/icon.svg';
import { plainKey, setSingleKeys, singleKeys } from './table/keys.js';

interface Props {
  readonly org: string;
  readonly screen: Screen | null;
  readonly children: ComponentChildren;
}

const TABS = [
  { word: 'Overview', key: 'o', screen: { name: 'overview' }, of: ['overview'] },
  { word: 'Nodes', key: 'n', screen: { name: 'nodes' }, of: ['nodes', 'node'] },
  { word: 'Push jobs', key: 'p', screen: { name: 'jobs' }, of: ['jobs', 'job', 'new-job'] },
  { word: 'Events', key: 'e', screen: { name: 'events' }, of: ['events'] },
] as const satisfies readonly {
  readonly word: string;
  readonly key: string;
  readonly screen: Screen;
  readonly of: readonly string[];
}[];

const TITLES: Readonly<Record<Screen['name'], string>> = {
  overview: 'Overview',
  nodes: 'Nodes',
  node: 'Node',
  jobs: 'Push jobs',
  job: 'Push job',
  'new-job': 'New push job',
  events: 'Events',
};

/** What is around every screen: where to go, whether it is live, who is signed in. */
export function Frame({ org, screen, children }: Props) {
  const help = useSignal(false);
  const leader = useRef(0);
  const name = screen?.name ?? null;
  const main = useRef<HTMLElement>(null);
  const shown = useRef(JSON.stringify(screen));

  useEffect(() => {
    const subject =
      screen?.name === 'node' ? ` ${screen.node}` : screen?.name === 'job' ? ` ${screen.id.slice(0, 16)}` : '';
    document.title = `${name === null ? 'No such page' : TITLES[name]}${subject} · ${org} · Muster`;
    // Who reads with their ears hears of another page; the first one they hear anyway.
    const text = JSON.stringify(screen);
    if (shown.current !== text) main.current?.focus({ preventScroll: true });
    shown.current = text;
  }, [JSON.stringify(screen), org]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const key = plainKey(event);
      if (key === null || event.defaultPrevented || document.querySelector('dialog[open]') !== null) {
        if (event.key === 'Escape' && event.target instanceof HTMLInputElement) event.target.blur();
        return;
      }
      const tab = performance.now() - leader.current < 1500 ? TABS.find((each) => each.key === key) : undefined;
      leader.current = 0;
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
        <a class="brand" href={hrefOf(org, { name: 'overview' })}>
          <img src={icon} alt="" width={26} height={26} />
          <span>Muster</span>
          <span class="org cut">{org}</span>
        </a>
        <nav class="nav" aria-label="Console">
          {TABS.map((tab) => (
            <a
              key={tab.word}
              href={hrefOf(org, tab.screen)}
              aria-current={name !== null && (tab.of as readonly string[]).includes(name) ? 'page' : undefined}
            >
              {tab.word}
            </a>
          ))}
        </nav>
        <div class="right">
          <ConnectionSign />
          <UserMenu onHelp={() => (help.value = true)} />
        </div>
      </header>
      <main class="main" id="content" ref={main} tabIndex={-1}>
        {children}
      </main>
      {help.value && <Help onClose={() => (help.value = false)} />}
    </>
  );
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
          {Number.isNaN(until.getTime())
            ? ''
            : ` until ${until.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`}
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
  ['/', 'Filter'],
  ['j k', 'Next and previous row; arrows, Page, Home and End do as well'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['c', 'New push job'],
  ['g o, g n, g p, g e', 'Overview, nodes, push jobs, events'],
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
      <form method="dialog" class="actions">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </Dialog>
  );
}
