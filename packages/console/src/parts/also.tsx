import { setParameters } from '../navigation.js';

/** Shows, or leaves out, what is mostly not looked at; it is in the address as `all`. */
export function Also({ those, all }: { readonly those: string; readonly all: boolean }) {
  return (
    <div class="choices">
      <button type="button" class="chip" aria-pressed={all} onClick={() => setParameters({ all: all ? null : 'true' })}>
        also those {those}
      </button>
    </div>
  );
}
