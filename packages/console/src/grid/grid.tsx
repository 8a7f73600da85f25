import { useSignal } from '@preact/signals';
import type { CSSProperties } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { JobNode } from '../api/types.js';
import { number } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';
import { Status } from '../parts/status.jsx';
import { JOB_NODE_LOOKS } from '../statuses/push.js';
import { cellAt, type Layout, layoutOf, neighbour, type Painted, type Palette, paint, squareOf } from './paint.js';

interface Props {
  /** In the order of their names. */
  readonly nodes: readonly JobNode[];
  readonly onOpen: (node: JobNode) => void;
}

const TONES = ['ok', 'run', 'warn', 'bad', 'idle', 'line', 'card'] as const;

/** What is on the canvas. */
interface Picture {
  /** All that it depends on but for the cells: with another one it is painted anew. */
  readonly on: string;
  readonly palette: Palette;
  readonly cells: Painted;
}

/** All nodes of a job in one picture, a cell each; arrows move, Enter opens. */
export function Grid({ nodes, onOpen }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painted = useRef<Picture | null>(null);
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
    const show = (): void => {
      const on = [width.value, nodes.length, devicePixelRatio, dark.value].join(' ');
      let { current: picture } = painted;
      if (picture?.on !== on) {
        clear(element, context, width.value, layout);
        picture = { on, palette: paletteOf(element), cells: [] };
        painted.current = picture;
      }
      const { cells, palette } = picture;
      if (!paint(context, statuses, cells, layout, palette)) frame = requestAnimationFrame(show);
    };
    const statuses = nodes.map(({ status }) => status);
    let frame = requestAnimationFrame(show);
    return () => cancelAnimationFrame(frame);
  }, [nodes, width.value, dark.value]);

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
      <div class="cells">
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
        {here.value >= 0 && <span class="here" style={ringAround(layout, here.value)} />}
      </div>
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

/** Around a cell and its edge; the canvas has a pixel around its cells. */
function ringAround(layout: Layout, index: number): CSSProperties {
  const { x, y, size } = squareOf(layout, index);
  return { left: `${x - 1}px`, top: `${y - 1}px`, width: `${size + 4}px`, height: `${size + 4}px` };
}

/** Sharp on the screen that it is on, with a pixel around the cells. */
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
