import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { JobNode, JobNodeStatus } from '../api/types.js';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { cellAt, type Layout, layoutOf, neighbour, type Palette, paint } from './paint.js';

interface Props {
  /** In the order of their names. */
  readonly nodes: readonly JobNode[];
  readonly onOpen: (node: JobNode) => void;
}

const TONES = ['ok', 'run', 'warn', 'bad', 'idle', 'line', 'card', 'text'] as const;

/** What is on the canvas. */
interface Painted {
  /** Whatever else it was painted upon: with another one all of it is painted anew. */
  readonly on: string;
  readonly palette: Palette;
  readonly statuses: readonly JobNodeStatus[];
}

/** All nodes of a job in one picture, a cell each; arrows move, Enter opens. */
export function Grid({ nodes, onOpen }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painted = useRef<Painted | null>(null);
  const width = useSignal(0);
  const dark = useSignal(matchMedia('(prefers-color-scheme: dark)').matches);
  const here = useSignal(-1);
  const pointed = useSignal(-1);
  const layout = layoutOf(nodes.length, Math.max(1, width.value));
  const shown = nodes[here.value >= 0 ? here.value : pointed.value];

  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.floor(entry?.contentRect.width ?? 0);
    });
    observer.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const change = (): void => {
      dark.value = scheme.matches;
    };
    scheme.addEventListener('change', change);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', change);
    };
  }, []);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width.value === 0) return;
    const frame = requestAnimationFrame(() => {
      const statuses = nodes.map(({ status }) => status);
      const on = [width.value, nodes.length, devicePixelRatio, dark.value, here.value].join(' ');
      const { current: before } = painted;
      const palette = before?.on === on ? before.palette : paletteOf(element);
      if (before?.on !== on) clear(element, context, width.value, layout);
      paint(context, statuses, before?.on === on ? before.statuses : null, layout, palette, here.value);
      painted.current = { on, palette, statuses };
    });
    return () => cancelAnimationFrame(frame);
  }, [nodes, width.value, dark.value, here.value]);

  const at = (event: MouseEvent): number => {
    const box = canvas.current?.getBoundingClientRect();
    return box === undefined
      ? -1
      : cellAt(layout, nodes.length, event.clientX - box.left - 1, event.clientY - box.top - 1);
  };
  const open = (index: number): void => {
    const node = nodes[index];
    if (node !== undefined) onOpen(node);
  };
  return (
    <div class="grid">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it takes keys itself */}
      <canvas
        ref={canvas}
        role="application"
        aria-label={`Grid of ${number(nodes.length)} nodes; arrows move, Enter opens the output`}
        aria-describedby="grid-here"
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && here.value >= 0) return open(here.value);
          const to = neighbour(layout, nodes.length, here.value, event.key);
          if (to === null) return;
          event.preventDefault();
          here.value = Math.max(0, to);
        }}
        onFocus={() => {
          if (here.value < 0 && canvas.current?.matches(':focus-visible')) here.value = 0;
        }}
        onBlur={() => {
          here.value = -1;
        }}
        onPointerMove={(event) => {
          pointed.value = at(event);
        }}
        onPointerLeave={() => {
          pointed.value = -1;
        }}
        onClick={(event) => open(at(event))}
      />
      <p class="told" id="grid-here" aria-live={here.value >= 0 ? 'polite' : 'off'}>
        {shown === undefined ? (
          <span class="quiet">Point at a cell, or move with the arrows. Enter opens what the node wrote.</span>
        ) : (
          <>
            <strong class="break">{safeText(shown.node_name)}</strong> <Status look={JOB_NODE_LOOKS[shown.status]} />{' '}
            <span class="quiet break">
              {shown.exit_code !== null && `exit ${shown.exit_code} `}
              {shown.signal !== null && `${shown.signal} `}
              {safeText(shown.reason ?? '')}
            </span>
          </>
        )}
      </p>
    </div>
  );
}

/** Sharp on the screen that it is on, with room for the ring around a cell at the edge. */
function clear(element: HTMLCanvasElement, context: CanvasRenderingContext2D, width: number, layout: Layout): void {
  const height = layout.rows * layout.cell + 2;
  element.width = Math.floor(width * devicePixelRatio);
  element.height = Math.floor(height * devicePixelRatio);
  element.style.height = `${height}px`;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.translate(1, 1);
}

/** The colours of the page, as they are where the grid is. */
function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const probe = document.createElement('span');
  element.parentElement?.append(probe);
  const colours = TONES.map((tone) => {
    probe.style.color = `var(--${tone === 'line' ? 'line-strong' : tone})`;
    return [tone, getComputedStyle(probe).color || style.color] as const;
  });
  probe.remove();
  return Object.fromEntries(colours) as Palette;
}
