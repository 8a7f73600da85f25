/** What the page asks of the worker that has the output. */
export type Asked =
  | { readonly type: 'open'; readonly path: string; readonly goesOn: boolean; readonly grows: boolean }
  /** Whatever writes it has ended: what is there now is all. */
  | { readonly type: 'ended' }
  | { readonly type: 'rows'; readonly first: number; readonly end: number }
  /** '': nothing is looked for any more. */
  | { readonly type: 'find'; readonly text: string };

export interface Line {
  readonly text: string;
  /** Bytes of it that are not shown. */
  readonly cut: number;
}

export type ReadState = 'reading' | 'done' | 'cut';

/** What it tells. */
export type Told =
  | { readonly type: 'head'; readonly missing: string | null; readonly dropped: number }
  | { readonly type: 'size'; readonly lines: number; readonly bytes: number; readonly state: ReadState }
  | {
      readonly type: 'failed';
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly fix: string;
    }
  | { readonly type: 'rows'; readonly first: number; readonly rows: readonly Line[] }
  /** More lines that have the text; `all`: what was read so far was looked through. */
  | { readonly type: 'found'; readonly text: string; readonly lines: readonly number[]; readonly all: boolean };
